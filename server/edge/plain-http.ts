/** Redirects a request of plain HTTP that arrived where TLS is spoken, before the handshake that it is not. */
import type { Socket } from 'node:net';
import { HeadReader, parseRequestHead } from '../../shared/http1/head.ts';
import { type OwnResponse, reply } from './builtin-responses.ts';
import { REQUEST_FIELDS_MAX, REQUEST_HEAD_MAX_BYTES, REQUEST_TARGET_MAX_BYTES } from './request-head.ts';
import { TLS_HANDSHAKE_TIMEOUT_MS } from './timeouts.ts';

/** A host that an address can be made of, with its port. */
const HOST = /^(?:[\w.-]{1,253}|\[[\da-fA-F:.]{2,45}\])(?::\d{1,5})?$/;
/** In origin form, with URL characters only. */
const TARGET = /^\/[\x21-\x7e]*$/;
const LETTERS = /^[A-Z]/;

/** Whether a connection that does not begin like TLS begins like a request. */
export function beginsLikeRequest(bytes: Buffer): boolean {
  return LETTERS.test(bytes.toString('latin1', 0, 1));
}

/**
 * Answers the one request of a connection: 308 to the same address with https, 400 without a usable host. The connection
 * has the time of a handshake.
 *
 * @param socket whose bytes have not been read; errors are listened for
 */
export function redirectToHttps(socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), TLS_HANDSHAKE_TIMEOUT_MS);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
  const reader = new HeadReader(REQUEST_HEAD_MAX_BYTES);
  const read = (bytes: Buffer): void => {
    const end = reader.push(bytes);
    if (end === undefined) return;
    // The rest is thrown away: closing with unread bytes would reset the connection before the response is read.
    socket.off('data', read).resume();
    socket.end(response(typeof end === 'string' ? undefined : secureAddress(end.head)).bytes(true));
  };
  socket.on('data', read);
}

/** @returns `undefined` without a usable host, or for anything but an ordinary request */
function secureAddress(bytes: Buffer): string | undefined {
  const head = parseRequestHead(bytes, { target: REQUEST_TARGET_MAX_BYTES, fields: REQUEST_FIELDS_MAX });
  if (typeof head === 'string' || !TARGET.test(head.target)) return undefined;
  const hosts = head.fields.filter((field) => field.is('host')).map(({ value }) => value);
  const [host = ''] = hosts;
  return hosts.length === 1 && HOST.test(host) ? `https://${host}${head.target}` : undefined;
}

function response(location: string | undefined): OwnResponse {
  const isKnown = location !== undefined;
  return reply({
    status: isKnown ? 308 : 400,
    fields: `${isKnown ? `Location: ${location}\r\n` : ''}X-Content-Type-Options: nosniff\r\n`,
    contentType: 'text/plain; charset=utf-8',
    body: isKnown ? 'this address is served with https' : 'bad request',
  });
}
