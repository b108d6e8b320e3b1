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

/** Takes a connection unread, from its first byte. */
export type Passing = (tcp: Socket) => void;

/** What becomes of connections, by the first message of each. */
export interface HandshakeRules {
  /** provides certificates; without it, only requests of plain HTTP are treated differently */
  readonly guide: HandshakeGuide | undefined;
  /** Finds who takes connections for a host unread, if anybody does; never rejects. */
  readonly passing?: ((serverName: string) => Passing | Promise<Passing | undefined> | undefined) | undefined;
}

/**
 * Reads the first message of a connection, and waits until there is a certificate for it.
 *
 * @param socket with a listener for errors
 * @returns whether TLS takes over; otherwise the connection has ended or is somebody else's, or serves something else until
 *   it ends
 */
export async function mayShakeHands(socket: Socket, { guide, passing }: HandshakeRules): Promise<boolean> {
  const hello = await new Hello(socket).read();
  if (hello === 'gone') return false;
  if (hello === 'request') {
    redirectToHttps(socket);
    return false;
  }
  if (hello?.serverName !== undefined && passing !== undefined) {
    const found = passing(hello.serverName);
    const pass = found instanceof Promise ? await found : found;
    if (socket.destroyed) return false;
    if (pass !== undefined) {
      pass(socket);
      return false;
    }
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

/** Bytes of first messages that are incomplete, of all connections. */
let heldBytes = 0;

/** The first message of one connection, which stays in its buffer to be read again. */
class Hello {
  readonly #socket: Socket;
  readonly #reader = new HelloReader();
  #counted = 0;

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
        this.#count(0);
        socket.off('readable', look);
        socket.off('close', close);
        const { bytes } = this.#reader;
        if (hello !== 'gone' && bytes.length > 0) socket.unshift(bytes);
        resolve(hello === undefined && beginsLikeRequest(bytes) ? 'request' : hello);
      };
      const close = (): void => done('gone');
      const look = (): void => {
        const hello = this.#look();
        if (hello === 'incomplete') this.#limit();
        else done(hello);
      };
      socket.on('readable', look);
      socket.once('close', close);
    });
  }

  #look(): ClientHello | 'incomplete' | undefined {
    let hello: ClientHello | 'incomplete' | undefined = 'incomplete';
    for (;;) {
      const part = this.#socket.read() as Buffer | null;
      if (part === null) return hello;
      hello = this.#reader.push(part);
    }
  }

  /** Usual messages are always held; of unusual ones only so many at a time. */
  #limit(): void {
    this.#count(this.#reader.bytes.length);
    if (heldBytes > HELLOS_MAX_BYTES && this.#counted > HELLO_USUAL_BYTES) this.#socket.destroy();
  }

  #count(bytes: number): void {
    heldBytes += bytes - this.#counted;
    this.#counted = bytes;
  }
}

/**
 * Reads the first message of a TLS connection (RFC 8446 section 4.1.2), as far as the relay needs it before it
 * responds.
 */

/**
 * The longest first message that is accepted, without the headers of its records: usual ones have about 500 bytes, or
 * 1,800 with post-quantum keys.
 */
export const HELLO_MAX_BYTES = 64 * 1024 + 4;
/** Maximum size of its records together: each may contain a single byte of it. */
export const HELLO_RECORDS_MAX_BYTES = 6 * HELLO_MAX_BYTES;
/** Maximum size of all incomplete messages together, beyond which no unusual one is waited for. */
export const HELLOS_MAX_BYTES = 64 * 1024 * 1024;
/** What a single record can contain. */
const HELLO_USUAL_BYTES = 16 * 1024;

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
const RECORD_HEAD_BYTES = 5;
const MESSAGE_HEAD_BYTES = 4;

/** Bytes that arrive in pieces of any size, each of which is copied about once. */
class Gathered {
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  add(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#buffer.length));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    piece.copy(this.#buffer, this.#length);
    this.#length = length;
  }
}

/** Reads the first message of a connection from pieces of any size, in records of any size. */
export class HelloReader {
  readonly #all = new Gathered();
  readonly #message = new Gathered();
  /** offset of the header of the next record, if its header is next, or of the rest of the current one */
  #at = 0;
  /** bytes of the current record that have not arrived */
  #left = 0;
  #found: ClientHello | 'incomplete' | undefined = 'incomplete';

  /** Everything that has arrived. */
  get bytes(): Buffer {
    return this.#all.bytes;
  }

  /**
   * @param piece that has arrived
   * @returns `undefined` for anything but such a message, which TLS itself is to refuse
   */
  push(piece: Buffer): ClientHello | 'incomplete' | undefined {
    this.#all.add(piece);
    if (this.#found === 'incomplete') this.#found = this.#advance();
    return this.#found;
  }

  #advance(): ClientHello | 'incomplete' | undefined {
    const { bytes } = this.#all;
    while (this.#at < bytes.length) {
      if (this.#left === 0) {
        if (bytes[this.#at] !== HANDSHAKE) return undefined;
        if (bytes.length < this.#at + RECORD_HEAD_BYTES) return 'incomplete';
        this.#left = bytes.readUInt16BE(this.#at + 3);
        if (bytes[this.#at + 1] !== 3 || this.#left === 0) return undefined;
        this.#at += RECORD_HEAD_BYTES;
        if (this.#at + this.#left > HELLO_RECORDS_MAX_BYTES) return undefined;
      }
      const part = bytes.subarray(this.#at, this.#at + this.#left);
      this.#at += part.length;
      this.#left -= part.length;
      this.#message.add(part);
      const message = this.#message.bytes;
      if (message.length > 0 && message[0] !== CLIENT_HELLO) return undefined;
      if (message.length < MESSAGE_HEAD_BYTES) continue;
      const length = MESSAGE_HEAD_BYTES + message.readUIntBE(1, 3);
      if (length > HELLO_MAX_BYTES) return undefined;
      if (message.length >= length) return readHello(message.subarray(MESSAGE_HEAD_BYTES, length));
    }
    return 'incomplete';
  }
}

function readHello(message: Buffer): ClientHello | undefined {
  try {
    return helloOf(new Reader(message));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
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
