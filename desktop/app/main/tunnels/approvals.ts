/**
 * Links and approvals that give single visitors access to a tunnel (protocol.md section 11). All functions throw
 * {@link CallFailure}, and what the client throws.
 */
import type { Link } from '../../../../shared/links.ts';
import { RelayRefusal } from '../../../client/relay/errors.ts';
import type { AgentView, ApprovedView, LinkView, NewLinkView } from '../../ipc/tunnel-views.ts';
import { t } from '../../messages/translate.ts';
import { signedIn } from '../connection.ts';
import type { AppSession } from '../core.ts';
import { CallFailure } from '../failure.ts';

type Owner = Pick<AppSession, 'tunnelList' | 'signIn' | 'platform'>;

/** Makes a link and copies it: the relay shows it only now. */
export async function createLink(
  owner: Owner,
  key: string,
  request: { readonly note: string; readonly ttl: string; readonly once: boolean },
): Promise<NewLinkView> {
  const { api, id } = atRelay(owner, key);
  const link = await api.createLink(id, request);
  await owner.platform.copy(link.url);
  return { ...view(link), url: link.url };
}

/** newest first */
export async function listLinks(owner: Owner, key: string): Promise<readonly LinkView[]> {
  const { api, id } = atRelay(owner, key);
  return (await api.listLinks(id)).map(view);
}

export async function revokeLink(owner: Owner, key: string, linkId: string): Promise<void> {
  const { api, id } = atRelay(owner, key);
  await unlessGone(api.deleteLink(id, linkId));
}

/** Agents that were admitted by OAuth, oldest first. */
export async function listAgents(owner: Owner, key: string): Promise<readonly AgentView[]> {
  const { api, id } = atRelay(owner, key);
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

export async function revokeAgent(owner: Owner, key: string, agentId: string): Promise<void> {
  const { api, id } = atRelay(owner, key);
  await unlessGone(api.revokeAgent(id, agentId));
}

/** Visitors whose approval is still valid. What an agent was approved for, {@link listAgents} shows. */
export async function listApproved(owner: Owner, key: string): Promise<readonly ApprovedView[]> {
  const { api, id } = atRelay(owner, key);
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

/**
 * Answers an approval request, or revokes an approval.
 *
 * @param ttl lifetime of the approval, a duration string; `undefined` denies or revokes
 */
export async function answerVisitor(
  owner: Owner,
  key: string,
  knockId: string,
  ttl: string | undefined,
): Promise<void> {
  const { api, id, served } = atRelay(owner, key);
  const waits = await unlessGone(api.answerKnock(id, knockId, ttl !== undefined, ttl));
  served.answered(knockId);
  if (waits || ttl === undefined) return;
  throw new CallFailure({ code: 'visitor-gone', text: t('problem.visitorGone') });
}

function atRelay({ tunnelList, signIn }: Owner, key: string) {
  const { served } = tunnelList.find(key);
  return { served, id: served.tunnel.id, api: signedIn(signIn.connection).api };
}

function view({ id, note, expires_at, once, used_at }: Omit<Link, 'created_at'>): LinkView {
  const usedAt = used_at === undefined ? undefined : Date.parse(used_at);
  return { id, note, expiresAt: Date.parse(expires_at), ...(once === true && { once: { usedAt } }) };
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
