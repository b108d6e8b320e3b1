/**
 * Operations on tunnels (protocol.md section 3): they update the store first, then the registry, then return to
 * the caller.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { formatDuration } from '../../shared/duration.ts';
import { API_ERRORS, ApiError, type ApiErrorEntry, withValues } from '../../shared/errors.ts';
import type { CreateTunnel, Protocol, TtlLimits, WantedTunnel } from '../../shared/tunnel.ts';
import { isWildcardDomain } from '../../shared/wildcard-hosts.ts';
import { quoted } from '../../shared/unprintable.ts';
import { PLAN_RULES, ttlLimitsOf } from '../accounts/accounts.ts';
import { mustReach, reachesTunnel } from '../accounts/api-keys.ts';
import { type Caller, orRateLimited, teamAct } from '../accounts/team.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { PortRules } from '../store/queries/port-queries.ts';
import type { NewAccess, Reach, TrafficDelta } from '../store/queries/tunnel-changes.ts';
import type {
  AccountRecord,
  AuditRecord,
  OwnedTunnel,
  TunnelOrders,
  TunnelRecord,
} from '../store/records.ts';
import {
  ConflictError,
  FullError,
  orUnavailable,
  StoreError,
  UnansweredError,
} from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { Coordination } from './coordination.ts';
import type { EndReason, Lifecycle, LifecycleDeps, TellPeers } from './lifecycle.ts';
import { type LiveTunnel, tunnelFields } from './live-tunnel.ts';
import type { TunnelRegistry } from './registry.ts';
import { StoreSync } from './store-sync.ts';
import type { TcpPorts } from './tcp-ports.ts';

/**
 * Number of random slugs that are tried before tunnel creation fails; with 50 random bits a second try is
 * already extremely rare.
 */
export const SLUG_ATTEMPTS = 5;

/** Number of ports in use by other programs that are tried before tunnel creation fails. */
const PORT_ATTEMPTS = 20;
/** Of a plan without TCP tunnels, none of which can end: the time is not told. */
const FOREVER = 8.64e15;

export interface TunnelServiceDeps {
  readonly store: Store;
  readonly registry: TunnelRegistry;
  readonly clock: Clock;
  readonly log: Log;
  /** limits of the relay for every account; a plan may have lower ones */
  readonly ttl: TtlLimits;
  /** how long the name of an ended tunnel is reserved for its account, in seconds (protocol.md section 3.5) */
  readonly nameHold: number;
  /** Whether there can be TLS tunnels. */
  readonly offersTls?: boolean;
  /** the ports of TCP tunnels; `undefined`: there are no such tunnels */
  readonly ports?: TcpPorts | undefined;
  /** notifies other relays on the same database, if there may be any */
  readonly tellPeers?: TellPeers | undefined;
  /**
   * called when the access policy, links or approval requests of a tunnel change; connections that are no longer
   * allowed must be closed
   */
  readonly onAccess: (tunnel: LiveTunnel) => void;
  /** see {@link CoordinationDeps.knowsAll} */
  readonly knowsAll?: boolean;
  /** see {@link LifecycleDeps.onTakenFromAgent} */
  readonly onTakenFromAgent?: LifecycleDeps['onTakenFromAgent'];
  /** called when a tunnel has left the registry; its connections must then be closed */
  readonly onEnd: (tunnel: LiveTunnel, reason: EndReason) => void;
}

/**
 * A requested tunnel, with passwords already hashed: the service does not wait for that, because its callers occupy
 * one of the few write slots.
 */
export interface NewTunnel extends Omit<CreateTunnel, 'access'> {
  readonly access: NewAccess;
  readonly caller: Caller;
}

/** A tunnel that is being stored. */
interface Birth {
  account: AccountRecord;
  slug?: string;
}

const CONFLICTS: Partial<Record<ConflictError['field'], ApiErrorEntry>> = {
  port: API_ERRORS.portTaken,
  domain: API_ERRORS.domainInUse,
  claim: API_ERRORS.domainNotFound,
  verification: API_ERRORS.domainNotVerified,
};

export class TunnelService {
  /** with other relays on the same database */
  readonly coordination: Coordination;
  readonly #o: TunnelServiceDeps;
  readonly #sync: StoreSync;
  readonly #lifecycle: Lifecycle;
  /** slugs and current owners of tunnels that are being stored: their accounts may change during that time */
  readonly #inserting = new Set<Birth>();
  /** the last change of a tunnel's lifetime that is in progress */
  readonly #lifeChanges = new WeakMap<LiveTunnel, Promise<unknown>>();

  constructor(options: TunnelServiceDeps) {
    this.#o = options;
    this.#sync = new StoreSync(options.store, options.clock, options.log);
    this.coordination = new Coordination({ ...options, sync: this.#sync }, options.tellPeers);
    this.#lifecycle = this.coordination.lifecycle;
  }

  /**
   * Loads stored tunnels.
   *
   * @throws StoreError
   */
  async start(): Promise<void> {
    await this.coordination.start();
    this.#sync.start();
  }

  /**
   * Nothing expires and nothing is stored until {@link resume}. Everything pending has been stored when this returns.
   */
  async pause(): Promise<void> {
    this.#lifecycle.stop();
    await this.#sync.pause();
  }

  /** Undoes {@link pause}. */
  resume(): void {
    this.#lifecycle.resume();
    this.#sync.start();
  }

  /**
   * Another relay has taken over all tunnels: this one only counts the traffic of its remaining connections.
   *
   * @param onStored called with the traffic that was stored
   */
  leave(onStored: (deltas: readonly TrafficDelta[]) => void): void {
    this.#sync.onStored = onStored;
    this.#sync.start();
  }

  /** The previous relay has stored traffic. */
  countElsewhere(deltas: readonly TrafficDelta[]): void {
    for (const delta of deltas) this.#o.registry.byId(delta.id)?.countElsewhere(delta);
  }

  /** A tunnel has ended at the relay that has taken over. */
  endElsewhere(id: string, reason: EndReason): void {
    const tunnel = this.#o.registry.byId(id);
    if (tunnel !== undefined) this.#lifecycle.end(tunnel, reason);
  }

  /** A tunnel has changed at the relay that has taken over. @throws StoreError */
  async followStored(id: string): Promise<void> {
    const owned = await this.#o.store.findTunnel(id);
    const tunnel = this.#o.registry.byId(id);
    if (owned === undefined || tunnel === undefined) return;
    this.#lifecycle.follow(tunnel, owned);
    this.#lifecycle.followSuspension(tunnel, owned);
  }

  /** Stops expiry and stores the remaining traffic. */
  async stop(): Promise<void> {
    this.coordination.stop();
    await this.#sync.stop();
  }

  /**
   * Refuses an account that has no room for another tunnel, cheaply: the request costs no token of the rate limit then,
   * and no password is hashed. The store decides.
   *
   * @throws ApiError 403 with the limit and when the next tunnel expires
   */
  assertCapacity(account: AccountRecord, protocol: Protocol = 'http'): void {
    const { maxTunnels, maxTcp } = PLAN_RULES[account.plan];
    const tunnels = this.#o.registry.forAccount(account.id);
    this.#mustHaveRoom(account, tunnels, maxTunnels);
    if (protocol !== 'tcp' || this.#o.ports === undefined) return;
    const ofTcp = tunnels.filter((tunnel) => tunnel.protocol === protocol);
    this.#mustHaveRoom(account, ofTcp, maxTcp, true);
  }

  #mustHaveRoom(
    account: AccountRecord,
    tunnels: readonly LiveTunnel[],
    max: number | null,
    isTcp = false,
  ): void {
    if (max === null || tunnels.length < max) return;
    throw noRoom(account, {
      nextEnd: Math.min(...tunnels.map(({ expiresAt }) => expiresAt), FOREVER),
      isTcp,
    });
  }

  /**
   * @param wanted already validated: fields, plan, rate
   * @throws ApiError 403 if the plan is used up; 404 or 409 for a domain that the account does not have; 409 if the name is
   *   taken, reserved or held for another account, another tunnel has the domain, or the relay does not offer the protocol; 503
   */
  async create(account: AccountRecord, wanted: NewTunnel): Promise<LiveTunnel> {
    const { protocol } = wanted;
    const isOffered = { http: true, tls: this.#o.offersTls === true, tcp: this.#o.ports !== undefined }[
      protocol
    ];
    if (!isOffered) throw new ApiError(withValues(API_ERRORS.protocolUnavailable, { protocol }));
    const birth: Birth = { account };
    this.#inserting.add(birth);
    try {
      const { tunnel, kept } = await orUnavailable(this.#insert(birth, wanted));
      const live =
        this.#o.registry.byId(tunnel.id) ?? this.#lifecycle.begin({ account: birth.account, tunnel, kept });
      const { slug } = tunnel;
      if (protocol === 'tcp') this.coordination.tell({ kind: 'created-tcp', slug });
      else this.coordination.tell({ kind: 'created', slug, domain: wanted.domain });
      this.#o.log('tunnel created', { ...tunnelFields(live), ttl: live.terms.ttl, idle: live.terms.idle });
      return live;
    } finally {
      this.#inserting.delete(birth);
    }
  }

  /**
   * The tunnel that a create request takes over. In a cluster, {@link Coordination.followAccount} must be called
   * first.
   *
   * @returns the account's own live tunnel of that name, `undefined` if a new one is requested or the key does not reach it
   */
  findExisting(
    account: AccountRecord,
    { name, takeOver, caller }: Pick<WantedTunnel, 'name' | 'takeOver'> & Pick<NewTunnel, 'caller'>,
  ): LiveTunnel | undefined {
    if (!takeOver || name === '') return undefined;
    const tunnel = this.#o.registry.bySlug(name);
    const isOwn = tunnel?.account.id === account.id && tunnel.name === name && reachesTunnel(caller, tunnel);
    return isOwn && !this.#lifecycle.isOver(tunnel) ? tunnel : undefined;
  }

  /**
   * Gives a tunnel the port, the lifetime, the hosts and the access policy that its client now requests. Its id, addresses,
   * counters and sockets stay the same.
   *
   * @returns false if it has ended
   * @throws ApiError 409 for another domain, protocol or port than it has, or if one of its hosts is another account's name; 503 with nothing changed
   */
  async takeOver(tunnel: LiveTunnel, wanted: NewTunnel): Promise<boolean> {
    if (wanted.domain !== '' && wanted.domain !== tunnel.domain) throw new ApiError(API_ERRORS.domainFixed);
    const { protocol, remotePort } = tunnel;
    if (wanted.protocol !== protocol || (wanted.remotePort !== undefined && wanted.remotePort !== remotePort))
      throw new ApiError(API_ERRORS.protocolFixed);
    return await this.#inTurn(tunnel, () => this.#takeOverNow(tunnel, wanted));
  }

  /** @returns the account's tunnels, newest first */
  list(account: AccountRecord): LiveTunnel[] {
    const tunnels = this.#o.registry.forAccount(account.id).toReversed();
    return tunnels.filter((tunnel) => !this.#lifecycle.isOver(tunnel));
  }

  /** @throws ApiError 404, the same for another account's tunnel */
  get(account: AccountRecord, id: string): LiveTunnel {
    const tunnel = this.#o.registry.byId(id);
    if (tunnel?.account.id !== account.id || this.#lifecycle.isOver(tunnel))
      throw new ApiError(API_ERRORS.tunnelNotFound);
    return tunnel;
  }

  /** Ids of the accounts with a tunnel, or with one being created. */
  accountIds(): Iterable<string> {
    return new Set([
      ...this.#o.registry.accountIds(),
      ...[...this.#inserting].map(({ account }) => account.id),
    ]);
  }

  /** Updates the tunnels of an account that has changed. */
  updateAccount(account: AccountRecord): void {
    const tunnels = this.#o.registry.forAccount(account.id);
    const { id, plan, suspended } = account;
    const before = tunnels[0]?.account ?? account;
    if (before.plan !== plan) this.#o.log('plan changed', { account: id, plan });
    if (before.suspended !== suspended)
      this.#o.log(suspended === null ? 'account resumed' : 'account suspended', { account: id });
    for (const birth of this.#inserting) if (birth.account.id === id) birth.account = account;
    for (const tunnel of tunnels) this.#lifecycle.setAccount(tunnel, account);
    this.coordination.ordersFollowed();
  }

  /** Operators have closed or suspended tunnels. */
  followOrders({ closed, suspended }: TunnelOrders): void {
    for (const id of closed) {
      const tunnel = this.#o.registry.byId(id);
      if (tunnel !== undefined) this.#lifecycle.end(tunnel, 'closed');
    }
    const reasons = new Map(suspended.map(({ id, reason }) => [id, reason]));
    for (const tunnel of this.#o.registry.all())
      this.#lifecycle.suspend(tunnel, reasons.get(tunnel.id) ?? null);
    this.coordination.ordersFollowed();
  }

  /** An account was deleted, along with the records of its tunnels. */
  endAccount(accountId: string): void {
    for (const tunnel of this.#o.registry.forAccount(accountId)) this.#lifecycle.end(tunnel, 'removed');
  }

  /** @throws ApiError 404; 429 if it cannot be recorded; 503 with the tunnel still live */
  async close(account: AccountRecord, id: string, caller: Caller): Promise<void> {
    await this.coordination.followTunnel(id);
    const tunnel = this.get(account, id);
    const closed = this.#lifecycle.released(tunnel, account, this.#o.clock.now());
    // It may have expired, or another request may have closed it first.
    const entries = this.#entries('team.close', tunnel, caller);
    const isFirst = await this.#orRefused(this.coordination.close(tunnel, closed, entries));
    if (!isFirst) throw new ApiError(API_ERRORS.tunnelNotFound);
    this.coordination.tell({ kind: 'ended', id, reason: 'closed' });
  }

  /**
   * Moves the expiry later by `ttl` seconds, or by the tunnel's own ttl.
   *
   * @throws ApiError 400 if it would be later than now plus the maximum; 404; 429 if it cannot be recorded; 503
   */
  async extend(
    account: AccountRecord,
    id: string,
    ttl: number | undefined,
    caller: Caller,
  ): Promise<LiveTunnel> {
    await this.coordination.followTunnel(id);
    const tunnel = this.get(account, id);
    const { maxTtl } = ttlLimitsOf(account.plan, this.#o.ttl, caller.scope);
    await this.#inTurn(tunnel, () => this.#extendNow(tunnel, ttl ?? tunnel.terms.ttl, maxTtl, caller));
    return tunnel;
  }

  /**
   * Replaces the access policy.
   *
   * @throws ApiError 404; 429 if it cannot be recorded; 503 with nothing changed
   */
  async setAccess(
    account: AccountRecord,
    id: string,
    wanted: NewAccess,
    caller: Caller,
  ): Promise<LiveTunnel> {
    await this.coordination.followTunnel(id);
    const tunnel = this.get(account, id);
    const entries = this.#entries('team.access', tunnel, caller);
    const change = await this.#orRefused(
      this.#o.store.act('setAccess', [id, wanted, reachOf(caller)], entries),
    );
    if (change === undefined) throw new ApiError(API_ERRORS.tunnelNotFound);
    this.#lifecycle.setAccess(tunnel, change.access, change.accessRevision);
    this.coordination.tell({ kind: 'access', id });
    this.#o.log('tunnel access changed', tunnelFields(tunnel));
    return tunnel;
  }

  /** One after the other: each starts from the expiry that the previous one has set. */
  #inTurn<T>(tunnel: LiveTunnel, change: () => Promise<T>): Promise<T> {
    const changed = (this.#lifeChanges.get(tunnel) ?? Promise.resolve()).then(change, change);
    this.#lifeChanges.set(tunnel, changed);
    return changed;
  }

  async #takeOverNow(tunnel: LiveTunnel, wanted: NewTunnel): Promise<boolean> {
    const { id, slug } = tunnel;
    const { localPort, ttl, idleTtl, access, caller } = wanted;
    const wildcard = wanted.wildcard || isWildcardDomain(tunnel.domain ?? '');
    const expiresAt = tunnel.expiryAfter(ttl * 1000);
    const terms = { localPort, ttl, idle: idleTtl, expiresAt, wildcard, ...createdWith(caller) };
    if (wildcard && this.#o.registry.coversReserved(slug)) throw new ApiError(API_ERRORS.nameReserved);
    const takeOver = { now: this.#o.clock.now(), nameHold: this.#o.nameHold * 1000 };
    const entries = this.#entries('team.take-over', tunnel, caller);
    const change = await this.#orRefused(
      this.#o.store.act('setTerms', [id, terms, access, takeOver], entries),
    ).catch((error: unknown) => {
      throw error instanceof ConflictError ? new ApiError(API_ERRORS.nameTaken) : error;
    });
    if (change === undefined || this.#o.registry.byId(id) === undefined) {
      await this.coordination.followStored(id);
      return false;
    }
    this.#lifecycle.setTerms(tunnel, terms, change.termsRevision);
    this.#lifecycle.setAccess(tunnel, change.access, change.accessRevision);
    this.coordination.tell({ kind: 'access', id });
    this.#o.log('tunnel taken over', { ...tunnelFields(tunnel), ttl, idle: idleTtl });
    return true;
  }

  async #extendNow(tunnel: LiveTunnel, ttl: number, maxTtl: number, caller: Caller): Promise<void> {
    this.#mustBeAlive(tunnel);
    mustReach(caller, tunnel);
    const entries = this.#entries('team.extend', tunnel, caller);
    const expiresAt = await this.#orRefused(
      this.coordination.storeExtension(
        tunnel,
        { by: ttl * 1000, max: maxTtl * 1000, reach: reachOf(caller) },
        entries,
      ),
    );
    if (expiresAt === undefined) await this.coordination.followStored(tunnel.id);
    this.#mustBeAlive(tunnel);
    mustReach(caller, tunnel);
    if (expiresAt === undefined)
      throw new ApiError(withValues(API_ERRORS.ttlTooLong, { duration: formatDuration(maxTtl) }));
    tunnel.prolong(expiresAt);
    this.coordination.tell({ kind: 'extended', id: tunnel.id, expiresAt });
    this.#o.log('tunnel extended', {
      ...tunnelFields(tunnel),
      expires_at: new Date(expiresAt).toISOString(),
    });
  }

  /** Entries for the audit log: none for a tunnel of the caller's own, or if it is not known whose it is. */
  #entries(action: string, { slug, account, terms }: LiveTunnel, caller: Caller): AuditRecord[] {
    const { createdKey, createdBy } = terms;
    if (createdKey === null || createdKey === caller.keyId) return [];
    return [
      teamAct(this.#o.clock, account, caller, {
        action,
        subject: slug,
        detail: `of ${quoted(createdBy ?? '')}`,
      }),
    ];
  }

  /** @throws ApiError 429, 503 */
  async #orRefused<T>(work: Promise<T>): Promise<T> {
    return await orUnavailable(orRateLimited(work, this.#o.clock));
  }

  #mustBeAlive(tunnel: LiveTunnel): void {
    if (this.#o.registry.byId(tunnel.id) === undefined) throw new ApiError(API_ERRORS.tunnelNotFound);
  }

  /** Stores a new tunnel. A slug is drawn again if it is taken. @throws ApiError; StoreError */
  async #insert(birth: Birth, wanted: NewTunnel): Promise<Pick<OwnedTunnel, 'tunnel' | 'kept'>> {
    const { account } = birth;
    const { maxTunnels } = PLAN_RULES[account.plan];
    /** ports that other programs use */
    const avoid: number[] = [];
    for (let attempt = 1; ; attempt += 1) {
      const slug = wanted.name === '' ? randomSlug() : wanted.name;
      this.#mustBeAllowed(birth, slug, wanted.wildcard);
      birth.slug = slug;
      const tunnel = this.#newRecord(account, wanted, slug);
      try {
        await this.#sync.clear(slug);
        const tcp = this.#portRules(account, wanted, avoid);
        const rules = { maxTunnels, nameHold: this.#o.nameHold * 1000, tcp };
        const stored = await this.#o.store.insertTunnel(tunnel, rules);
        const { remotePort } = stored.tunnel;
        if (remotePort === null || (await this.#o.ports?.bind(remotePort)) === true) return stored;
        avoid.push(remotePort);
        await this.#o.store.releaseTunnels([{ ...tunnel, heldUntil: 0 }], this.#o.clock.now());
        if (wanted.remotePort !== undefined || avoid.length > PORT_ATTEMPTS)
          throw new ApiError(API_ERRORS.portTaken);
      } catch (error) {
        if (error instanceof FullError) throw noRoom(account, error);
        if (error instanceof ConflictError) {
          if (error.field === 'slug' && wanted.name === '' && attempt < SLUG_ATTEMPTS) continue;
          throw new ApiError(CONFLICTS[error.field] ?? API_ERRORS.nameTaken);
        }
        if (error instanceof StoreError && error.cause instanceof UnansweredError)
          this.#sync.noteGone({ ...tunnel, heldUntil: 0 });
        throw error;
      }
    }
  }

  #portRules(
    { plan }: AccountRecord,
    { protocol, remotePort }: NewTunnel,
    avoid: readonly number[],
  ): PortRules | undefined {
    if (protocol !== 'tcp' || this.#o.ports === undefined) return undefined;
    const { maxTcp, maxNames } = PLAN_RULES[plan];
    const maxPorts = maxTcp + maxNames;
    return { ...this.#o.ports.range, wanted: remotePort, avoid, maxTunnels: maxTcp, maxPorts };
  }

  /**
   * @throws ApiError 409 for a name that no tunnel may have; that a tunnel has here, because its stored end may be earlier
   *   until its traffic is stored; or that is being stored, because many requests for one name would wait for each other on
   *   the connections to the database
   */
  #mustBeAllowed(birth: Birth, slug: string, wildcard: boolean): void {
    if (this.#o.registry.isReserved(slug) || (wildcard && this.#o.registry.coversReserved(slug)))
      throw new ApiError(API_ERRORS.nameReserved);
    const isBeingStored = [...this.#inserting].some((other) => other !== birth && other.slug === slug);
    if (isBeingStored || this.#o.registry.bySlug(slug) !== undefined)
      throw new ApiError(API_ERRORS.nameTaken);
  }

  #newRecord(account: AccountRecord, wanted: NewTunnel, slug: string): TunnelRecord {
    const createdAt = this.#o.clock.now();
    return {
      id: randomUUID(),
      slug,
      name: wanted.name,
      accountId: account.id,
      localPort: wanted.localPort,
      ttl: wanted.ttl,
      idle: wanted.idleTtl,
      createdAt,
      expiresAt: createdAt + wanted.ttl * 1000,
      termsRevision: 0,
      bytesIn: 0,
      bytesOut: 0,
      requests: 0,
      domain: wanted.domain === '' ? null : wanted.domain,
      ...createdWith(wanted.caller),
      access: wanted.access.access,
      wildcard: wanted.wildcard,
      protocol: wanted.protocol,
      remotePort: null,
      accessRevision: 0,
      revokedLinks: [],
      knocks: null,
      knocksRevision: 0,
      tokenUses: [],
      suspended: null,
      linkScope: randomUUID(),
      linksSince: createdAt,
    };
  }
}

function noRoom({ plan }: AccountRecord, { nextEnd, isTcp }: Pick<FullError, 'nextEnd' | 'isTcp'>): ApiError {
  const { title, maxTunnels, maxTcp } = PLAN_RULES[plan];
  const number = isTcp ? maxTcp : (maxTunnels ?? 0);
  const time = new Date(nextEnd).toISOString();
  const tunnels = isTcp ? { code: 'tcp', text: 'TCP tunnels' } : { code: 'any', text: 'tunnels' };
  const wait = `close one, or wait until ${time}, when the next one expires`;
  const remedy =
    number > 0
      ? { code: 'wait', text: wait, values: { time } }
      : { code: 'plan', text: 'ask the operator for a higher plan' };
  return new ApiError(withValues(API_ERRORS.tooManyTunnels, { plan: title, number, tunnels, remedy }));
}

function createdWith({
  keyId,
  label,
  scope,
}: Caller): Pick<TunnelRecord, 'createdKey' | 'createdBy' | 'byAgent'> {
  return { createdKey: keyId, createdBy: label === '' ? null : label, byAgent: scope.kind === 'agent' };
}

function reachOf({ scope }: Caller): Reach {
  return scope.kind === 'agent' ? 'by-agent' : 'any';
}

/* Generated slugs (protocol.md section 3.3): random, readable aloud, a DNS label. */

/** Letters that sound different from each other in most languages, and always the same. */
const CONSONANTS = 'bdfghjklmnprstvz';
const VOWELS = 'aeiou';
const SYLLABLES = CONSONANTS.length * VOWELS.length;
const GROUPS = 4;
const SYLLABLES_PER_GROUP = 2;

/** 8 syllables out of 80: log2(80 ** 8) = 50.57 bits. */
export const SLUG_BITS = GROUPS * SYLLABLES_PER_GROUP * Math.log2(SYLLABLES);

/**
 * @param draw returns a random integer from 0 to below its argument, uniformly distributed
 * @returns a slug such as `bado-kire-numa-tosi`
 */
export function randomSlug(draw: (below: number) => number = randomInt): string {
  const group = () => Array.from({ length: SYLLABLES_PER_GROUP }, () => syllable(draw(SYLLABLES))).join('');
  return Array.from({ length: GROUPS }, group).join('-');
}

function syllable(index: number): string {
  const vowel = index % VOWELS.length;
  return CONSONANTS.charAt((index - vowel) / VOWELS.length) + VOWELS.charAt(vowel);
}
