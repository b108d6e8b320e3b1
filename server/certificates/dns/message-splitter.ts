/** Messages of a TCP connection, each after two bytes with its length (RFC 1035 section 4.2.2). */
import { DNS_QUERY_MAX_BYTES } from '../../limits.ts';

const LENGTH_BYTES = 2;

export class MessageSplitter {
  /** bytes of a message that is not complete */
  #rest: Buffer = Buffer.alloc(0);

  /**
   * @returns the messages that are complete with these bytes
   * @throws RangeError at one that is longer than any query
   */
  *push(chunk: Buffer): Generator<Buffer> {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (bytes.length >= LENGTH_BYTES) {
      const end = LENGTH_BYTES + bytes.readUInt16BE(0);
      if (end > LENGTH_BYTES + DNS_QUERY_MAX_BYTES) throw new RangeError('too long a message');
      if (bytes.length < end) break;
      yield bytes.subarray(LENGTH_BYTES, end);
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes;
  }
}

/** A message as it is sent. */
export function withLength(message: Buffer): Buffer {
  const packet = Buffer.alloc(LENGTH_BYTES + message.length);
  packet.writeUInt16BE(message.length, 0);
  message.copy(packet, LENGTH_BYTES);
  return packet;
}
