/** The tray, derived from the snapshot of the window: its menu alone is enough to use a tunnel. */
import {
  agentWords,
  hostsOf,
  isTroubled,
  keptNames,
  type Snapshot,
  type TunnelView,
} from '../ipc/snapshot.ts';
import type { KeptNameView } from '../ipc/tunnel-views.ts';
import { t } from '../messages/translate.ts';
import type { Core } from './core.ts';
import type { Asked } from './handlers/channels.ts';
import { APPROVED_TTL, EXTEND_TTL } from './notices.ts';
import { Feed } from './signals.ts';

/** Shapes, not only colours: an arch, a filled one, one with a mark, a struck one. */
export type TrayIcon = 'idle' | 'online' | 'trouble' | 'offline';

/** What the window and the tray do alike is one row of the channels; only the tray shows the window. */
export type TrayAction =
  { readonly do: 'show' | 'new' } | { readonly do: 'message'; readonly key: string } | Asked;

export type TrayEntry =
  | { readonly kind: 'separator' }
  | { readonly kind: 'text'; readonly label: string }
  | { readonly kind: 'action'; readonly label: string; readonly action: TrayAction }
  | { readonly kind: 'menu'; readonly label: string; readonly entries: readonly TrayEntry[] };

export interface TrayModel {
  readonly icon: TrayIcon;
  readonly tooltip: string;
  readonly entries: readonly TrayEntry[];
}

/**
 * Minimum interval between two updates of the tray menu: a menu that is rebuilt while it is open closes on some
 * Linux desktops.
 */
const TRAY_INTERVAL_MS = 1000;

export function trayFeed(core: Core): Feed<TrayModel> {
  const { platform, changed, localeChanged } = core;
  const feed = new Feed({
    clock: platform.clock,
    intervalMs: TRAY_INTERVAL_MS,
    make: () =>
      trayModel(
        core.sessions.map((session) => session.view()),
        platform.hasNetwork(),
      ),
  });
  for (const signal of [changed, localeChanged]) signal.listen(() => feed.changed());
  return feed;
}

/** With more, a menu is longer than a screen. */
const SHOWN_MAX = 15;
/** The same for visitors of a tunnel. */
const KNOCKS_SHOWN_MAX = 5;
const SEPARATOR: TrayEntry = { kind: 'separator' };

/** @param signIns with the tunnels of each */
export function trayModel(
  signIns: readonly Pick<Snapshot, 'session' | 'tunnels' | 'names'>[],
  hasNetwork: boolean,
): TrayModel {
  const items = signIns.flatMap(({ session, tunnels, names }) => {
    const kept = keptNames(tunnels, names);
    const isSignedIn = session.state === 'signed-in';
    return tunnels.map((tunnel): TrayItem => ({ tunnel, kept: kept.get(tunnel.key), isSignedIn }));
  });
  const live = items.map(({ tunnel }) => tunnel).filter(({ status }) => status.name !== 'ended');
  const isSignedIn = signIns.some(({ session }) => session.state === 'signed-in');
  const icon = trayIcon(live, isSignedIn, hasNetwork);
  return { icon, tooltip: tooltip(icon, live, isSignedIn), entries: entries(items, isSignedIn) };
}

/** A tunnel in the menu. */
interface TrayItem {
  readonly tunnel: TunnelView;
  /** its name, if the account keeps that */
  readonly kept: KeptNameView | undefined;
  /** whether its account is signed in */
  readonly isSignedIn: boolean;
}

function trayIcon(live: readonly TunnelView[], isSignedIn: boolean, hasNetwork: boolean): TrayIcon {
  if (!isSignedIn || !hasNetwork) return 'offline';
  if (live.length === 0) return 'idle';
  const isWell = live.every((tunnel) => tunnel.status.name === 'online' && !isTroubled(tunnel));
  return isWell ? 'online' : 'trouble';
}

function tooltip(icon: TrayIcon, live: readonly TunnelView[], isSignedIn: boolean): string {
  if (!isSignedIn) return t('tray.signedOut');
  const count = live.length;
  switch (icon) {
    case 'idle':
      return t('tray.noTunnels');
    case 'online':
      return t('tray.online', { count });
    case 'offline':
      return t('tray.noNetwork');
    case 'trouble': {
      const online = live.filter(({ status }) => status.name === 'online').length;
      return online === live.length
        ? t('tray.someTrouble', { count })
        : t('tray.someOnline', { online, count });
    }
  }
}

function entries(items: readonly TrayItem[], isSignedIn: boolean): TrayEntry[] {
  const shown = items.slice(0, SHOWN_MAX);
  const list: TrayEntry[] = shown.map((item) => {
    const { tunnel, kept } = item;
    const words = [statusWord(tunnel, kept), ...lockWords(tunnel)];
    return {
      kind: 'menu',
      label: `${tunnel.slug} → ${tunnel.folder ?? tunnel.localPort} (${words.join(', ')})`,
      entries: tunnelEntries(item),
    };
  });
  if (items.length > shown.length)
    list.push({ kind: 'text', label: t('tray.more', { count: items.length - shown.length }) });
  return [
    ...copyEntry(items),
    ...(list.length > 0 ? [...list, SEPARATOR] : []),
    ...(isSignedIn
      ? newEntries()
      : [{ kind: 'action', label: t('tray.signIn'), action: { do: 'show' } } as const]),
    { kind: 'action', label: t('tray.open'), action: { do: 'show' } },
    SEPARATOR,
    { kind: 'action', label: t('tray.quit'), action: { channel: 'app:quit', payload: undefined } },
  ];
}

/** Ways to open a tunnel: a port, a folder, or a project. */
function newEntries(): TrayEntry[] {
  return [
    { kind: 'action', label: t('tray.newTunnel'), action: { do: 'new' } },
    {
      kind: 'action',
      label: t('project.openFolder'),
      action: { channel: 'folder:choose', payload: undefined },
    },
    { kind: 'action', label: t('project.open'), action: { channel: 'project:choose', payload: undefined } },
  ];
}

/** The most frequent reason to open the menu. */
function copyEntry(items: readonly TrayItem[]): TrayEntry[] {
  const newest = items.find(({ tunnel }) => tunnel.status.name !== 'ended');
  if (newest === undefined) return [];
  const { key, slug } = newest.tunnel;
  return [
    {
      kind: 'action',
      label: t('tray.copyAddressOf', { slug }),
      action: { channel: 'tunnel:copy-url', payload: { key } },
    },
    SEPARATOR,
  ];
}

function tunnelEntries({ tunnel, kept, isSignedIn }: TrayItem): TrayEntry[] {
  const { key, name, status, localProblem, lock, knocks } = tunnel;
  if (status.name === 'ended') {
    const why: TrayEntry = { kind: 'text', label: status.why };
    // Without a key, nothing can be started.
    if (!isSignedIn) return [why];
    return [
      why,
      {
        kind: 'action',
        label: t(kept === undefined ? 'tray.startAgain' : 'names.resume'),
        action: { channel: 'tunnel:start', payload: { key } },
      },
      ...messageEntry(key, kept),
    ];
  }
  return [
    ...(localProblem === undefined ? [] : [{ kind: 'text', label: localProblem.text } as const]),
    ...knocks.slice(0, KNOCKS_SHOWN_MAX).map(({ id, address, agent, client }): TrayEntry => ({
      kind: 'menu',
      label:
        client === undefined
          ? t('tray.knocks', { agent: agentWords(agent), address })
          : t('tray.agentKnocks', hostsOf(client)),
      entries: [
        {
          kind: 'action',
          label: t(client === undefined ? 'tray.admit' : 'knocks.admit'),
          action: { channel: 'knock:admit', payload: { key, id, ttl: APPROVED_TTL } },
        },
        {
          kind: 'action',
          label: t('tray.refuse'),
          action: { channel: 'knock:refuse', payload: { key, id } },
        },
      ],
    })),
    ...(lock.kind === 'password' && lock.password !== undefined
      ? [
          {
            kind: 'action',
            label: t('tray.copyBoth'),
            action: { channel: 'tunnel:copy-share', payload: { key } },
          } as const,
        ]
      : []),
    {
      kind: 'action',
      label: t('tray.copyAddress'),
      action: { channel: 'tunnel:copy-url', payload: { key } },
    },
    {
      kind: 'action',
      label: t('tray.openInBrowser'),
      action: { channel: 'tunnel:open-url', payload: { key } },
    },
    {
      kind: 'action',
      label: t('tray.extend'),
      action: { channel: 'tunnel:extend', payload: { key, ttl: EXTEND_TTL } },
    },
    ...messageEntry(key, kept),
    // A random name would be another one after the pause.
    ...(name === ''
      ? []
      : [
          {
            kind: 'action',
            label: t('names.pause'),
            action: { channel: 'tunnel:pause', payload: { key } },
          } as const,
        ]),
    { kind: 'action', label: t('tray.stop'), action: { channel: 'tunnel:stop', payload: { key } } },
  ];
}

/** The access policy in words, and how many visitors wait; empty if everybody has access. */
function lockWords({ status, lock, knocks }: TunnelView): string[] {
  if (status.name === 'ended') return [];
  const waiting = knocks.length === 0 ? [] : [t('tray.waiting', { count: knocks.length })];
  return [...(lock.kind === 'anyone' ? [] : [t(`lockSummary.${lock.kind}`)]), ...waiting];
}

function messageEntry(key: string, kept: KeptNameView | undefined): TrayEntry[] {
  if (kept === undefined) return [];
  return [{ kind: 'action', label: t('tray.message'), action: { do: 'message', key } }];
}

function statusWord({ status, localProblem }: TunnelView, kept: KeptNameView | undefined): string {
  switch (status.name) {
    case 'online':
      return localProblem === undefined ? t('tray.status.online') : t('tray.serverSilent');
    case 'connecting':
      return t('tray.status.connecting');
    case 'reconnecting':
      return t('tray.status.reconnecting');
    case 'ended':
      if (kept !== undefined) return t(kept.away === undefined ? 'tray.status.paused' : 'tray.status.away');
      return status.reason === 'expired' ? t('tray.status.expired') : t('tray.status.stopped');
  }
}
