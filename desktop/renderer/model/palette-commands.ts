/** The commands of the palette. */
import type { TunnelView } from '../../shared/snapshot.ts';
import type { PaletteAct, PaletteEntry } from './palette-entry.ts';
import { isLive } from './tunnel-state.ts';

/** What needs no tunnel. */
export const COMMANDS: readonly PaletteEntry[] = [
  command('New tunnel', { kind: 'port', port: undefined }, 'Mod+N'),
  command('Settings', { kind: 'go', route: { screen: 'settings' } }, 'Mod+,'),
  command('Light theme', { kind: 'theme', theme: 'light' }),
  command('Dark theme', { kind: 'theme', theme: 'dark' }),
  command('Theme of the system', { kind: 'theme', theme: 'system' }),
  command('About Culvert', { kind: 'go', route: { screen: 'about' } }),
  command('Sign out', { kind: 'call', channel: 'session:sign-out' }),
  command('Quit Culvert', { kind: 'call', channel: 'app:quit' }),
];

/** What can be done with one tunnel. */
export function tunnelCommands(tunnel: TunnelView): readonly PaletteEntry[] {
  const { key, slug, url } = tunnel;
  const one = (label: string, act: PaletteAct): PaletteEntry => {
    const entry = command(label, act);
    return { ...entry, id: `${entry.id}-${key}`, isOfTunnel: true };
  };
  const log = one(`Requests to ${slug}`, { kind: 'go', route: { screen: 'log', key } });
  if (!isLive(tunnel)) return [log, one(`Start ${slug} again`, call('tunnel:start', key))];
  return [
    one(`Copy the address of ${slug}`, { ...call('tunnel:copy-url', key), said: `${url} is copied.` }),
    log,
    one(`Open ${slug}`, call('tunnel:open-url', key)),
    one(`Stop ${slug}`, call('tunnel:stop', key)),
  ];
}

function command(label: string, act: PaletteAct, shortcut?: string): PaletteEntry {
  // An id has no spaces.
  const id = `command-${label.replaceAll(' ', '-')}`;
  return { id, group: 'Commands', label, detail: '', shortcut, act };
}

function call(channel: Extract<PaletteAct, { kind: 'tunnel' }>['channel'], key: string) {
  return { kind: 'tunnel', channel, key } as const;
}
