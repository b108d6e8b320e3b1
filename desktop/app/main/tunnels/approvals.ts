/** Links and approvals that give single visitors access to a tunnel (protocol.md section 11). */
import type { Link } from '../../../../shared/links.ts';
import { RelayRefusal } from '../../../client/relay/errors.ts';
import type { AgentView, ApprovedView, LinkView } from '../../ipc/tunnel-views.ts';
import { t } from '../../messages/translate.ts';
import { type Connection, signedIn } from '../connection.ts';
import { CallFailure } from '../failure.ts';
import type { TunnelList } from './tunnel-list.ts';

export interface ApprovalsOptions {
  readonly tunnelList: Pick<TunnelList, 'find'>;
  /** who is signed in */
  readonly connection: () => Connection | undefined;
  readonly copy: (text: string) => Promise<void>;
}

/** All methods throw {@link CallFailure}, and what the engine throws. */
export class Approvals {
  readonly #options: ApprovalsOptions;

  constructor(options: ApprovalsOptions) {
    this.#options = options;
  }

  /** Makes a link and copies it: the relay shows it only now. */
  async createLink(key: string, request: { note: string; ttl: string }): Promise<LinkView> {
    const { api, id } = this.#tunnel(key);
    const link = await api.createLink(id, request);
    await this.#options.copy(link.url);
    return view(link);
  }

  /** newest first */
  async listLinks(key: string): Promise<readonly LinkView[]> {
    const { api, id } = this.#tunnel(key);
    return (await api.listLinks(id)).map(view);
  }

  async revokeLink(key: string, linkId: string): Promise<void> {
    const { api, id } = this.#tunnel(key);
    await unlessGone(api.deleteLink(id, linkId));
  }

  /** Agents that were let in by OAuth, oldest first. */
  async listAgents(key: string): Promise<readonly AgentView[]> {
    const { api, id } = this.#tunnel(key);
    return (await api.listAgents(id)).map(({ id: agentId, name, host, user, ...agent }) => ({
      id: agentId,
      name,
      host,
      user,
      returnsTo: agent.returns_to,
      since: Date.parse(agent.created_at),
      usedAt: agent.last_used_at === null ? undefined : Date.parse(agent.last_used_at),
    }));
  }

  async revokeAgent(key: string, agentId: string): Promise<void> {
    const { api, id } = this.#tunnel(key);
    await unlessGone(api.revokeAgent(id, agentId));
  }

  /** Visitors whose approval is still valid. What an agent was approved for, {@link listAgents} shows. */
  async listApproved(key: string): Promise<readonly ApprovedView[]> {
    const { api, id } = this.#tunnel(key);
    const admitted = (await api.listKnocks(id)).filter(
      ({ status, client }) => status === 'admitted' && client === undefined,
    );
    return admitted.map(({ id: knockId, address, agent, ends_at }) => ({
      id: knockId,
      address,
      agent,
      endsAt: Date.parse(ends_at),
    }));
  }

  /** @param ttl lifetime of the approval, a duration string */
  async approve(key: string, knockId: string, ttl: string): Promise<void> {
    await this.#answer(key, knockId, ttl);
  }

  /** Lets a visitor not in, or sends one out who is. */
  async refuse(key: string, knockId: string): Promise<void> {
    await this.#answer(key, knockId, undefined);
  }

  async #answer(key: string, knockId: string, ttl: string | undefined): Promise<void> {
    const { api, id, tunnel } = this.#tunnel(key);
    const waits = await unlessGone(api.answerKnock(id, knockId, ttl !== undefined, ttl));
    tunnel.served.answered(knockId);
    if (waits || ttl === undefined) return;
    throw new CallFailure({ code: 'visitor-gone', text: t('problem.visitorGone') });
  }

  #tunnel(key: string) {
    const tunnel = this.#options.tunnelList.find(key);
    return { tunnel, id: tunnel.tunnel.id, api: signedIn(this.#options.connection()).api };
  }
}

function view({ id, note, expires_at }: Pick<Link, 'id' | 'note' | 'expires_at'>): LinkView {
  return { id, note, expiresAt: Date.parse(expires_at) };
}

/** @returns whether the object still existed */
async function unlessGone(asked: Promise<void>): Promise<boolean> {
  try {
    await asked;
    return true;
  } catch (error) {
    if (error instanceof RelayRefusal && error.isOwn && error.status === 404) return false;
    throw error;
  }
}
