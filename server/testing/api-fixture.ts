/** The REST interface on a free port, with a store in memory and a clock that stands still. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LinkTokens } from '../access/passes.ts';
import { PasswordHashes } from '../access/password-hashes.ts';
import { issueKey, type NewKey } from '../accounts/accounts.ts';
import { hashKey } from '../accounts/api-keys.ts';
import { Authenticator } from '../accounts/authenticator.ts';
import { Invitations } from '../accounts/invitations.ts';
import { createApi } from '../api/app.ts';
import { Writes } from '../api/scheduler.ts';
import type { DnsAnswer, DnsLookup } from '../domains/domain-check.ts';
import { DomainService } from '../domains/domain-service.ts';
import { HeldDomains } from '../domains/domain-watch.ts';
import { VerifiedDomains } from '../domains/verified-domains.ts';
import type { Log, LogEvent, LogFields } from '../log.ts';
import { RateLimiter } from '../rate-limiter.ts';
import type { AccountRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { TunnelRegistry } from '../tunnels/registry.ts';
import { TunnelApprovals } from '../tunnels/tunnel-approvals.ts';
import { TunnelLinks } from '../tunnels/tunnel-links.ts';
import { TunnelService } from '../tunnels/tunnel-service.ts';
import { FakeClock } from './fake-clock.ts';
import { aStore, type TestStore } from './fixtures.ts';

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
  readonly writes = new Writes();
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
    this.tunnels = new TunnelService({
      store,
      registry,
      clock: this.clock,
      log,
      ttl,
      nameHold: 0,
      onAccess() {},
      onEnd() {},
    });
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
      clients: { online: () => Promise.resolve(this.online) },
      domains: this.#domainService(store, log),
      turns: { next: (group: string) => Promise.resolve(void this.turns.push(group)) },
      writes: this.writes,
      hashes: this.#hashes,
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
      invitations: new Invitations({ store, clock: this.clock, log }),
      contact: undefined,
      downloadPage: undefined,
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
    const held = new HeldDomains({ store, clock, verified, coordination, peers: undefined, nameHold: 0 });
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

  /** Sends a request, optionally with a key. */
  async call(
    method: string,
    path: string,
    options: { key?: string; body?: string } = {},
  ): Promise<ApiResponse> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers: options.key === undefined ? {} : { Authorization: `Bearer ${options.key}` },
      ...(options.body === undefined ? {} : { body: options.body }),
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

  async stop(): Promise<void> {
    await this.tunnels.stop();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.#test.store.close();
  }
}
