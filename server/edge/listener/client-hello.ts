/** Reads the first message of a TLS connection (RFC 8446 section 4.1.2), as far as the relay needs it before it answers. */

/** The longest first message that is waited for: they have some 500 bytes, or 1,800 with keys of the post-quantum kind. */
export const HELLO_MAX_BYTES = 16 * 1024;

export interface ClientHello {
  /** as it is sent; `undefined` if it names no host (RFC 6066 section 3) */
  readonly serverName: string | undefined;
  /** what is to be spoken, by preference (RFC 7301) */
  readonly protocols: readonly string[];
}

/** Type of a record of the handshake, and of the message in it. */
const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const ALPN = 16;
/** In how many records the message may come; one does for all but the oddest programs. */
const RECORDS_MAX = 8;

/**
 * @param bytes from the begin of the connection
 * @returns how many bytes there must be at least, if there are fewer; `undefined` for what is no such message, which TLS itself
 *   is to refuse
 */
export function readClientHello(bytes: Buffer): ClientHello | number | undefined {
  const message = handshakeIn(bytes);
  if (message === undefined || typeof message === 'number') return message;
  try {
    return helloOf(new Reader(message));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Joins the records that the message is in. */
function handshakeIn(bytes: Buffer): Buffer | number | undefined {
  let message: Buffer = Buffer.alloc(0);
  let at = 0;
  for (let record = 0; record < RECORDS_MAX; record += 1) {
    if (at < bytes.length && bytes[at] !== HANDSHAKE) return undefined;
    if (bytes.length < at + 5) return at + 5;
    const end = at + 5 + bytes.readUInt16BE(at + 3);
    if (bytes[at + 1] !== 3 || end === at + 5 || end > HELLO_MAX_BYTES) return undefined;
    if (bytes.length < end) return end;
    message = Buffer.concat([message, bytes.subarray(at + 5, end)]);
    if (message[0] !== CLIENT_HELLO) return undefined;
    const length = message.length < 4 ? Infinity : 4 + message.readUIntBE(1, 3);
    if (message.length >= length) return message.subarray(4, length);
    at = end;
  }
  return undefined;
}

function helloOf(hello: Reader): ClientHello {
  hello.skip(2 + 32);
  hello.vector(1);
  hello.vector(2);
  hello.vector(1);
  let serverName: string | undefined;
  let protocols: string[] = [];
  if (hello.isAtEnd) return { serverName, protocols };
  const extensions = hello.vector(2);
  while (!extensions.isAtEnd) {
    const type = extensions.number(2);
    const content = extensions.vector(2);
    if (type === SERVER_NAME) serverName = hostIn(content.vector(2));
    else if (type === ALPN) protocols = namesIn(content.vector(2));
  }
  return { serverName, protocols };
}

function hostIn(list: Reader): string | undefined {
  while (!list.isAtEnd) {
    const type = list.number(1);
    const name = list.vector(2);
    if (type === 0) return name.rest();
  }
  return undefined;
}

function namesIn(list: Reader): string[] {
  const names: string[] = [];
  while (!list.isAtEnd) names.push(list.vector(1).rest());
  return names;
}

/** Throws a RangeError at the end of what there is. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  number(size: number): number {
    const value = this.#bytes.readUIntBE(this.#at, size);
    this.#at += size;
    return value;
  }

  skip(count: number): void {
    if (this.#at + count > this.#bytes.length) throw new RangeError('the message is too short');
    this.#at += count;
  }

  /** What has its length before it, in so many bytes. */
  vector(size: number): Reader {
    const length = this.number(size);
    const begin = this.#at;
    this.skip(length);
    return new Reader(this.#bytes.subarray(begin, this.#at));
  }

  rest(): string {
    return this.#bytes.toString('latin1', this.#at);
  }
}
