/** What a visitor who has been let in carries from then on: the value of a cookie (docs/decisions/0017-gate.md). */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { KNOWN_PASSES_MAX } from '../limits.ts';

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

const FORMAT = /^(\d{1,12})\.([\w-]{0,400})\.([\w-]{43})$/;

export class Passes {
  readonly #keys: () => PassKeys;
  /** those that were found to be right lately, oldest first: a MAC costs more than all else of a request */
  readonly #known = new Set<string>();

  /** @param keys the present ones */
  constructor(keys: () => PassKeys) {
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
    const said = `${end}.${Buffer.from(who).toString('base64url')}`;
    return `${said}.${macOf(this.#keys().current, scope, said)}`;
  }

  /**
   * @param now wall time in ms
   * @returns who has the pass; `undefined` for one that is not good, or not for this
   */
  read(value: string, scope: PassScope, now: number): string | undefined {
    const [, end = '', who = '', mac = ''] = FORMAT.exec(value) ?? [];
    if (Number(end) * 1000 <= now) return undefined;
    const known = `${value} ${textOf(scope)}`;
    if (!this.#known.has(known)) {
      if (!this.#isRight(scope, `${end}.${who}`, mac)) return undefined;
      this.#remember(known);
    }
    return Buffer.from(who, 'base64url').toString();
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

  #remember(known: string): void {
    if (this.#known.size >= KNOWN_PASSES_MAX) {
      for (const oldest of this.#known) {
        this.#known.delete(oldest);
        break;
      }
    }
    this.#known.add(known);
  }
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
