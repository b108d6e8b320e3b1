/** The commands of the palette. */
import { t } from '../../i18n/translate.ts';
import type { KnownProject } from '../../shared/project.ts';
import type { OtherTunnelView, TunnelView } from '../../shared/snapshot.ts';
import type { PaletteAct, PaletteEntry } from './palette-entry.ts';
import { isLive } from './tunnel-state.ts';

/** What needs no tunnel. */
export function commands(): readonly PaletteEntry[] {
  return [
    command('new', t('palette.new'), { kind: 'port', port: undefined }, 'Mod+N'),
    command('share', t('project.openFolder'), { kind: 'choose', channel: 'folder:choose' }, 'Mod+Shift+O'),
    command('project', t('project.open'), { kind: 'choose', channel: 'project:choose' }, 'Mod+O'),
    command('settings', t('settings.title'), { kind: 'go', route: { screen: 'settings' } }, 'Mod+,'),
    command('light', t('palette.light'), { kind: 'theme', theme: 'light' }),
    command('dark', t('palette.dark'), { kind: 'theme', theme: 'dark' }),
    command('system', t('palette.system'), { kind: 'theme', theme: 'system' }),
    command('about', t('palette.about'), { kind: 'go', route: { screen: 'about' } }),
    command('sign-out', t('settings.signOut'), { kind: 'call', channel: 'session:sign-out' }),
    command('quit', t('settings.quit'), { kind: 'call', channel: 'app:quit' }),
  ];
}

/** Projects that were opened before. */
export function projectCommands(projects: readonly KnownProject[]): readonly PaletteEntry[] {
  return projects.map(({ name, folder }, index) => ({
    ...command(`project-${index}`, t('project.reopen', { name }), { kind: 'reopen', folder }),
    detail: folder,
    isOneOfMany: true,
  }));
}

/** What can be done with one tunnel. */
export function tunnelCommands(tunnel: TunnelView): readonly PaletteEntry[] {
  const { key, slug, folder } = tunnel;
  const log = oneOf(tunnel, 'log', t('palette.requestsTo', { slug }), {
    kind: 'go',
    route: { screen: 'log', key },
  });
  // What a folder is asked for, is not written by hand.
  const byHand =
    folder === undefined
      ? [
          oneOf(tunnel, 'import', t('palette.importTo', { slug }), { kind: 'import', key }),
          oneOf(tunnel, 'sets', t('palette.setsFor', { slug }), {
            kind: 'go',
            route: { screen: 'sets', key },
          }),
        ]
      : [];
  if (!isLive(tunnel))
    return [
      log,
      ...byHand,
      oneOf(tunnel, 'start', t('palette.startAgain', { slug }), call('tunnel:start', key)),
    ];
  return [copyCommand(tunnel), log, ...byHand, ...liveCommands(tunnel)];
}

/** What can be done with a tunnel that this app does not serve. */
export function otherCommands(tunnel: OtherTunnelView): readonly PaletteEntry[] {
  return tunnel.isStopping ? [copyCommand(tunnel)] : [copyCommand(tunnel), ...liveCommands(tunnel)];
}

type Named = Pick<TunnelView, 'key' | 'slug' | 'url'>;

function copyCommand(tunnel: Named): PaletteEntry {
  const { key, slug, url } = tunnel;
  return oneOf(tunnel, 'copy', t('palette.copyAddress', { slug }), {
    ...call('tunnel:copy-url', key),
    said: t('palette.copied', { url }),
  });
}

function liveCommands(tunnel: Named): readonly PaletteEntry[] {
  const { key, slug } = tunnel;
  return [
    oneOf(tunnel, 'open', t('palette.open', { slug }), call('tunnel:open-url', key)),
    oneOf(tunnel, 'stop', t('palette.stop', { slug }), call('tunnel:stop', key)),
  ];
}

function oneOf({ key }: Named, name: string, label: string, act: PaletteAct): PaletteEntry {
  return { ...command(`${name}-${key}`, label, act), isOneOfMany: true };
}

function command(name: string, label: string, act: PaletteAct, shortcut?: string): PaletteEntry {
  return { id: `command-${name}`, group: 'commands', label, detail: '', shortcut, act };
}

function call(channel: Extract<PaletteAct, { kind: 'tunnel' }>['channel'], key: string) {
  return { kind: 'tunnel', channel, key } as const;
}
