import { fieldBytes } from './field-bytes.ts';
import type { RequestEdit } from './request-edit.ts';

/** Methods whose requests say that they have no body when they have none (RFC 9110 section 8.6). */
const WITH_CONTENT: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);
const NOTHING = Buffer.alloc(0);

/**
 * An HTTP/1.1 request as bytes. What {@link checkEdit} finds no fault with is exactly one request.
 *
 * @param host value of its `Host`
 */
export function composeRequest({ method, target, fields, body }: RequestEdit, host: string): Buffer {
  const pieces: Buffer[] = [Buffer.from(`${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n`, 'latin1')];
  for (const [name, value] of fields)
    pieces.push(Buffer.from(`${name}: `, 'latin1'), fieldBytes(value), Buffer.from('\r\n'));
  const length = body?.length ?? 0;
  if (length > 0 || WITH_CONTENT.has(method)) pieces.push(Buffer.from(`Content-Length: ${length}\r\n`));
  return Buffer.concat([...pieces, Buffer.from('\r\n'), body ?? NOTHING]);
}
