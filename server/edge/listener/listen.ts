/** The listener, with TLS or without. */
import { type AddressInfo, createServer, type Server } from 'node:net';
import {
  createServer as createTlsServer,
  type SecureContext,
  type SecureContextOptions,
  type Server as TlsServer,
} from 'node:tls';
import { systemClock as clock } from '../../clock.ts';
import { KEEP_ALIVE_MS, TLS_HANDSHAKE_TIMEOUT_MS } from '../../limits.ts';
import { Listeners } from '../../listeners.ts';
import type { Log } from '../../log.ts';
import { CertificateWatch } from './certificate-watch.ts';
import { guardHandshakes, type HandshakeGuide } from './hello-gate.ts';
import { SESSIONS } from './session-options.ts';
import type { TicketKeys } from './ticket-keys.ts';
import { readKeyPair, type TlsFiles } from './tls-files.ts';

const OPTIONS = {
  // Half-open, because a visitor that has sent its request and closes its side still has to get the response.
  allowHalfOpen: true,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: KEEP_ALIVE_MS,
};

/** PEM */
export interface Pair {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

export interface Listening {
  /** bound */
  readonly server: Server;
  /** keeps the certificate up to date; `undefined` without certificate files */
  readonly certificate: CertificateWatch | undefined;
  /** Makes handshakes that name no other host get this. */
  readonly useOwn: (pair: Pair) => void;
}

/** With what TLS is spoken. */
export interface Handshaking {
  /** with TLS */
  readonly tickets: TicketKeys | undefined;
  /** who knows the certificates; `undefined` for those in files, or none */
  readonly guide: HandshakeGuide | undefined;
  /** the certificate of the relay's own name, where the guide knows one already */
  readonly pair: Pair | undefined;
}

/**
 * Opens the listener of a configuration.
 *
 * @param open binds it, when everything else is there
 * @throws TlsFileError, or what `open` throws
 */
export async function listen(
  { tls }: { readonly tls: TlsFiles | undefined },
  { tickets, guide, pair: known }: Handshaking,
  log: Log,
  open: (server: Server) => Promise<void>,
): Promise<Listening> {
  if (tls === undefined && guide === undefined) {
    const server = createServer(OPTIONS);
    await open(server);
    return { server, certificate: undefined, useOwn: () => {} };
  }
  const files = tls && (await readKeyPair(tls));
  const server = tlsServer(files ?? known, tickets, guide);
  const useNext = (next: Pair): void => server.setSecureContext(contextOf(next, tickets));
  if (guide !== undefined) guardHandshakes(server, guide);
  const certificate = tls && files && new CertificateWatch(tls, files, useNext, clock, log);
  await open(server);
  certificate?.start();
  return { server, certificate, useOwn: useNext };
}

type UseContext = (error: null, context: SecureContext | undefined) => void;

/** @param guide who knows certificates besides this one, which need not be there */
function tlsServer(
  pair: Pair | undefined,
  tickets: TicketKeys | undefined,
  guide: HandshakeGuide | undefined,
): TlsServer {
  const server = createTlsServer({
    ...OPTIONS,
    ...contextOf(pair, tickets),
    // Only until the handshake is done, then as above: a peer that ends before that has said all it ever will.
    allowHalfOpen: false,
    handshakeTimeout: TLS_HANDSHAKE_TIMEOUT_MS,
    ALPNProtocols: ['http/1.1'],
    ...(guide && { SNICallback: (name: string, use: UseContext) => use(null, guide.context(name)) }),
  });
  // A peer that does not speak TLS, or takes too long over it.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  tickets?.follow((key) => server.setTicketKeys(key));
  return server;
}

function contextOf(pair: Pair | undefined, tickets: TicketKeys | undefined): SecureContextOptions {
  return {
    ...(pair && { cert: pair.cert, key: pair.key }),
    ...SESSIONS,
    ...(tickets && { ticketKeys: tickets.current }),
  };
}

/**
 * Binds the listener. Connections arrive only once the caller has yielded, so an {@link Edge} made at once misses none.
 *
 * @param port 0 picks a free one
 * @throws the system's error when the address is taken or not ours
 */
export async function bind(host: string, port: number): Promise<Server> {
  const server = createServer(OPTIONS);
  await new Listeners().open('visitors', server, { host, port });
  return server;
}

/** @returns the port a listener is bound to */
export function boundPort(server: Server): number {
  return (server.address() as AddressInfo).port;
}
