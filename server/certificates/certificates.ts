/** The relay's own certificates: ordered, stored, served, renewed (docs/decisions/0018-certificates.md). */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { hostname } from '../../shared/networks.ts';
import { VERSION } from '../../shared/version.ts';
import { networkOf } from '../address-network.ts';
import type { Clock, Timer } from '../clock.ts';
import { ConnectionCap } from '../connection-cap.ts';
import { plainAddress } from '../edge/request-head.ts';
import type { Log } from '../log.ts';
import { type Counts, NO_COUNTS } from '../shared-counts.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Issued } from '../workers/messages.ts';
import type { Store } from '../store/store.ts';
import { Orders } from './acme-orders.ts';
import { AcmeAccount } from './acme/order.ts';
import { AcmeSession, httpsTransport } from './acme/session.ts';
import type { HolderOf, IsServed, MayHave, PlanFor, Planning } from './challenge-solver.ts';
import type { DnsServer } from './dns/dns-server.ts';
import { CertifiedHandshakes } from './handshakes.ts';
import { certifiable, KnownCertificates, type PresentedChallenges } from './known-certificates.ts';

/**
 * Maximum number of concurrent connections to the plain HTTP port; the oldest unfinished one is closed first.
 */
export const HTTP_PORT_CONNECTIONS_MAX = 1024;
/** Maximum number of them from one IP address. An IPv6 address counts as its /64. */
export const HTTP_PORT_ADDRESS_CONNECTIONS_MAX = 32;
/** Maximum size of a request's headers on the plain HTTP port. */
export const HTTP_PORT_HEAD_MAX_BYTES = 8 * 1024;
/** How long a request on the plain HTTP port may take to arrive, or its response to be read. */
export const HTTP_PORT_REQUEST_MS = 10_000;
/** How long a connection to the plain HTTP port waits for another request. */
export const HTTP_PORT_IDLE_MS = 5000;
/** Maximum number of requests per connection to the plain HTTP port. */
export const HTTP_PORT_REQUESTS_MAX = 100;

/** ms that ACME orders get to end when the relay stops. */
const CERTIFICATES_STOP_MS = 2000;

/** The operator's settings. */
interface AcmeSettings {
  readonly email: string;
  /** address of the authority's directory */
  readonly directory: string;
  /** PEM, instead of the system's authorities */
  readonly ca: readonly string[] | undefined;
  readonly ordersPerHour: number;
}

interface CertificatesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** the relay's own name */
  readonly own: string;
  /** whether no other relay places orders */
  readonly alone: boolean;
  /** whether no other process of this relay renews certificates */
  readonly renews: boolean;
  readonly challenges: PresentedChallenges;
  readonly planning: Planning;
  readonly mayHave: MayHave;
  readonly holderOf: HolderOf;
  readonly isServed: IsServed;
  /** answers challenges in the DNS */
  readonly dns: Pick<DnsServer, 'leave' | 'close'> | undefined;
  /** port of https in addresses, if it is not 443 */
  readonly publicPort: number | undefined;
  /** those of the other processes of this relay */
  readonly counts: Counts;
}

/** PEM */
interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** Sets the certificate for handshakes without a known host. */
type UseOwn = (pair: Pair) => void;

export class Certificates {
  readonly handshakes: CertifiedHandshakes;
  /** for plain HTTP, not bound yet */
  readonly http: Server;
  readonly #deps: CertificatesDeps;
  readonly #known: KnownCertificates;
  readonly #account: AcmeAccount;
  readonly #orders: Orders;
  readonly #upkeep: CertificateRenewal;
  readonly #close: () => void;
  /** the relay's own certificate, if it existed at the start */
  ownPair: Pair | undefined;
  #useOwn: UseOwn = (pair) => (this.ownPair = pair);
  /** when the listener's certificate was stored */
  #ownStoredAt: number | undefined;

  constructor({ email, directory, ca, ordersPerHour }: AcmeSettings, deps: CertificatesDeps) {
    this.#deps = deps;
    const { store, clock, log, own, renews, challenges, planning, publicPort, counts } = deps;
    const { mayHave, holderOf, isServed } = deps;
    const planFor: PlanFor = (name) => planning.planFor(name);
    const always = (): Promise<readonly string[]> => planning.always();
    const transport = httpsTransport(ca, `culvert-relay/${VERSION}`, clock);
    this.#close = () => transport.close();
    const session = new AcmeSession(transport, directory);
    const known = new KnownCertificates(store, clock);
    this.#known = known;
    this.#account = new AcmeAccount(store, session, { directory, email }, clock);
    const account = this.#account;
    const perHour = ordersPerHour;
    this.#orders = new Orders({ store, known, session, account, isServed, perHour, clock, log });
    const serveOwn = (): Promise<void> => this.#serveOwn();
    const hasOwn = (): boolean => this.#ownStoredAt !== undefined;
    const common = { known, orders: this.#orders, planFor, clock, own };
    const served = { holderOf, isServed, hasOwn, serveOwn };
    this.handshakes = new CertifiedHandshakes({ ...common, ...served, challenges });
    this.#upkeep = new CertificateRenewal({ ...common, renews, mayHave, always, looked: serveOwn });
    this.http = httpPort({ challenges, leadsHere: mayHave, port: publicPort, counts });
  }

  /** Number of certificates. */
  get size(): number {
    return this.#known.size;
  }

  /** Number of handshakes that wait for a certificate. */
  get waits(): number {
    return this.handshakes.waits;
  }

  /** Remaining seconds of the relay's own certificate; `undefined` without one. */
  get ownSecondsLeft(): number | undefined {
    const { own, clock } = this.#deps;
    const summary = this.#known.covering(own);
    return summary && (summary.notAfter - clock.now()) / 1000;
  }

  /**
   * Loads the existing certificates; {@link ownPair} is known then.
   *
   * @throws StoreError
   */
  async prepare(): Promise<void> {
    await this.#account.ensure();
    // All earlier orders were this relay's, which starts over.
    if (this.#deps.alone) await this.#deps.store.releaseOrders();
    await this.#known.refresh();
    await this.#serveOwn();
  }

  /** Uses what another process of this relay was issued; stores it later if that one could not. Never rejects. */
  async follow({ certificate, isStored }: Issued): Promise<void> {
    this.#known.add(certificate, isStored);
    await this.#serveOwn();
  }

  /**
   * Starts to serve, and to order missing certificates; both ports are already open, so that an authority can reach
   * them.
   *
   * @param useOwn called with the relay's own certificate, and with each that replaces it
   */
  start(useOwn: UseOwn): void {
    this.#useOwn = useOwn;
    void this.#upkeep.start();
  }

  /**
   * A domain no longer belongs to an account: its certificate is removed, including one that another relay has stored
   * since the removal. Never rejects: if the store fails, a key that no relay uses is kept until its certificate ends.
   */
  async release(domain: string): Promise<void> {
    this.#known.forget(domain);
    try {
      await this.#deps.store.forgetCertificates([domain]);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
  }

  /**
   * Another relay has taken over both ports: fulfilled when earlier connections have been answered, and orders in
   * progress have ended. Only visitors whose handshakes have already begun can cause new ones.
   */
  async leave(): Promise<void> {
    this.#upkeep.stop();
    this.http.prependListener('request', (_request, response) => response.setHeader('Connection', 'close'));
    const closed = new Promise((resolve) => this.http.close(resolve));
    await Promise.all([closed, this.#deps.dns?.leave(), this.#orders.settled()]);
  }

  /** Abandons orders in progress. */
  async stop(): Promise<void> {
    this.#upkeep.stop();
    this.http.close();
    this.http.closeAllConnections();
    this.#deps.dns?.close();
    this.#close();
    const late = new Promise((resolve) => setTimeout(resolve, CERTIFICATES_STOP_MS).unref());
    await Promise.race([this.#orders.settled(), late]);
  }

  async #serveOwn(): Promise<void> {
    const { own, log } = this.#deps;
    const summary = this.#known.covering(own);
    if (summary === undefined || summary.storedAt === this.#ownStoredAt) return;
    try {
      const found = await this.#known.find(summary.name);
      // Several calls may have read it at the same time.
      if (found === undefined || found.storedAt === this.#ownStoredAt) return;
      this.#useOwn({ cert: found.chain, key: found.key });
      this.#ownStoredAt = found.storedAt;
      log('certificate loaded', { valid_to: new Date(found.notAfter).toISOString() });
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
  }
}

/* The port for plain HTTP: answers http-01 (RFC 8555 section 8.3), and redirects everything else to https. */

const CHALLENGE = /^\/\.well-known\/acme-challenge\/([\w-]{16,256})$/;
/** In origin form, with URL characters only. */
const TARGET = /^\/[\x21-\x7e]*$/;
const HOST = /^[\w.-]{1,253}(?::\d{1,5})?$/;

interface HttpPortDeps {
  readonly challenges: Pick<PresentedChallenges, 'find'>;
  /** whether this relay serves a host with https */
  readonly leadsHere: MayHave;
  /** port of https, if it is not 443 */
  readonly port: number | undefined;
  /** those of the other processes of this relay */
  readonly counts?: Counts;
}

/** @returns not bound yet */
export function httpPort(deps: HttpPortDeps): Server {
  const options = {
    maxHeaderSize: HTTP_PORT_HEAD_MAX_BYTES,
    headersTimeout: HTTP_PORT_REQUEST_MS,
    requestTimeout: HTTP_PORT_REQUEST_MS,
    keepAliveTimeout: HTTP_PORT_IDLE_MS,
    connectionsCheckingInterval: HTTP_PORT_IDLE_MS / 2,
  };
  const server = createServer(options, (request, response) => void respond(request, response, deps));
  const limits = { all: HTTP_PORT_CONNECTIONS_MAX, source: HTTP_PORT_ADDRESS_CONNECTIONS_MAX };
  new ConnectionCap(limits, (address) => networkOf(plainAddress(address)), {
    kind: 'http',
    counts: deps.counts ?? NO_COUNTS,
  }).guard(server);
  server.maxRequestsPerSocket = HTTP_PORT_REQUESTS_MAX;
  // Also ends connections that do not read their response.
  server.timeout = HTTP_PORT_REQUEST_MS;
  server.on('clientError', (_error, socket) => socket.destroy());
  // Out of file descriptors, for example: the next accept may succeed, and the relay continues.
  server.on('error', () => {});
  return server;
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  deps: HttpPortDeps,
): Promise<void> {
  request.on('error', () => request.destroy());
  response.on('error', () => request.destroy());
  // Bodies are not read.
  if (request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined)
    response.setHeader('Connection', 'close');
  const { host: given = '', target = '' } = { host: request.headers.host, target: request.url };
  if (!HOST.test(given) || !TARGET.test(target)) return say(response, 400, 'bad request');
  const host = certifiable(hostname(given));
  const token = CHALLENGE.exec(target)?.[1];
  if (token !== undefined && host !== undefined) {
    const found = (await deps.challenges.find('http-01', host)).find((one) => one.token === token);
    if (found !== undefined) return say(response, 200, found.keyAuthorization);
  }
  const isOurs = host !== undefined && (await Promise.resolve(deps.leadsHere(host)).catch(() => false));
  if (!isOurs) return say(response, 404, 'not found');
  const port = deps.port === undefined ? '' : `:${deps.port}`;
  response.setHeader('Location', `https://${host}${port}${target}`);
  say(response, 308, 'this relay is served with https');
}

function say(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(text);
}

/** ms until it is checked again whether a name without a renewal has returned. */
const NAME_GONE_LOOK_MS = 3_600_000;

/** ms until a certificate that the store rejected is stored again. */
const CERTIFICATE_STORE_RETRY_MS = 60_000;

/** ms between two checks for due renewals and for certificates stored by other relays. */
const CERTIFICATE_LOOK_MS = 10_000;

interface CertificateRenewalDeps {
  /** the relay's own name, which is always required */
  readonly own: string;
  /** see {@link Planning} */
  readonly always: () => ReturnType<Planning['always']>;
  /** otherwise it only follows what others have stored, and stores what visitors have had ordered here */
  readonly renews: boolean;
  readonly known: KnownCertificates;
  readonly orders: Pick<Orders, 'obtain' | 'obtainFor' | 'store'>;
  readonly planFor: PlanFor;
  readonly mayHave: MayHave;
  /** called after each check: certificates may have changed */
  readonly looked: () => Promise<void>;
  readonly clock: Clock;
}

/** Makes sure that required certificates exist, are renewed in time, and are removed when no longer needed. */
export class CertificateRenewal {
  readonly #deps: CertificateRenewalDeps;
  #timer: Timer | undefined;
  #stopped = false;
  /** by name, until when its renewal counts as not needed, wall time in ms */
  readonly #unneeded = new Map<string, number>();
  #storeAt = 0;

  constructor(deps: CertificateRenewalDeps) {
    this.#deps = deps;
  }

  /** @returns fulfilled after the first check; orders that it has started continue */
  async start(): Promise<void> {
    await this.#look(true);
    this.#scheduleNext();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #scheduleNext(): void {
    if (this.#stopped) return;
    this.#timer = this.#deps.clock.setTimeout(
      () => void this.#look(false).then(() => this.#scheduleNext()),
      CERTIFICATE_LOOK_MS,
    );
  }

  /**
   * @param isFirst whether to ignore earlier failures of required certificates, because their cause may have been
   *   fixed
   */
  async #look(isFirst: boolean): Promise<void> {
    const { known, renews, looked } = this.#deps;
    try {
      await known.refresh();
      if (renews) await known.removeEnded();
      await this.#storeAgain();
      if (renews) await this.#renew();
    } catch (error) {
      // The store itself reports the failure. Certificates in use stay in use.
      if (!(error instanceof StoreError)) throw error;
    }
    if (renews) void this.#ensure(isFirst);
    await looked();
  }

  /** Orders required certificates. Never rejects; the DNS may be slow to determine them. */
  async #ensure(isFirst: boolean): Promise<void> {
    const { own, always, known, orders, planFor, looked, clock } = this.#deps;
    for (const host of [own, ...(await always())]) {
      const summary = known.covering(host);
      if (summary === undefined || summary.renewAt <= clock.now())
        void orders.obtainFor(host, await planFor(host), 'upkeep', isFirst).then(looked);
    }
  }

  async #storeAgain(): Promise<void> {
    const { known, orders, clock } = this.#deps;
    if (clock.monotonic() < this.#storeAt) return;
    this.#storeAt = clock.monotonic() + CERTIFICATE_STORE_RETRY_MS;
    for (const certificate of known.unstored) await orders.store(certificate, 0);
  }

  async #renew(): Promise<void> {
    const { known, orders, planFor, mayHave, clock } = this.#deps;
    const now = clock.now();
    for (const { name, renewAt } of known.all()) {
      if (renewAt > now || (this.#unneeded.get(name) ?? 0) > now) continue;
      const plan = await planFor(name);
      // A different certificate may cover it by now.
      const isNeeded = plan.subject === name && (await mayHave(name));
      if (isNeeded) void orders.obtain(plan, 'upkeep');
      else this.#unneeded.set(name, now + NAME_GONE_LOOK_MS);
    }
    for (const [name, until] of this.#unneeded) if (until <= now) this.#unneeded.delete(name);
  }
}
