/**
 * Looks at the first message of each TLS connection before the handshake begins: a certificate may have to be fetched or issued
 * first, and whoever speaks `acme-tls/1` is an authority that wants to see a certificate of its own (RFC 8737).
 */
import type { Server, Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import { TLS_HANDSHAKE_TIMEOUT_MS } from '../../limits.ts';
import { type ClientHello, readClientHello } from './client-hello.ts';

const ACME = 'acme-tls/1';

/** Who knows certificates. */
export interface HandshakeGuide {
  /** @returns what a handshake that names a host needs, at once; `undefined`: the listener's own */
  context(serverName: string): SecureContext | undefined;
  /** @returns `undefined` if there is nothing to wait for; else it never rejects, and is fulfilled in a bounded time */
  prepare(serverName: string | undefined): Promise<void> | undefined;
  /** @returns what proves a name to an authority, if anything is to be proven; never rejects */
  challenge(serverName: string): Promise<SecureContext | undefined>;
}

/** @param server of TLS, on which nobody but Node takes connections yet */
export function guardHandshakes(server: Server, guide: HandshakeGuide): void {
  const handshake = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    socket.on('error', () => socket.destroy());
    void new Hello(socket).read().then((hello) => {
      if (hello === 'gone') return;
      return goOn(socket, hello, guide, () => handshake.forEach((begin) => begin.call(server, socket)));
    });
  });
}

async function goOn(
  socket: Socket,
  hello: ClientHello | undefined,
  guide: HandshakeGuide,
  begin: () => void,
): Promise<void> {
  if (hello?.serverName !== undefined && hello.protocols.includes(ACME)) {
    const secureContext = await guide.challenge(hello.serverName);
    if (secureContext !== undefined && !socket.destroyed) return prove(socket, secureContext);
  } else if (hello !== undefined) {
    const ready = guide.prepare(hello.serverName);
    if (ready !== undefined) await ready;
  }
  // Without a certificate, or without anything to prove, TLS says so itself.
  if (!socket.destroyed) begin();
}

/** The handshake is all that there is to it. */
function prove(tcp: Socket, secureContext: SecureContext): void {
  const socket = new TLSSocket(tcp, { isServer: true, secureContext, ALPNProtocols: [ACME] });
  const end = (): void => void socket.destroy();
  const timer = setTimeout(end, TLS_HANDSHAKE_TIMEOUT_MS);
  timer.unref();
  socket.on('error', end);
  socket.once('close', () => clearTimeout(timer));
  socket.once('secure', () => socket.end());
}

/** The first message of one connection, which stays there to be read again. */
class Hello {
  readonly #socket: Socket;
  readonly #parts: Buffer[] = [];
  #length = 0;
  /** bytes before which it is not looked at again */
  #wanted = 1;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** @returns `undefined` for what is no such message; `gone` if the connection has ended */
  read(): Promise<ClientHello | 'gone' | undefined> {
    const socket = this.#socket;
    return new Promise((resolve) => {
      const timer = setTimeout(() => socket.destroy(), TLS_HANDSHAKE_TIMEOUT_MS);
      timer.unref();
      const done = (hello: ClientHello | 'gone' | undefined): void => {
        clearTimeout(timer);
        socket.off('readable', look);
        socket.off('close', close);
        if (hello !== 'gone' && this.#parts.length > 0) socket.unshift(Buffer.concat(this.#parts));
        resolve(hello);
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
