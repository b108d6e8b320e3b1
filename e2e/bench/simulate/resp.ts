/** Bytes on the wire to and from Redis (RESP, https://redis.io/docs/latest/develop/reference/protocol-spec/). */

/** A script is called by its SHA-1 in hex. */
const SHA1 = 'x'.repeat(40);
const LINE_END = 2;

/** @returns bytes of an array of texts, the form of a command and of a list in a reply */
export function listBytes(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + textBytes(text), headerBytes(texts.length));
}

/** @returns bytes of a text */
export function textBytes(text: string): number {
  return headerBytes(text.length) + text.length + LINE_END;
}

/** @returns bytes of a script's call, from the second on: the first one includes its text */
export function callBytes(args: readonly string[]): number {
  return listBytes(['evalsha', SHA1, '0', ...args]);
}

/** @returns bytes of a message as received by each relay that listens to the channel */
export function messageBytes(channel: string, text: string): number {
  return listBytes(['message', channel, text]);
}

/** A type, a number and the end of a line; also a number as a reply. */
function headerBytes(count: number): number {
  return 1 + String(count).length + LINE_END;
}
