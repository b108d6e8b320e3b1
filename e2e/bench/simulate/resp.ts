/** Bytes on the wire to and from Redis (RESP, https://redis.io/docs/latest/develop/reference/protocol-spec/). */

/** A script is called by its SHA-1 in hex. */
const SHA1 = 'x'.repeat(40);
const LINE_END = 2;

/** @returns bytes of an array of texts, which is how a command is sent and a list is answered */
export function listBytes(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + textBytes(text), headerBytes(texts.length));
}

/** @returns bytes of a text */
export function textBytes(text: string): number {
  return headerBytes(text.length) + text.length + LINE_END;
}

/** @returns bytes of a script's call, from the second on: the first brings its text along */
export function callBytes(args: readonly string[]): number {
  return listBytes(['evalsha', SHA1, '0', ...args]);
}

/** @returns bytes of a message as each relay gets it that listens to the channel */
export function messageBytes(channel: string, text: string): number {
  return listBytes(['message', channel, text]);
}

/** A kind, a number and the end of a line; also a number as an answer. */
function headerBytes(count: number): number {
  return 1 + String(count).length + LINE_END;
}
