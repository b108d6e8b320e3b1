/** The response head as the visitor gets it (RFC 9110 section 7.6; contract.md, Inbound requests). */
import type { Field, ResponseHead } from '../../shared/http1/head.ts';
import { hopByHop } from '../../shared/http1/hop-by-hop.ts';

export interface ResponseOptions {
  /** Whether the connection ends with this response. */
  readonly close: boolean;
  /** Whether a chunked body is passed on without its coding, for an HTTP/1.0 visitor. */
  readonly unchunk: boolean;
  /** Maps a field, or drops it with `undefined`; what the path form needs. */
  readonly mapField?: ((field: Field) => string | undefined) | undefined;
}

/** Writes a final response head. */
export function finalResponseHead(head: ResponseHead, options: ResponseOptions): string {
  const dropped = hopByHop(head.fields);
  // A proxy answers with its own version (RFC 9110 section 6.2).
  let text = `HTTP/1.1 ${head.status} ${head.reason}\r\n`;
  for (const field of head.fields) {
    if (dropped(field.lower) || (options.unchunk && isChunking(field.lower))) continue;
    const value = options.mapField === undefined ? field.value : options.mapField(field);
    if (value !== undefined) text += `${field.name}: ${value}\r\n`;
  }
  if (options.close) text += 'Connection: close\r\n';
  return `${text}\r\n`;
}

/** Writes an interim response (1xx), or the 101 that accepts a WebSocket. */
export function interimResponseHead(head: ResponseHead): string {
  const dropped = hopByHop(head.fields);
  const switches = head.status === 101;
  let text = `HTTP/1.1 ${head.status} ${head.reason}\r\n`;
  for (const { name, lower, value } of head.fields) {
    if (lower === 'upgrade' ? switches : !dropped(lower)) text += `${name}: ${value}\r\n`;
  }
  if (switches) text += 'Connection: Upgrade\r\n';
  return `${text}\r\n`;
}

function isChunking(lower: string): boolean {
  return lower === 'transfer-encoding' || lower === 'trailer';
}
