/** The routes to a relay: straight, and through each proxy for which `server/deploy` has a file. */
import { Authority } from '../../support/certificates.ts';
import { type Environment, Relay } from '../../support/programs.ts';
import { RawConnection } from '../../support/raw-http.ts';
import type { Scope } from '../../support/scope.ts';
import { closedPort } from '../../support/services/listen.ts';
import { SHIPPED, SHIPPED_PROXIES } from '../../support/shipped-proxies.ts';

/** The source address of visitors. The relay trusts 127.0.0.1, where its proxies are. */
const VISITOR_ADDRESS = '127.0.0.2';

/** One route to the relay. */
export interface Front {
  readonly name: string;
  readonly port: number;
  /**
   * Opens a visitor's connection.
   *
   * @param options `from`: the visitor's address
   */
  open(scope: Scope, options?: { readonly from?: string }): Promise<RawConnection>;
}

/** @param settings of the relay, in addition to those that the files of `server/deploy` require */
export async function startFronts(scope: Scope, settings: Environment = {}) {
  const authority = new Authority(scope);
  const files = authority.issue(SHIPPED.relayHost, `*.${SHIPPED.tunnelDomain}`);
  const relay = await Relay.start(scope, { ...SHIPPED.settings, ...settings });
  const proxies = Object.entries(SHIPPED_PROXIES).map(async ([name, start]): Promise<Front> => {
    const port = await closedPort();
    await start(scope, port, relay.port, files);
    return front(name, port, authority.pem);
  });
  return {
    relay,
    /** the straight one first */
    fronts: [straight(relay.port), ...(await Promise.all(proxies))],
    /** path of the certificate that the proxies' clients have to trust */
    authority: authority.path,
  };
}

/** The route without a proxy. */
export function straight(port: number): Front {
  return front('straight', port);
}

/** @param ca the authority to trust, if the route begins with TLS */
function front(name: string, port: number, ca?: Buffer): Front {
  return {
    name,
    port,
    async open(scope, { from = VISITOR_ADDRESS } = {}) {
      if (ca === undefined) return await RawConnection.open(scope, port, undefined, from);
      const options = { port, ca, servername: SHIPPED.relayHost, localAddress: from };
      return await RawConnection.openTls(scope, options);
    },
  };
}

interface Patience {
  /** ms to wait for the first byte */
  readonly firstMs: number;
  /** ms of silence after which no further bytes are expected */
  readonly quietMs: number;
}

/**
 * Writes bytes, and reads any response: for messages whose end is unknown.
 *
 * @returns everything that was received, as latin1, and whether the other end has finished
 */
export async function talk(
  { socket }: RawConnection,
  bytes: Buffer,
  { firstMs, quietMs }: Patience,
): Promise<{ readonly text: string; readonly ended: boolean }> {
  const pieces: Buffer[] = [];
  const over = Promise.withResolvers<void>();
  let timer = setTimeout(over.resolve, firstMs);
  let ended = socket.destroyed || socket.readableEnded;
  const hear = (piece: Buffer): void => {
    pieces.push(piece);
    clearTimeout(timer);
    timer = setTimeout(over.resolve, quietMs);
  };
  const end = (): void => {
    ended = true;
    over.resolve();
  };
  socket.on('data', hear).once('end', end).once('close', end);
  if (ended) over.resolve();
  else socket.write(bytes);
  await over.promise;
  clearTimeout(timer);
  socket.off('data', hear).off('end', end).off('close', end);
  return { text: Buffer.concat(pieces).toString('latin1'), ended };
}
