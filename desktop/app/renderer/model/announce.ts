/** The announcements of a screen reader when one snapshot replaces another: changes of state, never numbers. */
import type { Snapshot, TunnelView } from '../../ipc/snapshot.ts';
import { agentWords } from '../../ipc/views.ts';
import { t } from '../../messages/translate.ts';

/** At most this many sentences together; the rest are only counted. */
const MOST = 3;

/** @returns sentences, the most important first; empty if there is no relevant change */
export function announcements(previous: Snapshot | undefined, next: Snapshot): readonly string[] {
  if (previous?.session.state !== 'signed-in' || next.session.state !== 'signed-in') return [];
  const sentences: string[] = [];
  if (previous.hasNetwork && !next.hasNetwork) sentences.push(t('announce.noNetwork'));
  if (previous.session.problem === undefined && next.session.problem !== undefined) {
    sentences.push(next.session.problem.text);
  }
  const before = new Map(previous.tunnels.map((tunnel) => [tunnel.key, tunnel]));
  for (const tunnel of next.tunnels) {
    const sentence = changeOf(before.get(tunnel.key), tunnel);
    if (sentence !== undefined) sentences.push(sentence);
    sentences.push(...newApprovalRequests(before.get(tunnel.key), tunnel));
  }
  if (sentences.length <= MOST) return sentences;
  return [...sentences.slice(0, MOST), t('announce.more', { count: sentences.length - MOST })];
}

function newApprovalRequests(before: TunnelView | undefined, { slug, knocks }: TunnelView): string[] {
  const known = new Set(before?.knocks.map(({ id }) => id));
  return knocks
    .filter(({ id }) => !known.has(id))
    .map(({ agent }) => t('announce.wantsIn', { agent: agentWords(agent), slug }));
}

function changeOf(
  before: TunnelView | undefined,
  { slug, status, localProblem }: TunnelView,
): string | undefined {
  if (before?.status.name !== status.name) {
    switch (status.name) {
      case 'connecting':
        return undefined;
      case 'online':
        return t('announce.online', { slug });
      case 'reconnecting':
        return t('announce.lost', { slug });
      case 'ended':
        // A tunnel that had ended before the window knew it is not news.
        return before === undefined ? undefined : t('announce.ended', { slug, why: status.why });
    }
  }
  if (status.name !== 'online' || before.localProblem?.code === localProblem?.code) return undefined;
  return localProblem === undefined ? t('announce.reaches', { slug }) : `${slug}: ${localProblem.text}`;
}
