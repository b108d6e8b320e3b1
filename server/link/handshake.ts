/** The server's part of the WebSocket opening handshake (RFC 6455 section 4.2). */
import { createHash } from 'node:crypto';
import { HANDSHAKE_GUID } from '../../shared/websocket/handshake.ts';

const KEY = /^[+/0-9A-Za-z]{22}==$/;

/** Whether the value of `Sec-WebSocket-Key` is 16 bytes in base64. */
export function isHandshakeKey(key: string | undefined): key is string {
  return key !== undefined && KEY.test(key);
}

/** The 101 response to a handshake, no extension and no subprotocol taken. */
export function switchingProtocols(key: string): string {
  const accept = createHash('sha1')
    .update(key + HANDSHAKE_GUID)
    .digest('base64');
  return `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`;
}
