/** Passes: the values of access cookies that visitors receive once they have access (docs/decisions/0017-gate.md). */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock, Timer } from '../clock.ts';
import type { LinkScope } from '../store/records.ts';
import { STORE_RETRY_MS, StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { TenantCache } from '../tenant-cache.ts';

/** Maximum number of valid access cookies that the relay caches; about 3 MB. Others cost a MAC each time. */
export const KNOWN_PASSES_MAX = 10_000;
/**
 * How long before a visitor who has been given access is asked for credentials again.
 * @limit visitor: Access after a correct password | the visitor is asked again
 */
export const PASS_SECONDS = 12 * 3600;
/** How long the relay signs access cookies with the same key. */
export const PASS_KEY_MS = 7 * 24 * 3600_000;

/** What a pass is valid for; it is valid for nothing else. */
export interface PassScope {
  readonly tunnelId: string;
  /** of the tunnel's `access` */
  readonly version: string;
  readonly form: 'host' | 'path';
  /** the host, in lower case, if it is for that one only */
  readonly host?: string | undefined;
}

/** The part of a tunnel's address that a pass is for. */
interface PassPlace {
  /** `/t/{slug}` in the path form, else empty */
  readonly prefix: string;
  /** see {@link PassScope} */
  readonly host?: string | undefined;
}

export function passScope(tunnelId: string, version: string, { prefix, host }: PassPlace): PassScope {
  return prefix === '' ? { tunnelId, version, form: 'host', host } : { tunnelId, version, form: 'path' };
}

export interface PassKeys {
  /** signs new passes */
  readonly current: string;
  /** other keys that may have signed passes which are still valid */
  readonly others: readonly string[];
}

/** The content of a valid pass. */
export interface Pass {
  /** the identity, as the local service is told */
  readonly who: string;
  /** wall time in ms */
  readonly end: number;
}

/** A pass that was found to be valid. */
interface Known extends Pass {
  readonly scope: PassScope;
}

/** The scope of a person's pass: the rules about people are asked at each request, so it outlives the `access`. */
export function personScope(tunnelId: string, { prefix, host }: PassPlace): PassScope {
  return { tunnelId, version: '', form: prefix === '' ? 'host' : 'path', host };
}

/** An identity has at most 1,600 bytes: a person with 32 groups, and an id in another alphabet. */
const FORMAT = /^(\w+)\.(\d{1,12})\.([\w-]{0,2200})\.([\w-]{43})$/;

/**
 * Which keys sign a pass: those of a regular visit, those of links and approval requests, which are valid for longer, or
 * those of people who have signed in.
 */
export type PassKind = 'visit' | 'lasting' | 'person';

export class Passes {
  readonly #kind: PassKind;
  readonly #keys: () => PassKeys;
  /** recently validated passes: a MAC costs more than all other work of a request */
  readonly #known = new TenantCache<Known>(KNOWN_PASSES_MAX);

  /** @param keys the present ones */
  constructor(kind: PassKind, keys: () => PassKeys) {
    this.#kind = kind;
    this.#keys = keys;
  }

  /** Number of remembered passes. */
  get known(): number {
    return this.#known.size;
  }

  /**
   * @param who the identity, as the local service is told
   * @param end wall time in s
   */
  make(scope: PassScope, who: string, end: number): string {
    const said = `${this.#kind}.${end}.${Buffer.from(who).toString('base64url')}`;
    return `${said}.${macOf(this.#keys().current, scope, said)}`;
  }

  /**
   * @param now wall time in ms
   * @param account the tunnel's owner, who has a share of the cache
   * @returns the content; `undefined` for a pass that is invalid or has another scope
   */
  read(value: string, scope: PassScope, now: number, account: string): Pass | undefined {
    const before = this.#known.get(value);
    if (before !== undefined && isFor(before.scope, scope)) return before.end > now ? before : undefined;
    if (!value.startsWith(this.#kind)) return undefined;
    const [, kind, end = '', encoded = '', mac = ''] = FORMAT.exec(value) ?? [];
    if (kind !== this.#kind || Number(end) * 1000 <= now) return undefined;
    if (!this.#isRight(scope, `${kind}.${end}.${encoded}`, mac)) return undefined;
    const known = { scope, end: Number(end) * 1000, who: Buffer.from(encoded, 'base64url').toString() };
    // A copy, so that the field that contains it can be freed.
    this.#known.set(account, Buffer.from(value, 'latin1').toString('latin1'), known);
    return known;
  }

  /** Forgets validated passes, because the keys have changed. */
  forget(): void {
    this.#known.clear();
  }

  #isRight(scope: PassScope, said: string, mac: string): boolean {
    const { current, others } = this.#keys();
    const given = Buffer.from(mac);
    return [current, ...others].some((key) => timingSafeEqual(given, Buffer.from(macOf(key, scope, said))));
  }
}

function isFor(one: PassScope, other: PassScope): boolean {
  return textOf(one) === textOf(other);
}

function textOf({ tunnelId, version, form, host }: PassScope): string {
  return `${form} ${tunnelId} ${version}${host === undefined ? '' : ` ${host}`}`;
}

/** 43 characters. */
function macOf(key: string, scope: PassScope, said: string): string {
  return createHmac('sha256', key)
    .update(`pass ${textOf(scope)} ${said}`)
    .digest('base64url');
}

/*
 * Keys that sign passes and links: a new one each week, shared by all relays on a database. Keys of earlier weeks are
 * valid as long as what they signed, and the next one is accepted a little early, because clocks of relays differ.
 * Expired keys are removed from the database, so an old copy of it cannot be used to forge anything.
 */

/** ms that a key is accepted before its week begins, and may still be used after its week ends. */
const EARLY_MS = 60 * 60_000;

interface KeyRingOptions {
  readonly store: Pick<Store, 'relaySecret' | 'removeSecrets'>;
  /** prefix of its secrets in the store; the number of the week follows */
  readonly name: string;
  /** ms that anything signed with a key is valid at most */
  readonly lifetime: number;
  readonly clock: Clock;
  /** called when the keys have changed */
  readonly changed: () => void;
}

/** Earlier keys are newest first; `until` is the end of their week, wall time in ms. */
interface Ring {
  readonly current: string;
  readonly next: string | undefined;
  readonly earlier: readonly { readonly key: string; readonly until: number }[];
}

const NONE: Ring = { current: '', next: undefined, earlier: [] };

export class KeyRing {
  readonly #options: KeyRingOptions;
  #ring = NONE;
  #keys: PassKeys = keysOf(NONE, 0);
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: KeyRingOptions) {
    this.#options = options;
  }

  /** Available only after the start. */
  get keys(): PassKeys {
    return this.#keys;
  }

  /**
   * The keys that may have signed something since a time. Anything signed with an older key must be forged.
   *
   * @param time wall time in ms
   */
  keysSince(time: number): PassKeys {
    return keysOf(this.#ring, time);
  }

  /** @throws StoreError */
  async start(): Promise<void> {
    this.#use(await this.#load());
    this.#arm();
  }

  /** Adopts keys that another program has renewed. @throws StoreError */
  async reload(): Promise<void> {
    const ring = await this.#load();
    if (JSON.stringify(ring) === JSON.stringify(this.#ring)) return;
    this.#use(ring);
    this.#options.changed();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #use(ring: Ring): void {
    this.#ring = ring;
    this.#keys = keysOf(ring, 0);
  }

  /** ms until the set of valid keys changes. */
  #nextChange(): number {
    const { clock, lifetime } = this.#options;
    const into = clock.now() % PASS_KEY_MS;
    const changes = [lifetime % PASS_KEY_MS, PASS_KEY_MS - EARLY_MS, PASS_KEY_MS];
    return Math.min(...changes.filter((at) => at > into)) - into;
  }

  #arm(ms = this.#nextChange()): void {
    if (this.#isStopped) return;
    this.#timer = this.#options.clock.setTimeout(() => void this.#renew(), ms);
  }

  async #renew(): Promise<void> {
    try {
      this.#use(await this.#load());
      this.#options.changed();
      this.#arm();
    } catch (error) {
      // The store itself reports the failure. Until it works again, the present keys stay in use.
      if (!(error instanceof StoreError)) throw error;
      this.#arm(STORE_RETRY_MS);
    }
  }

  async #load(): Promise<Ring> {
    const { store, name, lifetime, clock } = this.#options;
    const now = clock.now();
    // A secret is created up to EARLY_MS before its week, and clocks of relays may differ by as much.
    await store.removeSecrets(`${name} `, now - PASS_KEY_MS - lifetime - 2 * EARLY_MS);
    const period = Math.floor(now / PASS_KEY_MS);
    const earlier: { key: string; until: number }[] = [];
    for (let until = period * PASS_KEY_MS; until + lifetime > now; until -= PASS_KEY_MS)
      earlier.push({ key: await this.#key(until / PASS_KEY_MS - 1), until });
    const hasNext = now % PASS_KEY_MS >= PASS_KEY_MS - EARLY_MS;
    const next = hasNext ? await this.#key(period + 1) : undefined;
    return { current: await this.#key(period), next, earlier };
  }

  #key(period: number): Promise<string> {
    const { store, name, clock } = this.#options;
    return store.relaySecret(`${name} ${period}`, clock.now());
  }
}

function keysOf({ current, next, earlier }: Ring, since: number): PassKeys {
  const others = earlier.filter(({ until }) => until + EARLY_MS > since).map(({ key }) => key);
  return { current, others: next === undefined ? others : [next, ...others] };
}

/*
 * The token in the address of a signed link (docs/decisions/0017-gate.md): everything that the access check has to
 * know about the link.
 */

export interface SignedLink {
  readonly id: string;
  /** the owner's note; may be empty */
  readonly note: string;
  /** wall time in s */
  readonly end: number;
  /** Whether it admits only the first browser that opens it. */
  readonly once?: true;
}

const LINK_TOKENS_FORMAT = /^((once\.)?([\da-f]{16})\.(\d{1,12})\.([\w-]{0,342}))\.([\w-]{43})$/;

export class LinkTokens {
  readonly #keys: (since: number) => PassKeys;

  /** @param keys the present ones for links since this wall time in ms: one signed with an older key would be forged */
  constructor(keys: (since: number) => PassKeys) {
    this.#keys = keys;
  }

  /**
   * @param scope what it is for: `linkScope` of a tunnel
   * @returns a value for the query of an address, which needs no encoding
   */
  make(
    scope: string,
    { id, note, end, once = false }: Omit<SignedLink, 'once'> & { once?: boolean },
  ): string {
    const said = `${once ? 'once.' : ''}${id}.${end}.${Buffer.from(note).toString('base64url')}`;
    return `${said}.${linkTokensMacOf(this.#keys(Infinity).current, scope, said)}`;
  }

  /**
   * @param now wall time in ms
   * @returns the link; `undefined` for anything but a link of this scope that has not ended
   */
  read(token: string, { linkScope, linksSince }: LinkScope, now: number): SignedLink | undefined {
    const [, said = '', once, id = '', end = '', note = '', mac = ''] = LINK_TOKENS_FORMAT.exec(token) ?? [];
    if (Number(end) * 1000 <= now) return undefined;
    const { current, others } = this.#keys(linksSince);
    const given = Buffer.from(mac);
    const isRight = (key: string): boolean =>
      timingSafeEqual(given, Buffer.from(linkTokensMacOf(key, linkScope, said)));
    if (![current, ...others].some(isRight)) return undefined;
    return {
      id,
      note: Buffer.from(note, 'base64url').toString(),
      end: Number(end),
      ...(once !== undefined && { once: true }),
    };
  }
}

/** 43 characters. */
function linkTokensMacOf(key: string, scope: string, said: string): string {
  return createHmac('sha256', key).update(`link ${scope} ${said}`).digest('base64url');
}
