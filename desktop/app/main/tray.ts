/** The tray, derived from the snapshot of the window: its menu alone is enough to use a tunnel. */
import { agentWords, hostsOf, type Snapshot, type TunnelView } from '../ipc/snapshot.ts';
import { t } from '../messages/translate.ts';

/** Shapes, not only colours: an arch, a filled one, one with a mark, a struck one. */
export type TrayIcon = 'idle' | 'online' | 'trouble' | 'offline';

export type TrayAction =
  | { readonly do: 'show' | 'new' | 'quit' | 'releases' }
  | { readonly do: 'choose'; readonly channel: 'folder:choose' | 'project:choose' }
  | { readonly do: 'copy' | 'copy-share' | 'open' | 'stop' | 'start'; readonly key: string }
  | { readonly do: 'admit' | 'refuse'; readonly key: string; readonly id: string }
  | { readonly do: 'extend'; readonly key: string; readonly ttl: string };

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

/** With more, a menu is longer than a screen. */
const SHOWN_MAX = 15;
/** The same for visitors of a tunnel. */
const KNOCKS_SHOWN_MAX = 5;
const SEPARATOR: TrayEntry = { kind: 'separator' };

export function trayModel({
  session,
  tunnels,
  hasNetwork,
}: Pick<Snapshot, 'session' | 'tunnels' | 'hasNetwork'>): TrayModel {
  const live = tunnels.filter(({ status }) => status.name !== 'ended');
  const isSignedIn = session.state === 'signed-in';
  const icon = trayIcon(live, isSignedIn, hasNetwork);
  return { icon, tooltip: tooltip(icon, live, isSignedIn), entries: entries(tunnels, isSignedIn) };
}

function trayIcon(live: readonly TunnelView[], isSignedIn: boolean, hasNetwork: boolean): TrayIcon {
  if (!isSignedIn || !hasNetwork) return 'offline';
  if (live.length === 0) return 'idle';
  const isWell = live.every(
    ({ status, localProblem }) => status.name === 'online' && localProblem === undefined,
  );
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

function entries(tunnels: readonly TunnelView[], isSignedIn: boolean): TrayEntry[] {
  const shown = tunnels.slice(0, SHOWN_MAX);
  const list: TrayEntry[] = shown.map((tunnel) => ({
    kind: 'menu',
    label: `${tunnel.slug} → ${tunnel.folder ?? tunnel.localPort} (${[statusWord(tunnel), ...lockWords(tunnel)].join(', ')})`,
    entries: tunnelEntries(tunnel, isSignedIn),
  }));
  if (tunnels.length > shown.length)
    list.push({ kind: 'text', label: t('tray.more', { count: tunnels.length - shown.length }) });
  return [
    ...copyEntry(tunnels),
    ...(list.length > 0 ? [...list, SEPARATOR] : []),
    ...(isSignedIn
      ? newEntries()
      : [{ kind: 'action', label: t('tray.signIn'), action: { do: 'show' } } as const]),
    { kind: 'action', label: t('tray.open'), action: { do: 'show' } },
    SEPARATOR,
    { kind: 'action', label: t('tray.quit'), action: { do: 'quit' } },
  ];
}

/** Ways to open a tunnel: a port, a folder, or a project. */
function newEntries(): TrayEntry[] {
  return [
    { kind: 'action', label: t('tray.newTunnel'), action: { do: 'new' } },
    { kind: 'action', label: t('project.openFolder'), action: { do: 'choose', channel: 'folder:choose' } },
    { kind: 'action', label: t('project.open'), action: { do: 'choose', channel: 'project:choose' } },
  ];
}

/** The most frequent reason to open the menu. */
function copyEntry(tunnels: readonly TunnelView[]): TrayEntry[] {
  const newest = tunnels.find(({ status }) => status.name !== 'ended');
  if (newest === undefined) return [];
  const { key, slug } = newest;
  return [
    { kind: 'action', label: t('tray.copyAddressOf', { slug }), action: { do: 'copy', key } },
    SEPARATOR,
  ];
}

function tunnelEntries(
  { key, status, localProblem, lock, knocks }: TunnelView,
  isSignedIn: boolean,
): TrayEntry[] {
  if (status.name === 'ended') {
    const why: TrayEntry = { kind: 'text', label: status.why };
    // Without a key, nothing can be started.
    if (!isSignedIn) return [why];
    return [why, { kind: 'action', label: t('tray.startAgain'), action: { do: 'start', key } }];
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
          action: { do: 'admit', key, id },
        },
        { kind: 'action', label: t('tray.refuse'), action: { do: 'refuse', key, id } },
      ],
    })),
    ...(lock.kind === 'password' && lock.password !== undefined
      ? [{ kind: 'action', label: t('tray.copyBoth'), action: { do: 'copy-share', key } } as const]
      : []),
    { kind: 'action', label: t('tray.copyAddress'), action: { do: 'copy', key } },
    { kind: 'action', label: t('tray.openInBrowser'), action: { do: 'open', key } },
    { kind: 'action', label: t('tray.extend'), action: { do: 'extend', key, ttl: '1h' } },
    { kind: 'action', label: t('tray.stop'), action: { do: 'stop', key } },
  ];
}

/** The access policy in words, and how many visitors wait; empty if everybody has access. */
function lockWords({ status, lock, knocks }: TunnelView): string[] {
  if (status.name === 'ended') return [];
  const waiting = knocks.length === 0 ? [] : [t('tray.waiting', { count: knocks.length })];
  return [...(lock.kind === 'anyone' ? [] : [t(`lockSummary.${lock.kind}`)]), ...waiting];
}

function statusWord({ status, localProblem }: TunnelView): string {
  switch (status.name) {
    case 'online':
      return localProblem === undefined ? t('tray.status.online') : t('tray.serverSilent');
    case 'connecting':
      return t('tray.status.connecting');
    case 'reconnecting':
      return t('tray.status.reconnecting');
    case 'ended':
      return status.reason === 'expired' ? t('tray.status.expired') : t('tray.status.stopped');
  }
}
