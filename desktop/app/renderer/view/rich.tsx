import type { ComponentChild } from 'preact';
import { tagged, type TextKey, type TextValues } from '../../messages/translate.ts';

type Tags = Readonly<Record<string, (inside: ComponentChild[]) => ComponentChild>>;

const BOLD: Tags = { b: (inside) => <b>{inside}</b> };

/**
 * Renders a text with markup.
 *
 * @param tags the element for each tag of the message; by default `<b>`
 */
export function rich(key: TextKey, values: TextValues, tags: Tags = BOLD): ComponentChild[] {
  return tagged<ComponentChild>(key, values, tags);
}
