/** `import { expose } from '@culvert/culvert'`: opens tunnels for programs. Its public types are in types/index.d.ts. */
import { lookup } from 'node:dns';
import { EventEmitter } from 'node:events';
import type { LookupFunction } from 'node:net';
import { homedir } from 'node:os';
import { OPEN } from '../../shared/access.ts';
import { HEADER_NAMES_RULE, type HeaderChanges, HEADERS_RULE } from '../../shared/header-changes.ts';
import { COMPRESS_RULE, PORT_RULE, UPSTREAM_RULE, type ValueRule } from '../../shared/value-rules.ts';
import { ProcessHold, systemClock } from '../client/clock.ts';
import { claimNames } from '../client/config/claims.ts';
import { readRelayAccess, type RelayAccess } from '../client/config/relay-access.ts';
import { configFolder, StoredLogin } from '../client/config/stored-login.ts';
import { PROTOCOL_RULE, SPEC_DEFAULTS, type TunnelSettings } from '../client/config/tunnel-spec.ts';
import { describeFailure, describeWait } from '../client/failures.ts';
import { Host } from '../client/host/host.ts';
import type { ServedState, ServedTunnel } from '../client/host/served-tunnel.ts';
import type { RequestSummary } from '../client/inspector/records.ts';
import type { LocalTarget, RawMode } from '../client/local/local-service.ts';
import { textOf } from '../client/messages.ts';
import { lookupFor } from '../client/network/dial.ts';
import type { Network } from '../client/network/network.ts';
import { ApiClient } from '../client/relay/api-client.ts';
import { madeTokens } from '../client/relay/api-responses.ts';
import { createTunnelClient } from '../client/tunnel-client.ts';
import { type Exposable, isExposable, type Listening, listening } from './own-server.ts';
import type {
  expose as Expose,
  ExposeOptions,
  Tunnel,
  TunnelEvents,
  TunnelOptions,
} from './types/index.d.ts';

/**
 * How long the library waits until the relay has closed a tunnel, so that a failed test ends within 2 s. After
 * that, the tunnel remains at the relay until it expires.
 */
const LIBRARY_CLOSE_MS = 1500;

/** See types/index.d.ts. */
export const expose: typeof Expose = async (
  what: ExposeOptions | Exposable,
  given: TunnelOptions = {},
): Promise<Tunnel> => {
  if ((typeof what !== 'object' && typeof what !== 'function') || what === null)
    throw new TypeError('expose needs an object such as { port: 3000 }, a server or an app');
  if (isExposable(what)) return await open(await listening(what), given);
  const { port, host = 'localhost', https = false, upstream = 'http1' } = what;
  if (!PORT_RULE.accepts(port)) throw new TypeError(`port must be ${PORT_RULE.accepted}`);
  if (!UPSTREAM_RULE.accepts(upstream)) throw new TypeError(`upstream must be ${UPSTREAM_RULE.accepted}`);
  if (upstream === 'h2c' && https)
    throw new TypeError('upstream h2c is HTTP/2 without TLS: use h2 with https');
  const target = {
    port,
    host,
    https,
    upstream,
    raw: rawMode(what),
    unref() {},
    close: () => Promise.resolve(),
  };
  return await open(target, what);
};

/** Options of a tunnel that carries bytes instead of HTTP; all others are about HTTP. */
const RAW_OPTIONS: ReadonlySet<string> = new Set<keyof ExposeOptions>([
  'port',
  'host',
  'protocol',
  'remotePort',
  'proxyProtocol',
  'name',
  'ttl',
  'idle',
  'access',
  'relay',
  'key',
  'insecure',
  'signal',
]);

/** @returns `undefined` for HTTP. @throws TypeError */
function rawMode(options: ExposeOptions): RawMode | undefined {
  const { protocol = 'http', remotePort, proxyProtocol = false, access = {} } = options;
  if (!PROTOCOL_RULE.accepts(protocol)) throw new TypeError(`protocol must be ${PROTOCOL_RULE.accepted}`);
  if (remotePort !== undefined && protocol !== 'tcp') throw new TypeError('remotePort needs protocol tcp');
  if (remotePort !== undefined && !PORT_RULE.accepts(remotePort))
    throw new TypeError(`remotePort must be ${PORT_RULE.accepted}`);
  if (protocol === 'http') {
    if (proxyProtocol) throw new TypeError('proxyProtocol needs protocol tls or tcp');
    return undefined;
  }
  const given = Object.entries(options).filter(([, value]: [string, unknown]) => value !== undefined);
  for (const [name] of given)
    if (!RAW_OPTIONS.has(name)) throw new TypeError(`${name} is not available with protocol ${protocol}`);
  for (const name of Object.keys(access))
    if (name !== 'allow') throw new TypeError(`access.${name} is not available with protocol ${protocol}`);
  return { protocol, remotePort, proxyProtocol };
}

async function open(target: Listening, options: TunnelOptions): Promise<Tunnel> {
  const { signal } = options;
  try {
    signal?.throwIfAborted();
    const settings = settingsOf(target, options);
    checkAccess(options);
    const { relay, key, network } = accessTo(options);
    const connection = { relay, key, api: new ApiClient(relay, key, network) };
    const host = new Host({
      clock: systemClock,
      connect: (tunnel) => createTunnelClient({ ...tunnel, network }),
      connection: () => connection,
      warns: false,
    });
    const hold = new ProcessHold();
    const served = await hold.run(() => create(host, connection.api, settings, target, options));
    const tunnel = new OpenTunnel({ host, served, hold, target, network });
    const abort = (): void => void tunnel.close();
    signal?.addEventListener('abort', abort, { once: true });
    tunnel.once('offline', () => signal?.removeEventListener('abort', abort));
    // The signal may have been aborted while the tunnel was being created.
    if (signal?.aborted === true) abort();
    await connect(tunnel);
    return tunnel;
  } catch (error) {
    await target.close();
    signal?.throwIfAborted();
    throw error;
  }
}

/** @throws TypeError */
function settingsOf(target: Listening, options: TunnelOptions): TunnelSettings {
  const { name, wildcard = false, ttl, idle = false, hostHeader = 'keep', compress = 'auto' } = options;
  if (!COMPRESS_RULE.accepts(compress)) throw new TypeError(`compress must be ${COMPRESS_RULE.accepted}`);
  const changes = headersOf(options);
  const secret = target.secret === undefined ? [] : [target.secret];
  const { host, port, https, upstream = 'http1', raw } = target;
  return {
    ...SPEC_DEFAULTS,
    label: undefined,
    target: { host, port, https, waitMs: 0, upstream, hostHeader, raw },
    name,
    domain: undefined,
    wildcard,
    ttl,
    idle,
    headers: { ...changes, requestHeader: [...changes.requestHeader, ...secret] },
    compress,
  };
}

/**
 * Rejects what would silently leave a tunnel open, such as `password: process.env.MISSING`.
 *
 * @throws TypeError
 */
function checkAccess({ access = {} }: TunnelOptions): void {
  for (const [field, value] of Object.entries(access)) {
    if (!Object.hasOwn(OPEN, field))
      throw new TypeError(`access.${field} is not a field of an access policy`);
    if (value === undefined) throw new TypeError(`access.${field} must not be undefined`);
  }
}

/** @throws TypeError */
function headersOf({
  requestHeaders = {},
  removeRequestHeaders = [],
  responseHeaders = {},
  removeResponseHeaders = [],
}: TunnelOptions): HeaderChanges {
  return {
    requestHeader: checkedList('requestHeaders', headerLines(requestHeaders), HEADERS_RULE),
    removeRequestHeader: checkedList('removeRequestHeaders', removeRequestHeaders, HEADER_NAMES_RULE),
    responseHeader: checkedList('responseHeaders', headerLines(responseHeaders), HEADERS_RULE),
    removeResponseHeader: checkedList('removeResponseHeaders', removeResponseHeaders, HEADER_NAMES_RULE),
  };
}

function headerLines(headers: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
}

/** @throws TypeError */
function checkedList(option: string, list: readonly string[], rule: ValueRule): readonly string[] {
  if (!rule.accepts(list)) throw new TypeError(`${option} must be ${rule.accepted}`);
  return list;
}

/** Closes the tunnel at the relay if it does not get online. */
async function connect(tunnel: OpenTunnel): Promise<void> {
  try {
    await tunnel.online;
  } catch (error) {
    await tunnel.close();
    throw error;
  }
}

function accessTo({ relay, key, insecure }: TunnelOptions): RelayAccess {
  const { platform, env } = process;
  const stored = new StoredLogin(configFolder({ platform, env, home: homedir() }), (text) =>
    process.emitWarning(text),
  );
  return readRelayAccess({ options: { relay, key, insecure }, env, readLogin: () => stored.read() });
}

async function create(
  host: Host,
  api: ApiClient,
  settings: TunnelSettings,
  target: Listening,
  options: TunnelOptions,
): Promise<ServedTunnel> {
  const {
    allow = [],
    basic = [],
    password,
    links = false,
    knock = false,
    tokens = [],
    sign_in = [],
    oauth = false,
  } = options.access ?? {};
  const named = [...(options.tokens ?? []), ...tokens].map(({ name, token }) => ({ name, token }));
  const access = { allow, basic, password, links, knock, tokens: named, sign_in, oauth };
  const { name } = settings;
  try {
    const claims = await claimNames(api, [{ name, access }], { from: 'person' });
    return await host.create({
      settings,
      access,
      claim: claims.get(name ?? ''),
      patience: {
        clock: systemClock,
        interrupted: options.signal ?? new AbortController().signal,
        onWait: (ms) => process.emitWarning(describeWait(ms)),
      },
      target: { local: settings.target as LocalTarget, close: () => target.close() },
    });
  } catch (error) {
    throw new Error(describeFailure(error), { cause: error });
  }
}

/* One tunnel of a program, from its creation to its end. */

interface OpenTunnelOptions {
  readonly host: Host;
  readonly served: ServedTunnel;
  /** what keeps the process alive for its sake */
  readonly hold: ProcessHold;
  readonly target: Listening;
  readonly network: Network;
}

class OpenTunnel extends EventEmitter<TunnelEvents> implements Tunnel {
  readonly id: string;
  readonly url: string;
  readonly urls: Tunnel['urls'];
  readonly tokens: Readonly<Record<string, string>>;
  readonly #options: OpenTunnelOptions;
  readonly #online = Promise.withResolvers<void>();
  #closed: Promise<void> | undefined;

  constructor(options: OpenTunnelOptions) {
    super();
    const { served } = options;
    const { id, public_url, urls, access } = served.tunnelWithTokens;
    this.#options = options;
    this.id = id;
    this.url = public_url;
    this.urls = urls;
    this.tokens = Object.fromEntries(madeTokens(access).map(({ name, token }) => [name, token]));
    served.log.subscribe((summary) => this.#onRequest(summary));
    served.listen({
      onState: (state) => this.#onState(state),
      onExpiring: (_leftMs, why) =>
        process.emitWarning(
          `The tunnel ${served.tunnel.slug} could not be extended. ${describeFailure(why)}`,
        ),
    });
    // The caller may no longer be waiting for it.
    this.#online.promise.catch(() => {});
  }

  /** Once visitors can reach it. @throws Error if it does not get online */
  get online(): Promise<void> {
    return this.#online.promise;
  }

  fetch(target: string | URL = '/', init?: RequestInit): Promise<Response> {
    const isPath = typeof target === 'string' && target.startsWith('/');
    const { network } = this.#options;
    return fetchTunnel(new URL(isPath ? `${this.url}${target}` : target), network, init);
  }

  unref(): this {
    this.#options.hold.release();
    this.#options.target.unref();
    return this;
  }

  close(): Promise<void> {
    // The process stays until it is closed, even after `unref`.
    this.#closed ??= ProcessHold.outside(() => this.#close());
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const { host, served, target } = this.#options;
    // If the relay does not answer, the tunnel expires there.
    await host.close(served, LIBRARY_CLOSE_MS);
    await target.close();
  }

  #onState(state: ServedState): void {
    switch (state.name) {
      case 'connecting':
        break;
      case 'online':
        this.#online.resolve();
        this.#tell(() => this.emit('online'));
        break;
      case 'reconnecting':
        this.#tell(() => this.emit('reconnecting', textOf(state.why)));
        break;
      case 'ended':
        this.#online.reject(new Error(textOf(state.why)));
        this.#tell(() => this.emit('offline', textOf(state.why)));
        break;
    }
  }

  #onRequest({ method, target, status, durationMs, isBroken, messages }: RequestSummary): void {
    if (durationMs === undefined) return;
    this.#tell(() => this.emit('request', { method, target, status, durationMs, isBroken, messages }));
  }

  /** Calls a listener as if from a timer, so that one that throws does not stop what is under way. */
  #tell(emit: () => void): void {
    ProcessHold.outside(() => process.nextTick(emit));
  }
}

/**
 * Does what the global `fetch` does, trusts the authorities of `CULVERT_CA` as well, and connects to this machine for every
 * host that ends in `.localhost`, also after a redirect.
 *
 * @throws TypeError if there is no response; the reason of an aborted signal
 */
async function fetchTunnel(url: URL, network: Network, init?: RequestInit): Promise<Response> {
  if (!url.hostname.endsWith('.localhost') && network.trusted === undefined) return await fetch(url, init);
  const { default: Agent } = await import('undici/lib/dispatcher/agent.js');
  // A connection that is kept would hold the process.
  const agent = new Agent({ pipelining: 0, connect: { lookup: lookUp, secureContext: network.trusted } });
  return await fetch(url, {
    ...init,
    dispatcher: agent as unknown as NonNullable<RequestInit['dispatcher']>,
  });
}

const lookUp: LookupFunction = (host, options, found) => (lookupFor(host) ?? lookup)(host, options, found);
