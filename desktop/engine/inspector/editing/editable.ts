import { isUtf8 } from 'node:buffer';
import type { RequestDetail } from '../records.ts';
import { isOwnField } from './own-fields.ts';
import type { RequestEdit } from './request-edit.ts';

/** A recorded request as it is before anybody edits it: without what culvert writes by itself, and with the body it has. */
export function editable({ method, target, request }: RequestDetail): RequestEdit {
  return {
    method,
    target: percentEncoded(target),
    fields: request.fields.filter(([name]) => !isOwnField(name)),
    body: undefined,
  };
}

/** The body as text that can be edited; `undefined` for one that is not text. */
export function editableText(body: Uint8Array): string | undefined {
  const isText = isUtf8(body) && !body.includes(0);
  return isText ? Buffer.from(body).toString() : undefined;
}

/** The same address in visible ASCII: a recorded target has a character for each byte. */
export function percentEncoded(target: string): string {
  return target.replace(
    /[^!-~]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}
