import { type Field, formatRequest, type RawConnection } from '../../support/raw-http.ts';

const HANDSHAKE: readonly Field[] = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
];

/**
 * Turns a connection into a WebSocket, and leaves its frames to the caller.
 *
 * @throws Error for any response but 101
 */
export async function upgrade(
  connection: RawConnection,
  request: { readonly host: string; readonly target: string; readonly headers?: readonly Field[] },
): Promise<void> {
  const { host, target, headers = [] } = request;
  await connection.write(formatRequest({ host, target, headers: [...HANDSHAKE, ...headers] }));
  const head = await connection.finalHead();
  if (head.status !== 101) throw new Error(`${target} answered ${head.status}`);
}
