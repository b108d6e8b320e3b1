/** Operations on the agents of tunnels that were admitted by OAuth (protocol.md section 11.6): the store is updated first. */
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import type { Clock, Timer } from '../clock.ts';
import type { Log, LogEvent } from '../log.ts';
import type { EndedAgent } from '../store/queries/agent-queries.ts';
import { type AccountRecord, type AgentRecord, batches } from '../store/records.ts';
import { orUnavailable, StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { findTunnel } from './links-and-approvals.ts';
import { TOKEN_USE_MS } from './live-tunnel.ts';
import type { TunnelRegistry } from './registry.ts';
import type { TunnelService } from './tunnel-service.ts';

/** ms after which the use of an agent is stored, with all others of that time. */
export const AGENT_USES_FLUSH_MS = 1000;
/** Number of agents whose use is stored in one transaction. */
const USES_BATCH = 200;

interface TunnelAgentsDeps {
  readonly tunnels: Pick<TunnelService, 'get' | 'coordination'>;
  readonly registry: Pick<TunnelRegistry, 'byId'>;
  readonly store: Pick<Store, 'agentsOf' | 'endAgent' | 'markAgentsUsed'>;
  readonly clock: Clock;
  readonly log: Log;
}

export class TunnelAgents {
  readonly #deps: TunnelAgentsDeps;
  readonly #uses: AgentUses;

  constructor(deps: TunnelAgentsDeps) {
    this.#deps = deps;
    this.#uses = new AgentUses(deps.store, deps.clock);
  }

  /**
   * @returns agents that can still use the tunnel, oldest first
   * @throws ApiError 404; 503
   */
  async list(account: AccountRecord, tunnelId: string): Promise<AgentRecord[]> {
    const { store, clock, tunnels } = this.#deps;
    const { slug } = await findTunnel(tunnels, account, tunnelId);
    await this.#uses.flush();
    return await orUnavailable(store.agentsOf(account.id, slug, clock.now()));
  }

  /**
   * Ends an agent, and cuts what it has opened.
   *
   * @throws ApiError 404; 503
   */
  async revoke(account: AccountRecord, tunnelId: string, id: string): Promise<void> {
    const { store, clock, tunnels } = this.#deps;
    const { slug } = await findTunnel(tunnels, account, tunnelId);
    const ended = await orUnavailable(store.endAgent({ accountId: account.id, slug }, id, clock.now()));
    if (ended === undefined) throw new ApiError(API_ERRORS.agentNotFound);
    this.ended(ended, 'agent revoked');
  }

  /** An agent, or one of its tokens, was ended in the store: every relay follows. */
  ended({ agent, tunnel }: EndedAgent, why: Extract<LogEvent, `agent ${string}`>): void {
    const { tunnels, registry, log } = this.#deps;
    const { id, accountId: account, slug, host } = agent;
    log(why, { tunnel: tunnel?.id, slug, account, agent: id, host });
    if (tunnel === undefined) return;
    const live = registry.byId(tunnel.id);
    if (live !== undefined) {
      live.forgetAgents();
      tunnels.coordination.lifecycle.revokeLinks(live, tunnel.revoked);
    }
    tunnels.coordination.tell({ kind: 'access', id: tunnel.id });
  }

  /** An agent has used a tunnel just now. */
  note(id: string): void {
    this.#uses.note(id);
  }

  /** Stores the last uses; those that cannot be stored are lost. */
  async stop(): Promise<void> {
    await this.#uses.flush();
  }
}

/** When agents were used, to within a minute: no request waits for the store, or costs a write of its own. */
class AgentUses {
  readonly #store: Pick<Store, 'markAgentsUsed'>;
  readonly #clock: Clock;
  /** by id, the latest use that was noted, wall time in ms; those of the last minute at least */
  readonly #noted = new Map<string, number>();
  /** not stored yet */
  #pending = new Map<string, number>();
  #timer: Timer | undefined;

  constructor(store: Pick<Store, 'markAgentsUsed'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  note(id: string): void {
    const now = this.#clock.now();
    const before = this.#noted.get(id);
    if (before !== undefined && now - before < TOKEN_USE_MS && now >= before) return;
    this.#noted.delete(id);
    this.#noted.set(id, now);
    this.#pending.set(id, now);
    this.#timer ??= this.#clock.setTimeout(() => void this.flush(), AGENT_USES_FLUSH_MS);
  }

  /** What fails is noted again with the next use. */
  async flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#forgetOld();
    const uses = [...this.#pending];
    this.#pending = new Map();
    for (const batch of batches(uses, USES_BATCH))
      try {
        await this.#store.markAgentsUsed(batch);
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        for (const [id] of batch) this.#noted.delete(id);
      }
  }

  #forgetOld(): void {
    const old = this.#clock.now() - TOKEN_USE_MS;
    for (const [id, at] of this.#noted) {
      if (at > old) return;
      this.#noted.delete(id);
    }
  }
}
