/**
 * Codes and tokens of agents. Each names its agent and proves that a relay has made it, so that a wrong one costs the
 * database nothing, and an old refresh token is known as such without being kept.
 */
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { ACCESS_TOKEN_PREFIX, REFRESH_TOKEN_PREFIX } from '../../shared/agents.ts';

const PREFIXES = { code: 'cvc_', access: ACCESS_TOKEN_PREFIX, refresh: REFRESH_TOKEN_PREFIX } as const;
export type TokenKind = keyof typeof PREFIXES;

const ID_BYTES = 8;
const RANDOM_BYTES = 24;
const MAC_BYTES = 16;
const LENGTH = 64;
const FORM = /^cv[car]_[\w-]{64}$/;

/** What a token says: only its hash is stored. */
export interface ReadToken {
  readonly kind: TokenKind;
  /** of the agent */
  readonly id: string;
  readonly hash: string;
}

/** A new token. */
export interface MadeToken {
  readonly token: string;
  readonly hash: string;
}

export class AgentTokens {
  readonly #secret: string;

  /** @param secret shared by the relays on a database */
  constructor(secret: string) {
    this.#secret = secret;
  }

  /** @param id of the agent */
  make(kind: TokenKind, id: string): MadeToken {
    const said = Buffer.concat([Buffer.from(id, 'hex'), randomBytes(RANDOM_BYTES)]);
    const token = `${PREFIXES[kind]}${Buffer.concat([said, this.#macOf(kind, said)]).toString('base64url')}`;
    return { token, hash: sha256(token) };
  }

  /** @returns `undefined` for anything that no relay on this database has made */
  read(token: string): ReadToken | undefined {
    if (!FORM.test(token)) return undefined;
    const kind = KINDS.find((each) => token.startsWith(PREFIXES[each]));
    const bytes = Buffer.from(token.slice(-LENGTH), 'base64url');
    const said = bytes.subarray(0, ID_BYTES + RANDOM_BYTES);
    if (kind === undefined || !timingSafeEqual(bytes.subarray(said.length), this.#macOf(kind, said)))
      return undefined;
    return { kind, id: said.subarray(0, ID_BYTES).toString('hex'), hash: sha256(token) };
  }

  #macOf(kind: TokenKind, said: Buffer): Buffer {
    const mac = createHmac('sha256', this.#secret).update(`agent ${kind} `).update(said).digest();
    return mac.subarray(0, MAC_BYTES);
  }
}

const KINDS: readonly TokenKind[] = ['code', 'access', 'refresh'];

/** In hex. */
export function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}

/** A new id: 16 hexadecimal digits. */
export function newAgentId(): string {
  return randomBytes(ID_BYTES).toString('hex');
}
