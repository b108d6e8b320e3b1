/** What a visitor who has been let in carries from then on: the value of a cookie (docs/decisions/0017-gate.md). */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { KNOWN_PASSES_MAX } from '../limits.ts';
import { TenantCache } from '../tenant-cache.ts';

/** What a pass is good for, and for nothing else. */
export interface PassScope {
  readonly tunnelId: string;
  /** of the tunnel's `access` */
  readonly version: string;
  readonly form: 'host' | 'path';
}

export interface PassKeys {
  /** with which passes are made */
  readonly current: string;
  /** others with which passes may have been made that are still good */
  readonly others: readonly string[];
}

/** What a pass says that is good. */
export interface Pass {
  /** as the local service is told */
  readonly who: string;
  /** wall time in ms */
  readonly end: number;
}

/** A pass that was found to be right. */
interface Known extends Pass {
  readonly scope: PassScope;
}

const FORMAT = /^(\w+)\.(\d{1,12})\.([\w-]{0,400})\.([\w-]{43})$/;

/** Under which keys a pass is made: those of a while, or the one of links and knocks, which live longer. */
export type PassKind = 'visit' | 'lasting';

export class Passes {
  readonly #kind: PassKind;
  readonly #keys: () => PassKeys;
  /** what those say that were found to be right lately: a MAC costs more than all else of a request */
  readonly #known = new TenantCache<Known>(KNOWN_PASSES_MAX);

  /** @param keys the present ones */
  constructor(kind: PassKind, keys: () => PassKeys) {
    this.#kind = kind;
    this.#keys = keys;
  }

  /** How many are remembered. */
  get known(): number {
    return this.#known.size;
  }

  /**
   * @param who as the local service is told
   * @param end wall time in s
   */
  make(scope: PassScope, who: string, end: number): string {
    const said = `${this.#kind}.${end}.${Buffer.from(who).toString('base64url')}`;
    return `${said}.${macOf(this.#keys().current, scope, said)}`;
  }

  /**
   * @param now wall time in ms
   * @param account the tunnel's owner, who has a share of the cache
   * @returns what it says; `undefined` for one that is not good, or not for this
   */
  read(value: string, scope: PassScope, now: number, account: string): Pass | undefined {
    const before = this.#known.get(value);
    if (before !== undefined && isFor(before.scope, scope)) return before.end > now ? before : undefined;
    if (!value.startsWith(this.#kind)) return undefined;
    const [, kind, end = '', encoded = '', mac = ''] = FORMAT.exec(value) ?? [];
    if (kind !== this.#kind || Number(end) * 1000 <= now) return undefined;
    if (!this.#isRight(scope, `${kind}.${end}.${encoded}`, mac)) return undefined;
    const known = { scope, end: Number(end) * 1000, who: Buffer.from(encoded, 'base64url').toString() };
    // A copy, which does not keep the whole field that it is a part of.
    this.#known.set(account, Buffer.from(value, 'latin1').toString('latin1'), known);
    return known;
  }

  /** Forgets which were right: the keys have changed. */
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
  return one.tunnelId === other.tunnelId && one.version === other.version && one.form === other.form;
}

function textOf({ tunnelId, version, form }: PassScope): string {
  return `${form} ${tunnelId} ${version}`;
}

/** 43 characters. */
function macOf(key: string, scope: PassScope, said: string): string {
  return createHmac('sha256', key)
    .update(`pass ${textOf(scope)} ${said}`)
    .digest('base64url');
}
