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
  /** ms until the connection (and TLS session) must stand */
  readonly timeoutMs: number;
  /** Destroys the socket when aborted, during the dial and at any time after. One signal a visitor, not one for all. */
  readonly signal: AbortSignal;
}

/**
 * Opens a TCP or TLS connection.
 *
 * @returns a connected socket that is not read yet, does not end by itself when the peer ends, and has an `error`
 *   listener: `close` tells of its end
 * @throws what the socket reports; an `Error` with the code `ETIMEDOUT` after `timeoutMs`
 */
export function dial(options: DialOptions): Promise<Socket> {
  const { signal, timeoutMs } = options;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(new Error('aborted'));
      return;
    }
    const socket = openSocket(options);
    const timer = setTimeout(() => socket.destroy(timeout()), timeoutMs);
    socket.on('error', reject);
    socket.once('close', () => {
      clearTimeout(timer);
      reject(new Error('the connection was closed'));
    });
    socket.once(options.tls === undefined ? 'connect' : 'secureConnect', () => {
      clearTimeout(timer);
      resolve(socket);
    });
    signal.addEventListener('abort', () => socket.destroy(), { once: true });
  });
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

function timeout(): Error {
  return Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' });
}
