/** The text that a server appends to the client's key to prove that it speaks WebSocket (RFC 6455 section 1.3). */
export const HANDSHAKE_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
