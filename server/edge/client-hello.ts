/**
 * Reads the first message of each TLS connection before the handshake begins: a certificate may have to be fetched or
 * issued first, and a client that speaks `acme-tls/1` is an authority that validates a challenge (RFC 8737).
 */
import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { beginsLikeRequest, redirectToHttps } from './plain-http.ts';
import { TLS_HANDSHAKE_TIMEOUT_MS } from './timeouts.ts';

const ACME = 'acme-tls/1';

/** Provides certificates for handshakes. */
export interface HandshakeGuide {
  /** @returns the context for a host, synchronously; `undefined`: the listener's own */
  context(serverName: string): SecureContext | undefined;
  /**
   * @returns `undefined` if there is nothing to wait for; otherwise a promise that never rejects and settles in
   *   bounded time
   */
  prepare(serverName: string | undefined): Promise<void> | undefined;
  /** @returns the certificate that proves a name to an authority, if there is a challenge; never rejects */
  challenge(serverName: string): Promise<SecureContext | undefined>;
}

/**
 * Reads the first message of a connection, and waits until there is a certificate for it.
 *
 * @param socket with a listener for errors
 * @param guide provides certificates; without it, only requests of plain HTTP are treated differently
 * @returns whether TLS takes over; otherwise the connection has ended, or serves something else until it does
 */
export async function mayShakeHands(socket: Socket, guide: HandshakeGuide | undefined): Promise<boolean> {
  const hello = await new Hello(socket).read();
  if (hello === 'gone') return false;
  if (hello === 'request') {
    redirectToHttps(socket);
    return false;
  }
  // Without a certificate or a challenge, TLS itself reports the error.
  if (guide === undefined || hello === undefined) return true;
  if (hello.serverName !== undefined && hello.protocols.includes(ACME)) {
    const secureContext = await guide.challenge(hello.serverName);
    if (secureContext !== undefined && !socket.destroyed) {
      prove(socket, secureContext);
      return false;
    }
  } else {
    const ready = guide.prepare(hello.serverName);
    if (ready !== undefined) await ready;
  }
  return !socket.destroyed;
}

/** The connection serves nothing but this handshake. */
function prove(tcp: Socket, secureContext: SecureContext): void {
  // Imported, it would be loaded at every start.
  const tls = process.getBuiltinModule('node:tls');
  const socket = new tls.TLSSocket(tcp, { isServer: true, secureContext, ALPNProtocols: [ACME] });
  const end = (): void => void socket.destroy();
  const timer = setTimeout(end, TLS_HANDSHAKE_TIMEOUT_MS);
  timer.unref();
  socket.on('error', end);
  socket.once('close', () => clearTimeout(timer));
  socket.once('secure', () => socket.end());
}

/** The first message of one connection, which stays in its buffer to be read again. */
class Hello {
  readonly #socket: Socket;
  readonly #parts: Buffer[] = [];
  #length = 0;
  /** number of bytes before the message is parsed again */
  #wanted = 1;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** @returns `undefined` for anything but such a message or a request; `gone` if the connection has ended */
  read(): Promise<ClientHello | 'gone' | 'request' | undefined> {
    const socket = this.#socket;
    return new Promise((resolve) => {
      const timer = setTimeout(() => socket.destroy(), TLS_HANDSHAKE_TIMEOUT_MS);
      timer.unref();
      const done = (hello: ClientHello | 'gone' | 'request' | undefined): void => {
        clearTimeout(timer);
        socket.off('readable', look);
        socket.off('close', close);
        const bytes = Buffer.concat(this.#parts);
        if (hello !== 'gone' && bytes.length > 0) socket.unshift(bytes);
        resolve(hello === undefined && beginsLikeRequest(bytes) ? 'request' : hello);
      };
      const close = (): void => done('gone');
      const look = (): void => {
        const hello = this.#look();
        if (typeof hello !== 'number') done(hello);
      };
      socket.on('readable', look);
      socket.once('close', close);
    });
  }

  /** @returns how many bytes are missing at least */
  #look(): ClientHello | number | undefined {
    for (;;) {
      const part = this.#socket.read() as Buffer | null;
      if (part === null) break;
      this.#parts.push(part);
      this.#length += part.length;
    }
    if (this.#length < this.#wanted) return this.#wanted;
    const hello = readClientHello(Buffer.concat(this.#parts));
    if (typeof hello === 'number') this.#wanted = hello;
    return hello;
  }
}

/**
 * Reads the first message of a TLS connection (RFC 8446 section 4.1.2), as far as the relay needs it before it
 * responds.
 */

/** The longest first message that is accepted: usual ones have about 500 bytes, or 1,800 with post-quantum keys. */
export const HELLO_MAX_BYTES = 16 * 1024;

interface ClientHello {
  /** as sent; `undefined` if it names no host (RFC 6066 section 3) */
  readonly serverName: string | undefined;
  /** offered protocols, by preference (RFC 7301) */
  readonly protocols: readonly string[];
}

/** Type of a handshake record, and of the message in it. */
const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const ALPN = 16;
/** Number of records that may contain the message; all but the most unusual programs use one. */
const RECORDS_MAX = 8;

/**
 * @param bytes from the beginning of the connection
 * @returns how many bytes are needed at least, if there are fewer; `undefined` for anything but such a message, which
 *   TLS itself is to refuse
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

/** Joins the records that contain the message. */
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

/** Throws a RangeError at the end of the bytes. */
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

  /** A vector with a length prefix of this many bytes. */
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
