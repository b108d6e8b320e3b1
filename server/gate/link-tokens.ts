/** What the address of a signed link carries (docs/decisions/0017-gate.md): all that the gate has to know of the link. */
import { createHmac, timingSafeEqual } from 'node:crypto';

export interface SignedLink {
  readonly id: string;
  /** what its owner has called it; may be empty */
  readonly note: string;
  /** wall time in s */
  readonly end: number;
}

const FORMAT = /^(([\da-f]{16})\.(\d{1,12})\.([\w-]{0,342}))\.([\w-]{43})$/;

export class LinkTokens {
  readonly #secret: string;

  /** @param secret of all relays on a database; it has to live as long as links do */
  constructor(secret: string) {
    this.#secret = secret;
  }

  /** @returns a value for the query of an address; nothing in it has to be encoded */
  make(tunnelId: string, { id, note, end }: SignedLink): string {
    const said = `${id}.${end}.${Buffer.from(note).toString('base64url')}`;
    return `${said}.${this.#mac(tunnelId, said)}`;
  }

  /**
   * @param now wall time in ms
   * @returns the link; `undefined` for what is none of this tunnel, or has ended
   */
  read(token: string, tunnelId: string, now: number): SignedLink | undefined {
    const [, said = '', id = '', end = '', note = '', mac = ''] = FORMAT.exec(token) ?? [];
    if (Number(end) * 1000 <= now) return undefined;
    if (!timingSafeEqual(Buffer.from(mac), Buffer.from(this.#mac(tunnelId, said)))) return undefined;
    return { id, note: Buffer.from(note, 'base64url').toString(), end: Number(end) };
  }

  #mac(tunnelId: string, said: string): string {
    return createHmac('sha256', this.#secret).update(`link ${tunnelId} ${said}`).digest('base64url');
  }
}
