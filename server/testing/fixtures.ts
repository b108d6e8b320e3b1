/** The REST interface on a free port, with a store in memory and a clock that stands still. */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OPEN } from '../../shared/access.ts';
import { LinkTokens } from '../access/passes.ts';
import { PasswordHashes } from '../access/password-hashes.ts';
import { issueKey, type NewKey } from '../accounts/accounts.ts';
import { hashKey } from '../accounts/api-keys.ts';
import { Authenticator } from '../accounts/authenticator.ts';
import { Logins } from '../accounts/logins.ts';
import { type Caller, Invitations } from '../accounts/team.ts';
import { createApi } from '../api/app.ts';
import { ACCOUNT_WRITES_MAX, API_WRITES_MAX } from '../api/scheduler.ts';
import { Downloads } from '../downloads/downloads.ts';
import type { DnsAnswer, DnsLookup } from '../domains/domain-check.ts';
import { DomainService } from '../domains/domain-service.ts';
import { HeldDomains } from '../domains/domain-watch.ts';
import { VerifiedDomains } from '../domains/verified-domains.ts';
import type { Log, LogEvent, LogFields } from '../log.ts';
import { RateLimiter } from '../rate-limiter.ts';
import type {
  AccountRecord,
  AgentRecord,
  ChallengeRecord,
  DomainRecord,
  InvitationRecord,
  KeyRecord,
  KeptName,
  LinkRecord,
  OwnedTunnel,
  StoredAccess,
  TunnelRecord,
} from '../store/records.ts';
import type { TrafficDelta, TunnelTerms } from '../store/queries/tunnel-changes.ts';
import { openSqlite } from '../store/sqlite/open-sqlite.ts';
import { ConflictError, FullError, StoreError } from '../store/store-errors.ts';
import type { OAuthDeps } from '../oauth/oauth-routes.ts';
import type { Store } from '../store/store.ts';
import { storedTunnels } from '../tunnels/coordination.ts';
import { KeptNames } from '../tunnels/kept-names.ts';
import { TunnelApprovals, TunnelLinks } from '../tunnels/links-and-approvals.ts';
import { TunnelAgents } from '../tunnels/tunnel-agents.ts';
import { TunnelRegistry } from '../tunnels/registry.ts';
import { type NewTunnel, TunnelService, type TunnelServiceDeps } from '../tunnels/tunnel-service.ts';
import { Turnstile } from '../turnstile.ts';
import { FakeClock } from './fake-clock.ts';
import { noSignIn } from './fake-provider.ts';

export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

export class ApiFixture {
  readonly clock = new FakeClock();
  /** groups whose later requests the test lets start */
  readonly turns: string[] = [];
  readonly logged: [event: LogEvent, fields: LogFields][] = [];
  readonly #test: TestStore;
  readonly tunnels: TunnelService;
  readonly knocks: TunnelApprovals;
  readonly #server: Server;
  readonly writes = new Turnstile({ atOnce: { all: API_WRITES_MAX, group: ACCOUNT_WRITES_MAX } });
  /** folder of the programs that the relay hands out */
  readonly downloads = join(tmpdir(), randomUUID());
  /** delays the hashing of passwords */
  hashGate: Promise<void> = Promise.resolve();
  readonly #hashes = new PasswordHashes(async (password, salt) => {
    await this.hashGate;
    return createHash('sha256').update(salt).update(password).digest();
  });
  draining = false;
  /** ids of the tunnels whose client is connected */
  readonly online = new Set<string>();
  /** answers of the DNS, by name and type; empty for others */
  readonly dns = new Map<string, DnsAnswer>();
  /** delays those answers */
  dnsGate: Promise<void> = Promise.resolve();
  /** called for each DNS lookup */
  onLookup: () => void = () => {};
  readonly lookup: DnsLookup = async (name, type) => {
    this.onLookup();
    await this.dnsGate;
    return this.dns.get(`${name} ${type}`) ?? { kind: 'none', exists: false };
  };
  /** Called with each valid key. */
  onKeyUse: () => void = () => {};
  /** The store's answer to a readiness probe. */
  ping: () => Promise<void>;

  get store(): Store {
    return this.#test.store;
  }

  /** @param accounts accounts that exist */
  static async start(...accounts: readonly AccountRecord[]): Promise<ApiFixture> {
    const fixture = new ApiFixture(await aStore(...accounts));
    await new Promise<void>((resolve) => fixture.#server.listen(0, '127.0.0.1', resolve));
    return fixture;
  }

  private constructor(test: TestStore) {
    this.#test = test;
    const { store } = test;
    this.ping = () => store.ping();
    const log: Log = (event, fields = {}) => void this.logged.push([event, fields]);
    const registry = new TunnelRegistry(new Set(['www']));
    const ttl = { defaultTtl: 3600, maxTtl: 604_800 };
    this.tunnels = aTunnelService({ store, registry, clock: this.clock, log, ttl });
    this.knocks = new TunnelApprovals({ tunnels: this.tunnels, store, clock: this.clock, log });
    const deps = {
      authenticator: new Authenticator(store, this.clock, { note: () => this.onKeyUse() }),
      tunnels: this.tunnels,
      knocks: this.knocks,
      links: new TunnelLinks({
        tunnels: this.tunnels,
        store,
        clock: this.clock,
        log,
        tokens: new LinkTokens(() => ({ current: 'secret', others: [] })),
      }),
      // None of its requests gets there.
      oauth: {} as OAuthDeps,
      agents: new TunnelAgents({ tunnels: this.tunnels, registry, store, clock: this.clock, log }),
      clients: { online: () => Promise.resolve(this.online) },
      domains: this.#domainService(store, log),
      names: new KeptNames({ store, tunnels: this.tunnels, registry, clock: this.clock, log, nameHold: 0 }),
      turns: { next: (group: string) => Promise.resolve(void this.turns.push(group)) },
      writes: this.writes,
      hashes: this.#hashes,
      signIn: noSignIn(this.clock),
      logins: new Logins({
        accounts: [],
        seals: () => assert.fail('nobody signs in'),
        store,
        clock: this.clock,
        once: { take: () => 0 },
      }),
      heard: () => Promise.resolve(),
      creates: new RateLimiter(this.clock, { perMinute: 10, burst: 5 }),
      store: { ping: () => this.ping() },
      ttl,
      addresses: {
        publicUrl: new URL('http://localhost:8080'),
        tunnelDomain: 'localhost',
        serviceDomain: 'localhost',
        pathForm: true,
      },
      clock: this.clock,
      invitations: new Invitations({ store, clock: this.clock, log, limit: (local) => local }),
      contact: undefined,
      downloadPage: undefined,
      downloads: new Downloads(this.downloads),
      admin: {
        store,
        nameHold: 0,
        own: {
          reservedNames: new Set(['www']),
          serviceDomain: 'localhost',
          tunnelDomain: 'localhost',
          publicUrl: undefined,
        },
      },
      isDraining: () => this.draining,
      isNamed: (host: string) => host === 'known.test',
    };
    this.#server = createServer(createApi(deps, log));
  }

  #domainService(store: Store, log: Log): DomainService {
    const { clock, lookup } = this;
    const verified = new VerifiedDomains(store, clock);
    const { coordination } = this.tunnels;
    const held = new HeldDomains({ store, clock, verified, coordination, tellPeers: undefined, nameHold: 0 });
    const own = { host: 'relay.example', tunnelDomain: 'localhost', serviceDomain: 'localhost' };
    const calls = new RateLimiter(clock, { perMinute: 20, burst: 10 });
    const answersDns = false;
    return new DomainService({
      store,
      clock,
      log,
      lookup,
      own,
      answersDns,
      held,
      calls,
      writes: this.writes,
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Whether the store fails. */
  set storeDown(down: boolean) {
    this.#test.down = down;
  }

  /** @returns a new key of an account, for the whole account by default */
  async keyOf(account: AccountRecord, wanted: NewKey = {}): Promise<string> {
    return (await issueKey(this.#test.store, this.clock, account, wanted)).key;
  }

  async revoke(key: string): Promise<void> {
    const owner = await this.#test.store.findKeyOwner(hashKey(key));
    await this.#test.store.revokeKey(owner?.keyId ?? assert.fail('unknown key'), this.clock.now());
  }

  /** Sends a request, optionally with a key and with fields as JSON. */
  async call(method: string, path: string, key?: string, fields?: object): Promise<ApiResponse> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers: key === undefined ? {} : { Authorization: `Bearer ${key}` },
      ...(fields !== undefined && { body: JSON.stringify(fields) }),
    });
    const text = await response.text();
    if (method !== 'HEAD') {
      assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
    }
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? {} : (JSON.parse(text) as ApiResponse['body']),
    };
  }

  /** @returns how many of the writes that an account may have at a time begin now */
  async beginWrites({ id }: AccountRecord): Promise<number> {
    let begun = 0;
    for (let each = 0; each < ACCOUNT_WRITES_MAX; each += 1)
      void this.writes.run(id, () => Promise.resolve((begun += 1)));
    await new Promise((resolve) => setImmediate(resolve));
    return begun;
  }

  async stop(): Promise<void> {
    await this.tunnels.stop();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.#test.store.close();
  }
}

export function codeOf({ status, body }: ApiResponse): string {
  return `${status} ${String(body['code'])}`;
}

export function anAccount(fields: Partial<AccountRecord> = {}): AccountRecord {
  const id = randomUUID();
  return {
    id,
    name: `account ${id}`,
    plan: 'dev',
    subdomain: null,
    createdAt: 1000,
    suspended: null,
    ...fields,
  };
}

/** A key record that matches no real key. */
export function aKeyRecord(fields: Partial<KeyRecord> = {}): KeyRecord {
  const id = randomUUID();
  return {
    id,
    accountId: '',
    hash: id,
    hint: 'cvt_hint',
    createdAt: 1000,
    label: '',
    expiresAt: null,
    scope: { kind: 'all' },
    ...fields,
  };
}

/** The key of a test's requests. */
export const CALLER: Caller = { keyId: 'key', label: '', scope: { kind: 'all' } };

/** An access policy without any requirements except the given fields. */
export function anAccess(fields: Partial<StoredAccess> = {}): StoredAccess {
  return { version: randomUUID(), ...OPEN, basic: [], tokens: [], password: null, ...fields };
}

/** No access policy. */
export const PUBLIC = { access: null, kept: [] };

/** No approval requests. */
const NOBODY = { knocks: null, knocksRevision: 0, suspended: null };

export function aTunnel(accountId: string, fields: Partial<TunnelRecord> = {}): TunnelRecord {
  const id = randomUUID();
  const counters = { bytesIn: 0, bytesOut: 0, requests: 0 };
  const visitors = { access: null, accessRevision: 0, revokedLinks: [], tokenUses: [], ...NOBODY };
  const life = { ttl: 3600, idle: false, createdAt: 1000, expiresAt: 3_601_000, termsRevision: 0 };
  return {
    id,
    slug: `slug-${id}`,
    name: '',
    accountId,
    localPort: 3000,
    ...life,
    ...counters,
    ...visitors,
    domain: null,
    createdKey: null,
    createdBy: null,
    byAgent: false,
    wildcard: false,
    protocol: 'http',
    remotePort: null,
    linkScope: id,
    linksSince: life.createdAt,
    ...fields,
  };
}

/** An agent whose code can be exchanged. */
export function anAgent(
  { accountId, slug }: Pick<TunnelRecord, 'accountId' | 'slug'>,
  fields: Partial<AgentRecord> = {},
): AgentRecord {
  const code = {
    hash: 'code',
    endsAt: 61_000,
    challenge: 'challenge',
    redirectUri: 'https://app.test/back',
    resource: 'https://mcp.test/',
    isUsed: false,
  };
  return {
    id: randomUUID().replaceAll('-', '').slice(0, 16),
    accountId,
    slug,
    clientHash: 'client',
    name: 'App',
    host: 'app.test',
    returnsTo: 'app.test',
    person: null,
    createdAt: 1000,
    firstUsedAt: null,
    lastUsedAt: null,
    endsAt: 61_000,
    code,
    refresh: null,
    accessTokens: [],
    ...fields,
  };
}

export function aKeptName(accountId: string, name: string, fields: Partial<KeptName> = {}): KeptName {
  const links = { linkScope: randomUUID(), linksSince: 2000 };
  return { name, accountId, createdAt: 2000, away: null, until: null, ...links, ...fields };
}

/** @param linkScope the id of a tunnel from aTunnel */
export function aLink(linkScope: string, fields: Partial<LinkRecord> = {}): LinkRecord {
  const id = randomUUID().replaceAll('-', '').slice(0, 16);
  return {
    id,
    linkScope,
    note: 'for the review',
    path: null,
    once: false,
    usedAt: null,
    usedBy: null,
    createdAt: 1000,
    expiresAt: 3_601_000,
    revokedAt: null,
    ...fields,
  };
}

/** The terms under which a client takes a tunnel over. */
export function theTerms(fields: Partial<TunnelTerms> = {}): TunnelTerms {
  const creator = { createdKey: null, createdBy: null, byAgent: false };
  return { localPort: 4000, ttl: 60, idle: false, expiresAt: 500, wildcard: false, ...creator, ...fields };
}

/** Traffic of a tunnel that is to be stored. */
export function aDelta(id: string, fields: Partial<TrafficDelta> = {}): TrafficDelta {
  return { id, bytesIn: 0, bytesOut: 0, requests: 0, expiresAt: 0, termsRevision: 0, ...fields };
}

export function anInvitation(accountId: string, fields: Partial<InvitationRecord> = {}): InvitationRecord {
  const id = randomUUID();
  return { id, accountId, hash: id, label: '', createdAt: 0, expiresAt: 5000, ...fields };
}

/** A requested tunnel without an access policy. */
export function aWish(fields: Partial<NewTunnel> = {}): NewTunnel {
  const life = { localPort: 3000, name: '', ttl: 3600, idleTtl: false, domain: '', wildcard: false };
  const wish = { ...life, protocol: 'http' as const, remotePort: undefined };
  return { ...wish, access: PUBLIC, caller: CALLER, ...fields };
}

/** The tunnels of a relay, which tells nobody what becomes of them unless the test says so. */
export function aTunnelService(
  deps: Pick<TunnelServiceDeps, 'store' | 'clock'> & Partial<TunnelServiceDeps>,
): TunnelService {
  return new TunnelService({
    registry: new TunnelRegistry(new Set()),
    log: () => {},
    ttl: { defaultTtl: 3600, maxTtl: 604_800 },
    nameHold: 0,
    onAccess() {},
    onEnd() {},
    ...deps,
  });
}

/** Waits for the answers of a store in memory. */
export async function storeAnswers(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A claim to a domain that is not verified. */
export function aDomain(accountId: string, domain: string, fields: Partial<DomainRecord> = {}): DomainRecord {
  const times = { createdAt: 1000, verifiedAt: null, failingSince: null, checkAt: null };
  return { id: randomUUID(), accountId, domain, proof: `proof of ${domain}`, ...times, ...fields };
}

/** A challenge that an authority has set for a host. */
export function aChallenge(fields: Partial<ChallengeRecord> = {}): ChallengeRecord {
  const key = { token: 't', keyAuthorization: 't.x' };
  return { type: 'http-01', host: 'a.test', ...key, expiresAt: 2000, ...fields };
}

/** All tunnels of a store, oldest first. */
export async function allTunnels(store: Pick<Store, 'tunnelIds' | 'findTunnels'>): Promise<OwnedTunnel[]> {
  const all: OwnedTunnel[] = [];
  for await (const owned of storedTunnels(store)) all.push(owned);
  return all;
}

/** A value of each tunnel in a store, oldest first. */
export async function ofTunnels<Name extends keyof TunnelRecord>(
  store: Pick<Store, 'tunnelIds' | 'findTunnels'>,
  name: Name,
): Promise<TunnelRecord[Name][]> {
  return (await allTunnels(store)).map(({ tunnel }) => tunnel[name]);
}

/** A value of each row. */
export function ofEach<Row, Name extends keyof Row>(rows: readonly Row[], name: Name): Row[Name][] {
  return rows.map((row) => row[name]);
}

/** For each slug and time, the id of the account that alone may have it; `undefined` if anybody may. */
export async function nameHolders(
  store: Store,
  asked: readonly (readonly [slug: string, now: number])[],
): Promise<(string | undefined)[]> {
  const holders: (string | undefined)[] = [];
  for (const [slug, now] of asked) holders.push(await nameHolder(store, slug, now));
  return holders;
}

/** Lets a stranger and then every account try to have it: not to be called twice at the same time. */
async function nameHolder(store: Store, slug: string, now: number): Promise<string | undefined> {
  const stranger = anAccount();
  const known = await store.listAccounts();
  await store.insertAccounts([stranger]);
  try {
    for (const { id } of [stranger, ...known]) {
      const tunnel = aTunnel(id, { slug, createdAt: now });
      const error: unknown = await store.insertTunnel(tunnel, { maxTunnels: null, nameHold: 1 }).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      if (error === undefined) {
        await store.releaseTunnels([{ ...tunnel, heldUntil: 0 }], now);
        return id === stranger.id ? undefined : id;
      }
      if (!isTaken('slug')(error)) throw error;
    }
    return 'nobody';
  } finally {
    await store.removeAccount(stranger.name, now);
  }
}

/** What a store throws when another record has the value of a field. */
export function isTaken(field: ConflictError['field']) {
  return (error: unknown) => error instanceof ConflictError && error.field === field;
}

/** What a store throws when there is no room before a time, in ms of wall time. */
export function hasNoRoom(nextEnd: number) {
  return (error: unknown) => error instanceof FullError && error.nextEnd === nextEnd;
}

/** A store that can be made to fail. */
export interface TestStore {
  readonly store: Store;
  /** While true, everything except `close` rejects with {@link StoreError}. */
  down: boolean;
}

/** @returns a store with the given accounts in it */
export async function aStore(...accounts: readonly AccountRecord[]): Promise<TestStore> {
  const real = await openTestStore(() => {});
  for (const account of accounts) await real.insertAccounts([account]);
  const test = { down: false, store: real };
  test.store = new Proxy(real, {
    get(target, property: keyof Store) {
      return test.down && property !== 'close' ? failAsDatabase : target[property].bind(target);
    },
  });
  return test;
}

/** The store of each test of a `describe`, with the given accounts in it. */
export function useStore(...accounts: readonly AccountRecord[]): Store {
  let current: Store;
  beforeEach(async () => {
    current = await openTestStore(() => {});
    for (const account of accounts) await current.insertAccounts([account]);
  });
  afterEach(() => current.close());
  return new Proxy<Store>({} as Store, { get: (_none, property: keyof Store) => current[property] });
}

function failAsDatabase(): Promise<never> {
  return Promise.reject(new StoreError(new Error('the disk is on fire')));
}

/* The store for tests that run on every database: in memory, or on the PostgreSQL server of `npm test -- cluster`. */

const POSTGRES_URL = process.env['TEST_POSTGRES_URL'];

/** Disconnects everybody else, and empties all tables. */
const CLEAR = `
  select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid();
  truncate audit, invitations, closed_tunnels, kept_names, tcp_ports, accounts, api_keys, tunnels, tunnel_links, agents, released_names, endings, relay_secrets, relay_info, domains,
    acme_accounts, certificates, acme_orders, acme_attempts, acme_challenges;
  update access_revision set revision = 0;`;

/** databases of the current test */
const used: string[] = [];
/** empty databases of earlier tests: creating one takes longer than most tests */
const free: string[] = [];

if (POSTGRES_URL !== undefined) {
  afterEach(async () => {
    for (const url of used.splice(0)) {
      await run(url, CLEAR);
      free.push(url);
    }
  });
}

/** @returns an empty store; on PostgreSQL it is gone after the test */
export async function openTestStore(log: Log): Promise<Store> {
  if (POSTGRES_URL === undefined) return await openSqlite(':memory:', log);
  const { openPostgres } = await import('../store/postgres/open-postgres.ts');
  const url = free.pop() ?? (await newDatabase(POSTGRES_URL));
  used.push(url);
  // As in memory, that is not worth an entry.
  return await openPostgres({ kind: 'postgres', url }, (event, fields) => {
    if (event !== 'database created') log(event, fields);
  });
}

async function newDatabase(server: string): Promise<string> {
  const name = `unit_${randomUUID().replaceAll('-', '')}`;
  await run(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = name;
  return url.href;
}

async function run(url: string, sql: string): Promise<void> {
  const { Client } = await import('pg');
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
