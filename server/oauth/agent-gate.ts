/**
 * Knows the agents behind access tokens. The database is asked once for each token, and again when something about the
 * tunnel's agents may have changed.
 */
import { hash } from 'node:crypto';
import type { AccessPolicy } from '../access/access-policy.ts';
import type { Clock } from '../clock.ts';
import type { AgentRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { TenantCache } from '../tenant-cache.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { TunnelAgents } from '../tunnels/tunnel-agents.ts';
import { Turnstile } from '../turnstile.ts';
import type { AgentTokens } from './agent-tokens.ts';

/** Maximum number of access tokens that a relay remembers; accounts have equal shares. */
export const KNOWN_TOKENS_MAX = 10_000;
/** Maximum number of access tokens that the database looks up at the same time. */
const LOOKUPS_AT_ONCE = 8;
/** Maximum number of them for one tunnel. */
const TUNNEL_LOOKUPS_AT_ONCE = 2;
/** Maximum number of them that may wait for that, for one tunnel. */
const TUNNEL_LOOKUPS_WAITING_MAX = 256;

/** An agent with a good token. */
export interface KnownAgent {
  readonly id: string;
  readonly host: string;
  /** who has signed in to approve it, as passes name visitors */
  readonly person: string | null;
}

/** `expired`: the agent may renew the token. */
export type FoundAgent = KnownAgent | 'wrong' | 'expired';

interface Remembered {
  readonly agent: KnownAgent;
  /** wall time in ms */
  readonly until: number;
  readonly reading: number;
  readonly version: string;
}

interface AgentGateOptions {
  readonly store: Pick<Store, 'findAgent'>;
  readonly tokens: Pick<AgentTokens, 'read'>;
  readonly agents: Pick<TunnelAgents, 'note'>;
  readonly clock: Pick<Clock, 'now'>;
}

export class AgentGate {
  readonly #options: AgentGateOptions;
  readonly #known = new TenantCache<Remembered>(KNOWN_TOKENS_MAX);
  readonly #lookups = new Turnstile({
    atOnce: { all: LOOKUPS_AT_ONCE, group: TUNNEL_LOOKUPS_AT_ONCE },
    waiting: { group: TUNNEL_LOOKUPS_WAITING_MAX },
  });

  constructor(options: AgentGateOptions) {
    this.#options = options;
  }

  /** @returns a promise if the database is asked; it rejects with StoreError or BusyError */
  find(tunnel: LiveTunnel, access: AccessPolicy, token: string): FoundAgent | Promise<FoundAgent> {
    const now = this.#options.clock.now();
    const key = `${tunnel.id} ${hash('sha256', token, 'base64url')}`;
    const known = this.#known.get(key);
    const isCurrent = known?.reading === tunnel.agentsReading && known.version === access.version;
    if (known !== undefined && isCurrent && known.until > now) return known.agent;
    const read = this.#options.tokens.read(token);
    if (read?.kind !== 'access') return 'wrong';
    return this.#lookups.run(tunnel.id, () => this.#lookUp(tunnel, access, read, key));
  }

  /** An agent uses the tunnel. */
  note(id: string): void {
    this.#options.agents.note(id);
  }

  async #lookUp(
    tunnel: LiveTunnel,
    { version }: AccessPolicy,
    token: { readonly id: string; readonly hash: string },
    key: string,
  ): Promise<FoundAgent> {
    const { store, clock } = this.#options;
    // What changes while the database is asked counts.
    const { agentsReading: reading } = tunnel;
    const agent = await store.findAgent(token.id);
    if (agent === undefined || agent.accountId !== tunnel.account.id || agent.slug !== tunnel.slug)
      return 'wrong';
    const until = endOf(agent, token.hash);
    if (until === undefined || until <= clock.now()) return 'expired';
    const { id, host, person } = agent;
    const known = { id, host, person };
    this.#known.set(tunnel.account.id, key, { agent: known, until, reading, version });
    return known;
  }
}

function endOf({ accessTokens }: AgentRecord, tokenHash: string): number | undefined {
  return accessTokens.find(([known]) => known === tokenHash)?.[1];
}
