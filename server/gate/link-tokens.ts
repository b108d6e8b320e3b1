/** What the address of a signed link carries (docs/decisions/0017-gate.md): all that the gate has to know of the link. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { PassKeys } from './passes.ts';

export interface SignedLink {
  readonly id: string;
  /** what its owner has called it; may be empty */
  readonly note: string;
  /** wall time in s */
  readonly end: number;
}

const FORMAT = /^(([\da-f]{16})\.(\d{1,12})\.([\w-]{0,342}))\.([\w-]{43})$/;

export class LinkTokens {
  readonly #keys: (createdAt: number) => PassKeys;

  /**
   * @param keys the present ones for a tunnel that was made at this wall time in ms: a link of a key from before would be
   *   forged
   */
  constructor(keys: (createdAt: number) => PassKeys) {
    this.#keys = keys;
  }

  /** @returns a value for the query of an address; nothing in it has to be encoded */
  make(tunnelId: string, { id, note, end }: SignedLink): string {
    const said = `${id}.${end}.${Buffer.from(note).toString('base64url')}`;
    return `${said}.${macOf(this.#keys(Infinity).current, tunnelId, said)}`;
  }

  /**
   * @param tunnel its id, and the wall time in ms at which it was made
   * @param now wall time in ms
   * @returns the link; `undefined` for what is none of this tunnel, or has ended
   */
  read(
    token: string,
    tunnel: { readonly id: string; readonly createdAt: number },
    now: number,
  ): SignedLink | undefined {
    const [, said = '', id = '', end = '', note = '', mac = ''] = FORMAT.exec(token) ?? [];
    if (Number(end) * 1000 <= now) return undefined;
    const { current, others } = this.#keys(tunnel.createdAt);
    const given = Buffer.from(mac);
    const isRight = (key: string): boolean =>
      timingSafeEqual(given, Buffer.from(macOf(key, tunnel.id, said)));
    if (![current, ...others].some(isRight)) return undefined;
    return { id, note: Buffer.from(note, 'base64url').toString(), end: Number(end) };
  }
}

/** 43 characters. */
function macOf(key: string, tunnelId: string, said: string): string {
  return createHmac('sha256', key).update(`link ${tunnelId} ${said}`).digest('base64url');
}
