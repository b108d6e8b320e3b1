/** The state of tunnels in words, and what a screen reader announces of it. */
import {
  type OtherTunnelView,
  type Settings,
  type Snapshot,
  type TunnelStatus,
  type TunnelView,
  whoAsks,
} from '../../ipc/snapshot.ts';
import { WHOLE_LOG } from '../../ipc/request-views.ts';
import type { ProjectTunnelView, TunnelAccessView } from '../../ipc/tunnel-views.ts';
import { t } from '../../messages/translate.ts';
import { accessLine, accessWords } from './access.ts';
import { isRaw } from './address.ts';
import { chosenSignIn } from './sign-in.ts';
import { expiresSoon } from './time-left.ts';

/* The announcements of a screen reader when one snapshot replaces another: changes of state, never numbers. */

/** At most this many sentences together; the rest are only counted. */
const MOST = 3;

/** @returns sentences, the most important first; empty if there is no relevant change */
export function announcements(previous: Snapshot | undefined, next: Snapshot): readonly string[] {
  if (previous === undefined || next.session.state !== 'signed-in') return [];
  if (previous.session.state !== 'signed-in' || chosenSignIn(previous) !== chosenSignIn(next))
    return [t('announce.signedIn', { name: next.session.account.name })];
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
    .map((request) => t('announce.wantsIn', { agent: whoAsks(request), slug }));
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

/* The state of a tunnel: a shape and a word, so that neither depends on colour. */

export type Shape = 'online' | 'soon' | 'trouble' | 'connecting' | 'reconnecting' | 'ended';

export interface TunnelState {
  readonly shape: Shape;
  readonly word: string;
}

const ENDS = ['stopped', 'closed', 'expired', 'gone', 'replaced', 'key-refused', 'refused'] as const;

function endedWord(reason: string): string {
  const known = ENDS.find((each) => each === reason);
  return known === undefined ? t('state.ended') : t(`state.ended.${known}`);
}

/** @param now wall-clock ms */
export function tunnelState(tunnel: TunnelView, now: number): TunnelState {
  switch (tunnel.status.name) {
    case 'connecting':
      return { shape: 'connecting', word: t('state.connecting') };
    case 'reconnecting':
      return { shape: 'reconnecting', word: t('state.reconnecting') };
    case 'ended':
      return { shape: 'ended', word: endedWord(tunnel.status.reason) };
    case 'online':
      if (tunnel.localProblem !== undefined) return { shape: 'trouble', word: t('state.needsServer') };
      if (expiresSoon(tunnel.expiresAt, tunnel.ttl, now))
        return { shape: 'soon', word: t('state.expiresSoon') };
      return { shape: 'online', word: t('state.online') };
  }
}

/** Whether visitors can reach it, now or after a reconnect. */
export function isLive(tunnel: TunnelView): boolean {
  return tunnel.status.name !== 'ended';
}

/** From this number on, tunnels without traffic are rows, so that the busy ones stay in view. */
const FOLDED_FROM = 2;
/** A tunnel without traffic for this long is idle. */
const IDLE_MS = 10 * 60_000;

/** Whether a tunnel has had no traffic for a while, and needs no attention. @param now wall-clock ms */
export function isIdle(tunnel: TunnelView, now: number): boolean {
  if (tunnelState(tunnel, now).shape !== 'online' || tunnel.knocks.length > 0) return false;
  const { recent, expiresAt, ttl } = tunnel;
  // A tunnel that was created or extended a moment ago is in use as well.
  const lastMs = Math.max(recent[0]?.startedAt ?? 0, expiresAt - ttl * 1000);
  return now - lastMs >= IDLE_MS;
}

/** Whether idle tunnels of a list are folded. */
export function foldsIdle(tunnels: readonly TunnelView[]): boolean {
  return tunnels.length >= FOLDED_FROM;
}

/** The tunnels as the list shows them: in the same order, but the idle ones last if they are folded. */
export function byActivity(tunnels: readonly TunnelView[], now: number): readonly TunnelView[] {
  if (!foldsIdle(tunnels)) return tunnels;
  const idle = new Set(tunnels.filter((tunnel) => isIdle(tunnel, now)));
  return idle.size === 0
    ? tunnels
    : [...tunnels.filter((tunnel) => !idle.has(tunnel)), ...tunnels.filter((tunnel) => idle.has(tunnel))];
}

/** Tunnels below a heading of the rail. */
export interface TunnelGroup {
  /** name of their project; `undefined` for those without one */
  readonly project: string | undefined;
  readonly tunnels: readonly TunnelView[];
}

/** The tunnels as the rail shows them: those without a project, then each project, in the same order. */
export function byProject(tunnels: readonly TunnelView[]): readonly TunnelGroup[] {
  const groups = Map.groupBy(tunnels, ({ project }) => project?.name);
  return [...groups]
    .map(([project, own]) => ({ project, tunnels: own }))
    .toSorted((one, other) => Number(one.project !== undefined) - Number(other.project !== undefined));
}

/** What visitors meet, in a word or two: whether they are asked for something, and how many wait. */
export function doorWords({ lock, knocks }: Pick<TunnelView, 'lock' | 'knocks'>): string | undefined {
  if (knocks.length > 0) return t('tunnels.waitingOf', { lock: accessWords(lock), count: knocks.length });
  return lock.kind === 'anyone' ? undefined : accessWords(lock);
}

/** Announces the next attempt: `Trying again in 4 s.` */
export function retryWords(
  status: Pick<Extract<TunnelStatus, { name: 'reconnecting' }>, 'retryAt'>,
  now: number,
): string {
  const seconds = Math.ceil((status.retryAt - now) / 1000);
  return seconds > 0 ? t('state.tryingIn', { seconds }) : t('state.tryingNow');
}

/* The tunnels of a project, as they are chosen and shown. */

/** Whether the user can start it. */
export function isOffered({ status: { name } }: Pick<ProjectTunnelView, 'status'>): boolean {
  return name === 'ready' || name === 'failed';
}

/** The word for its state; `undefined` without one. */
export function statusWord({ status }: Pick<ProjectTunnelView, 'status'>): string | undefined {
  switch (status.name) {
    case 'online':
      return t('project.online');
    case 'starting':
      return t('project.starting');
    case 'started':
      return t('project.started');
    case 'ready':
    case 'blocked':
    case 'failed':
      return undefined;
  }
}

/** The access policy and the lifetime, in a few words. */
export function rulesWords({ lock, ttl }: Pick<ProjectTunnelView, 'lock' | 'ttl'>): string {
  const who = lock === undefined ? t('project.lockUnknown') : whoWords(lock);
  return ttl === undefined ? who : `${who} · ${t('project.ttl', { ttl })}`;
}

/** Includes the addresses, if any, because the user has to see them. */
function whoWords(lock: TunnelAccessView): string {
  if (lock.kind !== 'addresses') return accessWords(lock);
  const { label, value } = accessLine(lock);
  return `${label} ${value}`;
}

/**
 * Settings that the user has changed and main has not confirmed yet. A snapshot sent before the change does not undo
 * it.
 *
 * @returns the wishes that the settings do not fulfil; the same object if all remain
 */
export function openWishes(wishes: Partial<Settings>, settings: Settings): Partial<Settings> {
  const names = Object.keys(wishes) as (keyof Settings)[];
  const open = names.filter((name) => wishes[name] !== settings[name]);
  if (open.length === names.length) return wishes;
  return Object.fromEntries(open.map((name) => [name, wishes[name]]));
}

/** A tunnel whose requests the window shows. */
export type LoggedTunnel = Pick<TunnelView, 'key' | 'slug' | 'url' | 'log' | 'logView'> & {
  readonly isOnline: boolean;
  /** whether visitors can reach it, now or after a reconnect */
  readonly isLive: boolean;
  readonly shapeAt: (now: number) => Shape;
  /** whether its log is here, where it can be cleared */
  readonly isOwn: boolean;
  /** whether requests can be added by hand */
  readonly canImport: boolean;
};

/** Whether requests can be added by hand: not to a folder, and not to a TLS or TCP tunnel, which has none. */
export function takesImports(tunnel: Pick<TunnelView, 'folder' | 'url'>): boolean {
  return tunnel.folder === undefined && !isRaw(tunnel);
}

/** One of this app, or one that another program of this user serves on this machine. */
export function loggedTunnel(
  { tunnels, others }: Pick<Snapshot, 'tunnels' | 'others'>,
  key: string,
): LoggedTunnel | undefined {
  const own = tunnels.find((tunnel) => tunnel.key === key);
  const isOnline = own?.status.name === 'online';
  if (own !== undefined)
    return {
      ...own,
      isOnline,
      isLive: isLive(own),
      shapeAt: (now) => tunnelState(own, now).shape,
      isOwn: true,
      canImport: takesImports(own),
    };
  const other = others.find((tunnel) => tunnel.key === key);
  const log = other?.log;
  if (other === undefined || log === undefined) return undefined;
  const shapeAt = (): Shape => otherState(other).shape;
  return { ...other, log, isLive: true, shapeAt, logView: WHOLE_LOG, isOwn: false, canImport: false };
}

/** The state of a tunnel that this app does not serve, and who serves it. */
export function otherState({
  isOnline,
  log,
  isStopping,
}: Pick<OtherTunnelView, 'isOnline' | 'log' | 'isStopping'>): TunnelState & { readonly where: string } {
  const where =
    log !== undefined ? t('others.commandHere') : isOnline ? t('others.elsewhere') : t('others.notConnected');
  if (isStopping) return { shape: 'ended', word: t('others.stopping'), where };
  return isOnline
    ? { shape: 'online', word: t('state.online'), where }
    : { shape: 'ended', word: t('others.offline'), where };
}
