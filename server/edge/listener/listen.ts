/** The listener, with TLS or without. */
import { type AddressInfo, createServer, type Server } from 'node:net';
import { createServer as createTlsServer, type SecureContextOptions } from 'node:tls';
import { systemClock as clock } from '../../clock.ts';
import { KEEP_ALIVE_MS, LISTEN_BACKLOG, TLS_HANDSHAKE_TIMEOUT_MS } from '../../limits.ts';
import type { Log } from '../../log.ts';
import { CertificateWatch } from './certificate-watch.ts';
import { type KeyPair, readKeyPair, type TlsFiles } from './tls-files.ts';

const OPTIONS = {
  // Half-open, because a visitor that has sent its request and closes its side still has to get the response.
  allowHalfOpen: true,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: KEEP_ALIVE_MS,
};

/** Where to listen. */
interface Place {
  readonly host: string;
  /** 0 for a free one */
  readonly port: number;
  /** whether other processes of this user may listen there, too; the system then distributes connections among them */
  readonly reusePort: boolean;
}

export interface Listening {
  /** bound */
  readonly server: Server;
  /** keeps the certificate up to date; `undefined` without TLS */
  readonly certificate: CertificateWatch | undefined;
}

/**
 * Opens the listener of a configuration.
 *
 * @throws TlsFileError, or what {@link bind} throws
 */
export async function listen(
  config: Place & { readonly tls: TlsFiles | undefined },
  log: Log,
): Promise<Listening> {
  const { tls } = config;
  if (tls === undefined) {
    const server = createServer(OPTIONS);
    await bindServer(server, config);
    return { server, certificate: undefined };
  }
  const pair = await readKeyPair(tls);
  const server = createTlsServer({
    ...OPTIONS,
    ...contextOf(pair),
    // Only until the handshake is done, then as above: a peer that ends before that has said all it ever will.
    allowHalfOpen: false,
    handshakeTimeout: TLS_HANDSHAKE_TIMEOUT_MS,
    ALPNProtocols: ['http/1.1'],
  });
  // A peer that does not speak TLS, or takes too long over it.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  const useNext = (next: KeyPair): void => server.setSecureContext(contextOf(next));
  const certificate = new CertificateWatch(tls, pair, useNext, clock, log);
  await bindServer(server, config);
  certificate.start();
  return { server, certificate };
}

function contextOf({ cert, key }: KeyPair): SecureContextOptions {
  return { cert, key, minVersion: 'TLSv1.2' };
}

/**
 * Binds the listener. Connections arrive only once the caller has yielded, so an {@link Edge} made at once misses none.
 *
 * @param port 0 picks a free one
 * @throws the system's error when the address is taken or not ours
 */
export async function bind(host: string, port: number): Promise<Server> {
  const server = createServer(OPTIONS);
  await bindServer(server, { host, port, reusePort: false });
  return server;
}

async function bindServer(server: Server, { host, port, reusePort }: Place): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, reusePort, backlog: LISTEN_BACKLOG }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** @returns the port a listener is bound to */
export function boundPort(server: Server): number {
  return (server.address() as AddressInfo).port;
}
