import { connect, type NetConnectOpts, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

export interface DialOptions {
  /** name or IP address */
  readonly host: string;
  readonly port: number;
  /** with TLS; `serverName` is what the certificate must be for, where `host` is another */
  readonly tls?: { readonly serverName: string | undefined };
  /** ms of idleness after which TCP asks whether the peer is still there; without it, never */
  readonly keepAliveMs?: number;
}

/** Something under way. After `cancel` nobody hears of it again. */
export interface Attempt {
  cancel(): void;
}

/** Told once what became of a dial, never before {@link dial} has returned. */
export interface DialHandler {
  /**
   * @param socket flows as soon as somebody listens to its data, does not end by itself when the peer ends, and has an
   *   `error` listener: `close` tells of its end
   */
  connected(socket: Socket): void;
  /** @param error what the socket reports */
  failed(error: Error): void;
}

/** Opens a TCP or TLS connection. How long that may take is for the caller to limit. */
export function dial(options: DialOptions, handler: DialHandler): Attempt {
  return new Dial(options, handler);
}

class Dial implements Attempt {
  readonly #socket: Socket;
  #handler: DialHandler | undefined;

  constructor(options: DialOptions, handler: DialHandler) {
    this.#handler = handler;
    this.#socket = openSocket(options);
    this.#socket.on('error', (error) => this.#take()?.failed(error));
    this.#socket.on('close', () => this.#take()?.failed(new Error('the connection was closed')));
    this.#socket.on(options.tls === undefined ? 'connect' : 'secureConnect', () =>
      this.#take()?.connected(this.#socket),
    );
  }

  cancel(): void {
    if (this.#take() !== undefined) this.#socket.destroy();
  }

  #take(): DialHandler | undefined {
    const handler = this.#handler;
    this.#handler = undefined;
    return handler;
  }
}

function openSocket({ host, port, tls, keepAliveMs = 0 }: DialOptions): Socket {
  const options: NetConnectOpts = {
    host,
    port,
    allowHalfOpen: true,
    noDelay: true,
    keepAlive: keepAliveMs > 0,
    keepAliveInitialDelay: keepAliveMs,
  };
  if (tls === undefined) return connect(options);
  const { serverName } = tls;
  return connectTls({
    ...options,
    ALPNProtocols: ['http/1.1'],
    ...(serverName === undefined ? {} : { servername: serverName }),
  });
}
