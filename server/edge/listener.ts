/** The listener, with or without TLS. */
import { createPrivateKey, hkdfSync, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import {
  createSecureContext,
  createServer as createTlsServer,
  type SecureContext,
  type SecureContextOptions,
  type Server as TlsServer,
} from 'node:tls';
import { type Clock, systemClock, type Timer } from '../clock.ts';
import { KEEP_ALIVE_MS, Listeners } from '../listeners.ts';
import { describeError, type Log } from '../log.ts';
import { STORE_RETRY_MS, StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import type { HandshakeGuide } from './client-hello.ts';
import type { Tls } from './entrance.ts';
import { TLS_HANDSHAKE_TIMEOUT_MS } from './timeouts.ts';

/** How long the relay issues TLS session tickets with the same key. */
export const TICKET_KEY_MS = 24 * 3600_000;
/** How long a visitor can resume a TLS session without a full handshake. */
const SESSION_SECONDS = 12 * 3600;
/** Milliseconds between two checks of the certificate and key files. */
const TLS_RELOAD_MS = 5000;

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
  /** for its connections */
  readonly tls: Tls | undefined;
  /** keeps the certificate up to date; `undefined` without certificate files */
  readonly certificate: CertificateWatch | undefined;
  /** Sets the certificate for handshakes without a known host. */
  readonly useOwn: (pair: Pair) => void;
}

/** What TLS needs. */
interface Handshaking {
  /** with TLS */
  readonly tickets: TicketKeys | undefined;
  /** provides certificates; `undefined` if they are in files, or without TLS */
  readonly guide: HandshakeGuide | undefined;
  /** the certificate of the relay's own name, if the guide already has one */
  readonly pair: Pair | undefined;
}

/**
 * Opens the listener of a configuration.
 *
 * @param open binds it, when everything else is ready
 * @throws TlsFileError, or what `open` throws
 */
export async function listen(
  { tls, http2 }: { readonly tls: TlsFiles | undefined; readonly http2: boolean },
  { tickets, guide, pair: known }: Handshaking,
  log: Log,
  open: (server: Server) => Promise<void>,
): Promise<Listening> {
  if (tls === undefined && guide === undefined) {
    const server = createServer(OPTIONS);
    await open(server);
    return { server, tls: undefined, certificate: undefined, useOwn: () => {} };
  }
  const files = tls && (await readKeyPair(tls));
  // Only until the handshake is done: a peer that ends before that will not send anything else.
  const server = createServer({ ...OPTIONS, allowHalfOpen: false });
  const secure = tlsServer(files ?? known, tickets, guide, http2 ? ['h2', 'http/1.1'] : ['http/1.1']);
  const useNext = (next: Pair): void => secure.setSecureContext(contextOf(next, tickets));
  const certificate = tls && files && new CertificateWatch(tls, files, useNext, systemClock, log);
  await open(server);
  // Not awaited: it reports a certificate that is outside its time, and there is no other.
  void certificate?.reload();
  certificate?.start();
  return { server, tls: { server: secure, guide }, certificate, useOwn: useNext };
}

type UseContext = (error: null, context: SecureContext | undefined) => void;

/**
 * @param guide provides further certificates; optional
 * @param ALPNProtocols offered protocols, by preference (RFC 7301)
 */
function tlsServer(
  pair: Pair | undefined,
  tickets: TicketKeys | undefined,
  guide: HandshakeGuide | undefined,
  ALPNProtocols: string[],
): TlsServer {
  const server = createTlsServer({
    ...contextOf(pair, tickets),
    handshakeTimeout: TLS_HANDSHAKE_TIMEOUT_MS,
    ALPNProtocols,
    ...(guide && { SNICallback: (name: string, use: UseContext) => use(null, guide.context(name)) }),
  });
  // A peer that does not speak TLS, or is too slow.
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
 * Binds the listener. Connections arrive only once the caller has yielded, so an {@link Edge} created synchronously
 * misses none.
 *
 * @param port 0 picks a free one
 * @throws the system's error if the address is in use or not local
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

/* The certificate and key the relay serves TLS with, read from the operator's files. */

/** The path of a file, and the setting that named it. */
export interface TlsFile {
  readonly path: string;
  /** the variable or flag, for messages */
  readonly setting: string;
}

interface TlsFiles {
  /** PEM, with the intermediate certificates after the relay's own */
  readonly cert: TlsFile;
  /** PEM, without a passphrase */
  readonly key: TlsFile;
}

/** A certificate and its matching key. */
interface KeyPair {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** ms since the epoch */
  readonly validFrom: number;
  readonly validTo: number;
}

/** A file is missing or has the wrong content; the text names its setting and what that accepts. */
export class TlsFileError extends Error {
  constructor(file: TlsFile, takes: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`${file.setting} must be ${takes}: ${file.path}: ${why}`);
    this.name = 'TlsFileError';
  }
}

/** @throws TlsFileError */
export async function readKeyPair(files: TlsFiles): Promise<KeyPair> {
  const takesCert = 'the path of a PEM file with the certificate and its intermediate certificates';
  const takesKey = `the path of a PEM file with the private key for ${files.cert.setting}, without a passphrase`;
  const cert = await read(files.cert, takesCert);
  const key = await read(files.key, takesKey);
  const parsed = attempt(files.cert, takesCert, () => new X509Certificate(cert));
  const privateKey = attempt(files.key, takesKey, () => createPrivateKey(key));
  attempt(files.key, takesKey, () => mustFit(parsed, privateKey));
  attempt(files.cert, takesCert, () => createSecureContext({ cert, key }));
  const [validFrom, validTo] = [Date.parse(parsed.validFrom), Date.parse(parsed.validTo)];
  return { cert, key, validFrom, validTo };
}

/** @returns why visitors would refuse the certificate now; `undefined` if its time is right */
export function outsideItsTime({ validFrom, validTo }: KeyPair, now: number): string | undefined {
  if (now >= validTo) return `it expired at ${new Date(validTo).toISOString()}`;
  return now < validFrom ? `it is not valid before ${new Date(validFrom).toISOString()}` : undefined;
}

/**
 * Reads trusted authorities.
 *
 * @returns each in PEM
 * @throws TlsFileError
 */
export async function readAuthorities(file: TlsFile): Promise<readonly string[]> {
  const takes = "the path of a PEM file with certificate authorities' certificates";
  const text = (await read(file, takes)).toString('latin1');
  const list = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return attempt(file, takes, () => {
    if (list.length === 0) throw new Error('it contains no certificate');
    return list.map((pem) => new X509Certificate(pem).toString());
  });
}

async function read(file: TlsFile, takes: string): Promise<Buffer> {
  try {
    return await readFile(file.path);
  } catch (error) {
    throw new TlsFileError(file, takes, error);
  }
}

function attempt<T>(file: TlsFile, takes: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new TlsFileError(file, takes, error);
  }
}

function mustFit(cert: X509Certificate, key: KeyObject): void {
  if (!cert.checkPrivateKey(key)) throw new Error('it is the key for a different certificate');
}

/* Picks up a renewed certificate without a restart. */

/**
 * Reads the files every {@link TLS_RELOAD_MS}, because the system's notifications miss files that are replaced by a
 * rename or behind a symbolic link. If a pair is invalid, outside its time, or only half renewed, the previous one stays
 * in use.
 */
export class CertificateWatch {
  readonly #files: TlsFiles;
  readonly #use: (pair: KeyPair) => void;
  readonly #clock: Clock;
  readonly #log: Log;
  #current: KeyPair;
  /** the last problem with the files */
  #problem = '';
  #timer: Timer | undefined;
  #looking: Promise<void> = Promise.resolve();

  /**
   * @param current the pair in use
   * @param use called with each new pair
   */
  constructor(files: TlsFiles, current: KeyPair, use: (pair: KeyPair) => void, clock: Clock, log: Log) {
    this.#files = files;
    this.#current = current;
    this.#use = use;
    this.#clock = clock;
    this.#log = log;
  }

  start(): void {
    this.#timer = this.#clock.setTimeout(() => void this.#lookAndGoOn(), TLS_RELOAD_MS);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Remaining seconds of the certificate in use; negative once it has expired. */
  get secondsLeft(): number {
    return (this.#current.validTo - this.#clock.now()) / 1000;
  }

  /** Reads the files now. Never rejects. */
  reload(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#look());
    return this.#looking;
  }

  async #lookAndGoOn(): Promise<void> {
    await this.reload();
    if (this.#timer !== undefined) this.start();
  }

  async #look(): Promise<void> {
    try {
      const pair = await readKeyPair(this.#files);
      const fault = outsideItsTime(pair, this.#clock.now());
      if (fault !== undefined)
        throw new Error(`${this.#files.cert.setting}: ${this.#files.cert.path}: ${fault}`);
      this.#problem = '';
      if (pair.cert.equals(this.#current.cert) && pair.key.equals(this.#current.key)) return;
      this.#use(pair);
      this.#current = pair;
      this.#log('certificate loaded', { valid_to: new Date(pair.validTo).toISOString() });
    } catch (error) {
      const problem = describeError(error);
      if (problem !== this.#problem) this.#log('certificate refused', { reason: problem });
      this.#problem = problem;
    }
  }
}

/* Shared settings of all certificate contexts, so that a session of one handshake can be resumed in the next. */

export const SESSIONS: SecureContextOptions = {
  minVersion: 'TLSv1.2',
  // The default depends on the arguments of the command, so sessions of relays started otherwise could not be resumed.
  sessionIdContext: 'culvert',
  sessionTimeout: SESSION_SECONDS,
};

/*
 * The key of session tickets (RFC 5077, RFC 8446 section 4.6.1): all relays on a database share it, also across a
 * restart, so visitors return without another full handshake. It changes each day and the previous one is forgotten,
 * because its owner could decrypt recorded sessions of TLS 1.2 (docs/decisions/0018-certificates.md).
 */

/** As `setTicketKeys` expects: a name, and keys to sign and to encrypt with. */
const KEY_BYTES = 48;
const SECRETS = 'session tickets ';
/** ms that clocks of relays may differ, so that none removes what another has just created. */
const CLOCK_DIFFERENCE_MS = 60 * 60_000;

interface TicketKeysOptions {
  readonly store: Pick<Store, 'relaySecret' | 'removeSecrets'>;
  readonly clock: Clock;
}

export class TicketKeys {
  readonly #options: TicketKeysOptions;
  #current = Buffer.alloc(0);
  #changed = (_key: Buffer): void => {};
  #timer: Timer | undefined;
  #isStopped = false;

  private constructor(options: TicketKeysOptions) {
    this.#options = options;
  }

  /** @throws StoreError */
  static async start(options: TicketKeysOptions): Promise<TicketKeys> {
    const keys = new TicketKeys(options);
    await keys.#load();
    keys.#arm(keys.#untilNext());
    return keys;
  }

  /** As `setTicketKeys` expects it. */
  get current(): Buffer {
    return this.#current;
  }

  /** @param changed called with each key from the next one on */
  follow(changed: (key: Buffer) => void): void {
    this.#changed = changed;
  }

  /** Adopts a key that another program has renewed. @throws StoreError */
  async reload(): Promise<void> {
    const before = this.#current;
    await this.#load();
    if (!this.#current.equals(before)) this.#changed(this.#current);
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #untilNext(): number {
    return TICKET_KEY_MS - (this.#options.clock.now() % TICKET_KEY_MS);
  }

  #arm(ms: number): void {
    if (!this.#isStopped) this.#timer = this.#options.clock.setTimeout(() => void this.#renew(), ms);
  }

  async #renew(): Promise<void> {
    try {
      await this.#load();
      this.#changed(this.#current);
      this.#arm(this.#untilNext());
    } catch (error) {
      // The store itself reports the failure. Until it works again, the present key stays in use.
      if (!(error instanceof StoreError)) throw error;
      this.#arm(STORE_RETRY_MS);
    }
  }

  async #load(): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock.now();
    const period = Math.floor(now / TICKET_KEY_MS);
    const secret = await store.relaySecret(`${SECRETS}${period}`, now);
    await store.removeSecrets(SECRETS, period * TICKET_KEY_MS - CLOCK_DIFFERENCE_MS);
    this.#current = Buffer.from(hkdfSync('sha256', secret, '', 'session tickets', KEY_BYTES));
  }
}
