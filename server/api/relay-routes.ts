/** Routes of the relay itself, of the account behind a key, and of WebSockets that were asked for without an upgrade. */
import { PENDING_TIMEOUT_MS, PING_INTERVAL_MS, PONG_TIMEOUT_MS } from '../../shared/control.ts';
import { formatDuration } from '../../shared/duration.ts';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import type { JsonObject } from '../../shared/fields.ts';
import { isHostName } from '../../shared/networks.ts';
import { ACCOUNT, type Account, type TtlLimits } from '../../shared/tunnel.ts';
import { PLAN_RULES, ttlLimitsOf } from '../accounts/accounts.ts';
import { namePrefix } from '../accounts/api-keys.ts';
import type { Timer } from '../clock.ts';
import type { AccountRecord, KeyScope } from '../store/records.ts';
import { orUnavailable, STORE_RETRY_AFTER_SECONDS } from '../store/store-errors.ts';
import { ANY_KEY_ERRORS, type ApiDeps, type Route, statusOf } from './route.ts';
import { CREATES_PER_MINUTE, CREATE_BURST } from './scheduler.ts';

/** How long the database has to answer a readiness probe; the prober itself waits a few seconds. */
export const READY_TIMEOUT_MS = 2000;

const HEALTHY = statusOf('ok', 'Healthy');
const READY = statusOf('ready', 'Ready');
const SERVED = statusOf('served', 'Served');

/** @param document the OpenAPI document */
export function relayRoutes(
  { store, ttl, admin, clock, isDraining, isNamed, signIn }: ApiDeps,
  document: () => JsonObject,
): Route[] {
  async function readiness(): Promise<void> {
    if (isDraining()) throw notReady();
    let timer: Timer | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = clock.setTimeout(() => reject(notReady()), READY_TIMEOUT_MS);
    });
    try {
      await Promise.race([orUnavailable(store.ping()), late]);
    } finally {
      timer?.cancel();
    }
  }

  return [
    {
      call: 'get /v1/account',
      id: 'getAccount',
      tag: 'Account',
      summary: "Get the key's account and its limits",
      caller: 'anyKey',
      results: { 200: ['The account.', ACCOUNT.schema] },
      handle: (ctx) =>
        viewAccount(ctx.state.account, ctx.state.caller.scope, { ...ttl, ...admin }, signIn.offered),
    },
    {
      call: 'get /v1/ask',
      id: 'askForName',
      tag: 'Relay',
      summary: 'Check whether the relay serves a host',
      description:
        'Meant for proxies that order certificates on demand. The response is 200 for the host of the relay, of a live tunnel or of a verified domain, ' +
        'but not for the other hosts of wildcard tunnels and domains, which need a wildcard certificate. ' +
        "Only programs on the relay's own machine and trusted proxies can use this call; all others get 404.",
      query: { domain: 'the host' },
      caller: 'anybody',
      results: { 200: ['It is.', SERVED.schema] },
      errors: ['notFound', 'unavailable'],
      // Other senders get 404, so that they cannot enumerate names cheaply.
      async handle(ctx) {
        // The edge adds the field unless the request comes from this machine or a trusted proxy.
        if (ctx.req.headers['x-forwarded-for'] !== undefined) throw new ApiError(API_ERRORS.notFound);
        const { domain } = ctx.query;
        if (typeof domain !== 'string' || !isHostName(domain)) throw new ApiError(API_ERRORS.notFound);
        if (!(await orUnavailable(Promise.resolve(isNamed(domain))))) throw new ApiError(API_ERRORS.notFound);
        return SERVED.body;
      },
    },
    {
      call: 'get /v1/openapi.json',
      id: 'getOpenApi',
      tag: 'Relay',
      summary: 'Get the OpenAPI document',
      caller: 'anybody',
      results: { 200: ['OpenAPI 3.1.', { title: 'Document', type: 'object', description: 'OpenAPI 3.1' }] },
      handle: document,
    },
    {
      call: 'get /healthz',
      id: 'getHealth',
      tag: 'Relay',
      summary: 'Check that the process is running',
      caller: 'anybody',
      results: { 200: ['The process is running.', HEALTHY.schema] },
      handle: () => HEALTHY.body,
    },
    {
      call: 'get /readyz',
      id: 'getReadiness',
      tag: 'Relay',
      summary: 'Check that the relay is ready',
      caller: 'anybody',
      results: { 200: ['The relay is ready.', READY.schema] },
      errors: ['unavailable'],
      async handle() {
        await readiness();
        return READY.body;
      },
    },
    {
      call: 'get /ws/control',
      id: 'openControlSocket',
      tag: 'WebSockets',
      summary: "Open a tunnel's control WebSocket",
      description:
        'The relay sends a text message `{"type":"connection","id":"<UUID>"}` for each inbound connection; clients must ignore ' +
        `types that they do not know. It pings every ${PING_INTERVAL_MS / 1000} s and disconnects a client that has not answered after ` +
        `${PONG_TIMEOUT_MS / 1000} s. A tunnel's newest control socket replaces older ones. Close codes: 1001: the relay is shutting down, so reconnect; ` +
        "4000: replaced by a newer control socket; 4001: the tunnel was closed; 4002: the tunnel expired; 4003: the key is no longer valid, as the close reason explains; 4004: the tunnel's domain no longer belongs to its account; 4005: the account is suspended for the reason given.",
      query: { tunnel_id: "the tunnel's `id`" },
      caller: 'anybody',
      results: { 101: ['The control WebSocket.'] },
      errors: ['missingTunnelId', ...UPGRADE_ERRORS, 'tunnelNotFound'],
      handle: requireUpgrade,
    },
    {
      call: 'get /ws/data',
      id: 'openDataSocket',
      tag: 'WebSockets',
      summary: 'Open the data WebSocket for one inbound connection',
      description:
        'Binary messages carry the bytes of the connection in both directions, starting with ' +
        `the bytes of the request; message boundaries have no meaning. An \`id\` works once, within ${PENDING_TIMEOUT_MS / 1000} s and ` +
        'needs no key; if a key is sent, it must belong to the owner. Close the socket with code 1000 after a complete response; any other code tells the relay that the response is incomplete.',
      query: { id: 'the `id` from a `connection` message' },
      caller: 'anybody',
      results: { 101: ['The data WebSocket.'] },
      errors: ['missingId', ...UPGRADE_ERRORS, 'connectionNotFound'],
      handle: requireUpgrade,
    },
    {
      call: 'get /ws/trunk',
      id: 'openTrunk',
      tag: 'WebSockets',
      summary: "Open a connection that a tunnel's visitors share, for Culvert's own client",
      description:
        'While one is open, the relay may send inbound connections through it instead of announcing them. Section 10 of the ' +
        'protocol describes its frames. Trunks are optional and only improve speed.',
      query: { tunnel_id: "the tunnel's `id`" },
      caller: 'anybody',
      results: { 101: ['The trunk.'] },
      errors: [
        'missingTunnelId',
        ...UPGRADE_ERRORS,
        'notFound',
        'tunnelNotFound',
        'tunnelNotConnected',
        'tooManyTrunks',
      ],
      handle: requireUpgrade,
    },
  ];
}

/** Upgrades check the key themselves (protocol.md section 5.4). */
const UPGRADE_ERRORS = [
  'invalidHandshake',
  ...ANY_KEY_ERRORS,
  'upgradeRequired',
  'tooManySockets',
  'unavailable',
] as const;

/** Real upgrades never get here; `Upgrade` says what is missing (RFC 9110 section 15.5.22). */
function requireUpgrade(): never {
  throw new ApiError(API_ERRORS.upgradeRequired, { Upgrade: 'websocket', Connection: 'Upgrade' });
}

function notReady(): ApiError {
  return new ApiError(API_ERRORS.unavailable, { 'Retry-After': String(STORE_RETRY_AFTER_SECONDS) });
}

/**
 * @param relay what it allows everybody
 * @param provider name of the identity provider, if there is one
 */
function viewAccount(
  { id, name, plan, subdomain }: AccountRecord,
  scope: KeyScope,
  relay: TtlLimits & { readonly nameHold: number },
  provider: string | undefined,
): Account {
  const { defaultTtl, maxTtl } = ttlLimitsOf(plan, relay, scope);
  const { maxTunnels, maxConnections, maxDomains, maxTcp } = PLAN_RULES[plan];
  return {
    client_id: id,
    name,
    plan,
    subdomain,
    limits: {
      default_ttl: formatDuration(defaultTtl),
      max_ttl: formatDuration(maxTtl),
      creates_per_minute: CREATES_PER_MINUTE,
      create_burst: CREATE_BURST,
      max_tunnels: maxTunnels,
      max_connections: maxConnections,
      max_domains: maxDomains,
      max_tcp_tunnels: maxTcp,
      name_hold: formatDuration(relay.nameHold),
    },
    ...(provider !== undefined && { sign_in: { name: provider } }),
    agent_key: scope.kind === 'agent' ? { name_prefix: namePrefix(scope) } : null,
  };
}
