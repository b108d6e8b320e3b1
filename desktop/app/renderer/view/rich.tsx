import type { ComponentChild } from 'preact';
import { tagged, type TextKey, type TextValues } from '../../messages/translate.ts';

type Tags = Readonly<Record<string, (inside: ComponentChild[]) => ComponentChild>>;

const BOLD: Tags = { b: (inside) => <b>{inside}</b> };

/**
 * A text with markup in it.
 *
 * @param tags what each tag of the message becomes; `<b>` unless said otherwise
 */
export function rich(key: TextKey, values: TextValues, tags: Tags = BOLD): ComponentChild[] {
  return tagged<ComponentChild>(key, values, tags);
}
