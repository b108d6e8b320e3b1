/** `culvert inspect edit`: sends a request as it was changed. */
import { editable, editableText } from '../../engine/inspector/editing/editable.ts';
import type { RequestEdit } from '../../engine/inspector/editing/request-edit.ts';
import type { RequestDetail } from '../../engine/inspector/records.ts';
import type { RequestChanges } from '../arguments/inspect-arguments.ts';
import { parseRequestText, readField, requestText } from './request-text.ts';

/**
 * The request with what the command line changes.
 *
 * @param readBody of standard input
 */
export async function changed(
  detail: RequestDetail,
  { method, path, headers, body }: RequestChanges,
  readBody: () => Promise<Uint8Array>,
): Promise<RequestEdit> {
  const recorded = editable(detail);
  const given = headers.map(readField);
  const names = new Set(given.map(([name]) => name.toLowerCase()));
  return {
    method: method ?? recorded.method,
    target: path ?? recorded.target,
    fields: [
      ...recorded.fields.filter(([name]) => !names.has(name.toLowerCase())),
      ...given.filter(([, value]) => value !== ''),
    ],
    body: body === undefined ? undefined : await (body === '-' ? readBody() : new TextEncoder().encode(body)),
  };
}

/**
 * The request as it comes back from an editor.
 *
 * @param edit shows the text, and brings it back
 * @returns `undefined` if nothing is to be sent, because nothing was changed or everything was removed
 */
export async function editedByHand(
  detail: RequestDetail,
  edit: (text: string) => Promise<string>,
): Promise<RequestEdit | undefined> {
  const text = requestText(detail);
  const answer = await edit(text);
  if (answer === text) return undefined;
  const isText = editableText(detail.request.body) !== undefined;
  const edited = parseRequestText(answer, isText);
  // A body that was cut and stays as it is would be half a body.
  const isSame = isText && edited?.body !== undefined && Buffer.from(detail.request.body).equals(edited.body);
  return edited && { ...edited, body: isSame ? undefined : edited.body };
}
