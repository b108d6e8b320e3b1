/** The entries of the command palette, and the search in them. */
import { escapeUnprintable } from '../../../../shared/unprintable.ts';
import {
  leadsTo,
  type OtherTunnelView,
  type Settings,
  type Snapshot,
  type TunnelView,
} from '../../ipc/snapshot.ts';
import type { KnownProject } from '../../ipc/tunnel-views.ts';
import { LANGUAGE_NAMES, LANGUAGES, t } from '../../messages/translate.ts';
import type { Channels } from '../bridge.ts';
import { freePorts, programName } from './create-form.ts';
import { wordsOf } from './filter.ts';
import { statusText, targetText } from './request.ts';
import type { Route } from './route.ts';
import { isLive, otherState, tunnelState } from './tunnel-state.ts';

/** Entries per group; the user types more to see others. */
const MOST_OF_GROUP = 6;
/** Tunnels with a digit as shortcut. */
const MOST_NUMBERED = 9;
const GROUPS: readonly PaletteGroup[] = ['tunnels', 'requests', 'ports', 'commands'];

/** All entries, the likeliest of each group first. @param now wall-clock ms */
export function paletteEntries(
  { tunnels, others, ports, projects }: Pick<Snapshot, 'tunnels' | 'others' | 'ports' | 'projects'>,
  now: number,
): readonly PaletteEntry[] {
  return [
    ...tunnels.map((tunnel, index) => tunnelEntry(tunnel, index, now)),
    ...others.map(otherEntry),
    ...requestEntries(tunnels),
    ...freePorts(ports, tunnels).map((view): PaletteEntry => ({
      id: `port-${view.port}`,
      group: 'ports',
      label: t('palette.newTunnelTo', { port: view.port }),
      detail: programName(view) ?? '',
      act: { kind: 'port', port: view.port },
    })),
    ...commands(),
    ...projectCommands(projects),
    ...tunnels.flatMap(tunnelCommands),
    ...tunnels.flatMap(requestCommands),
    ...others.flatMap(otherCommands),
  ];
}

/** Whether a window has what an entry does. */
export function canDo(
  act: PaletteAct,
  { isBrowser, isOfCommand }: { readonly isBrowser: boolean; readonly isOfCommand: boolean },
): boolean {
  // In a browser, the program ends in its terminal.
  if (act.kind === 'call' && act.channel === 'app:quit' && isBrowser) return false;
  if (!isOfCommand) return true;
  if (act.kind === 'tunnel') return act.channel !== 'tunnel:stop' && act.channel !== 'tunnel:start';
  if (act.kind === 'go') return act !== TEAM;
  return !APP_ACTS.has(act.kind);
}

/** What the window of a command has not: new tunnels, folders, projects, and the account. */
const APP_ACTS: ReadonlySet<PaletteAct['kind']> = new Set(['port', 'choose', 'reopen', 'call']);

/** The team is a part of the settings. */
const TEAM: PaletteAct = { kind: 'go', route: { screen: 'settings' } };

/** Id of the control that users want first on the card of a tunnel. */
export function cardFocus(tunnel: TunnelView): string {
  return `${isLive(tunnel) ? 'copy' : 'start'}-${tunnel.key}`;
}

/**
 * The entries that match every typed word, the best match first, and entries that search the logs for the words.
 * Without a word, commands of single tunnels are left out.
 */
export function foundEntries(
  entries: readonly PaletteEntry[],
  tunnels: readonly TunnelView[],
  typed: string,
): readonly PaletteEntry[] {
  const words = wordsOf(typed);
  const ranked = entries.flatMap((entry) => {
    if (words.length === 0) return entry.isOneOfMany === true ? [] : [{ entry, rank: 0 }];
    const ranks = words.map((word) => rankOf(entry, word));
    return ranks.includes(Infinity) ? [] : [{ entry, rank: ranks.reduce((sum, rank) => sum + rank, 0) }];
  });
  const groups = GROUPS.map((group) => ({
    best: Math.min(...ranked.filter(({ entry }) => entry.group === group).map(({ rank }) => rank)),
    entries: ranked
      .filter(({ entry }) => entry.group === group)
      .toSorted((one, other) => one.rank - other.rank)
      .slice(0, MOST_OF_GROUP)
      .map(({ entry }) => entry),
  })).toSorted((one, other) => (one.best === other.best ? 0 : one.best - other.best));
  const found = groups.flatMap((group) => group.entries);
  return words.length === 0 ? found : [...found, ...searches(tunnels, typed.trim()).slice(0, MOST_OF_GROUP)];
}

/**
 * How well an entry matches a word: 0 if its label begins with it, then a word of the label, then another name of the
 * command, then anything else about it. Infinity if it does not match.
 */
function rankOf({ group, label, detail, names = '' }: PaletteEntry, word: string): number {
  const text = label.toLowerCase();
  if (text.startsWith(word)) return 0;
  if (hasWordFrom(text, word)) return 1;
  if (hasWordFrom(names, word)) return 2;
  const rest = `${text} ${detail} ${t(`palette.group.${group}`)}`.toLowerCase();
  return rest.includes(word) ? 3 : Infinity;
}

function hasWordFrom(text: string, start: string): boolean {
  return text.split(/\s+/).some((word) => word.startsWith(start));
}

function tunnelEntry(tunnel: TunnelView, index: number, now: number): PaletteEntry {
  const { key, slug, localPort, folder, framework } = tunnel;
  const parts = [
    folder === undefined ? `localhost:${localPort}` : leadsTo(tunnel),
    framework,
    tunnelState(tunnel, now).word,
  ];
  return {
    id: `tunnel-${key}`,
    group: 'tunnels',
    label: slug,
    detail: parts.filter((part) => part !== undefined).join(' · '),
    shortcut: index < MOST_NUMBERED ? `Mod+${index + 1}` : undefined,
    act: { kind: 'show', focus: cardFocus(tunnel) },
  };
}

/** A tunnel that this app does not serve. */
function otherEntry(tunnel: OtherTunnelView): PaletteEntry {
  const { key, slug, localPort } = tunnel;
  const { word, where } = otherState(tunnel);
  return {
    id: `tunnel-${key}`,
    group: 'tunnels',
    label: slug,
    detail: `${t('common.leadsToPort', { port: localPort })} · ${where} · ${word}`,
    act: { kind: 'show', focus: `copy-${key}` },
  };
}

/** The last few requests of each tunnel, newest first. */
function requestEntries(tunnels: readonly TunnelView[]): readonly PaletteEntry[] {
  return tunnels
    .flatMap(({ key, slug, recent }) => recent.map((request) => ({ key, slug, request })))
    .toSorted((one, other) => other.request.startedAt - one.request.startedAt)
    .map(({ key, slug, request }) => ({
      id: `request-${key}-${request.id}`,
      group: 'requests',
      label: `${escapeUnprintable(request.method)} ${targetText(request)}`,
      detail: `${statusText(request)} · ${slug}`,
      act: { kind: 'go', route: { screen: 'request', key, id: request.id } },
    }));
}

function searches(tunnels: readonly TunnelView[], typed: string): readonly PaletteEntry[] {
  return tunnels
    .filter(({ recent }) => recent.length > 0)
    .map(({ key, slug }) => ({
      id: `search-${key}`,
      group: 'search',
      label: t('palette.requestsWith', { slug, typed }),
      detail: '',
      act: { kind: 'search', key, search: typed },
    }));
}

/* The commands of the palette. */

/** Commands that need no tunnel. */
export function commands(): readonly PaletteEntry[] {
  return [
    named('new', command('new', t('palette.new'), { kind: 'port', port: undefined }, 'Mod+N')),
    named(
      'share',
      command('share', t('project.openFolder'), { kind: 'choose', channel: 'folder:choose' }, 'Mod+Shift+O'),
    ),
    command('project', t('project.open'), { kind: 'choose', channel: 'project:choose' }, 'Mod+O'),
    named(
      'settings',
      command('settings', t('settings.title'), { kind: 'go', route: { screen: 'settings' } }, 'Mod+,'),
    ),
    named('team', command('team', t('palette.team'), TEAM)),
    named('keys', command('keys', t('keys.title'), { kind: 'keys' }, '?')),
    named('diagnose', command('diagnose', t('palette.diagnose'), { kind: 'diagnose', key: undefined })),
    command('light', t('palette.light'), { kind: 'setting', changes: { theme: 'light' } }),
    command('dark', t('palette.dark'), { kind: 'setting', changes: { theme: 'dark' } }),
    command('system', t('palette.system'), { kind: 'setting', changes: { theme: 'system' } }),
    ...LANGUAGES.map((language) =>
      named(
        `language.${language}`,
        command(`language-${language}`, t('palette.language', { name: LANGUAGE_NAMES[language] }), {
          kind: 'setting',
          changes: { language },
        }),
      ),
    ),
    command('about', t('palette.about'), { kind: 'go', route: { screen: 'about' } }),
    named(
      'signOut',
      command('sign-out', t('settings.signOut'), { kind: 'call', channel: 'session:sign-out' }),
    ),
    named('quit', command('quit', t('settings.quit'), { kind: 'call', channel: 'app:quit' })),
  ];
}

/** What can be done with the last few requests of a tunnel. */
function requestCommands({ key, recent }: TunnelView): readonly PaletteEntry[] {
  return recent.flatMap((request) => {
    const { id } = request;
    const what = `${escapeUnprintable(request.method)} ${targetText(request)}`;
    const detail = statusText(request);
    const one = (name: string, label: string, act: PaletteAct): PaletteEntry => ({
      ...command(`${name}-${key}-${id}`, label, act),
      detail,
      isOneOfMany: true,
    });
    return [
      named('replay', one('replay', t('palette.replay', { what }), { kind: 'replay', key, id })),
      named(
        'edit',
        one('edit', t('palette.edit', { what }), { kind: 'go', route: { screen: 'edit', key, id } }),
      ),
      named('curl', one('curl', t('palette.curl', { what }), { kind: 'curl', key, id })),
    ];
  });
}

/** Commands that open previous projects. */
function projectCommands(projects: readonly KnownProject[]): readonly PaletteEntry[] {
  return projects.map(({ name, folder }, index) => ({
    ...command(`project-${index}`, t('project.reopen', { name }), { kind: 'reopen', folder }),
    detail: folder,
    isOneOfMany: true,
  }));
}

/** Commands for a tunnel. */
function tunnelCommands(tunnel: TunnelView): readonly PaletteEntry[] {
  const { key, slug, folder } = tunnel;
  const log = named(
    'log',
    oneOf(tunnel, 'log', t('palette.requestsTo', { slug }), { kind: 'go', route: { screen: 'log', key } }),
  );
  // Requests to a folder are not written by hand.
  const byHand =
    folder === undefined
      ? [oneOf(tunnel, 'import', t('palette.importTo', { slug }), { kind: 'import', key })]
      : [];
  if (!isLive(tunnel))
    return [
      log,
      ...byHand,
      oneOf(tunnel, 'start', t('palette.startAgain', { slug }), call('tunnel:start', key)),
    ];
  const press = (part: CardPart) =>
    named(part, oneOf(tunnel, part, t(`palette.${part}`, { slug }), { kind: 'press', key, part }));
  return [
    copyCommand(tunnel),
    log,
    ...byHand,
    press('lock'),
    press('extend'),
    press('qr'),
    named(
      'diagnose',
      oneOf(tunnel, 'diagnose', t('palette.diagnoseOf', { slug }), { kind: 'diagnose', key }),
    ),
    ...liveCommands(tunnel),
  ];
}

/** Commands for a tunnel that this app does not serve. */
function otherCommands(tunnel: OtherTunnelView): readonly PaletteEntry[] {
  return tunnel.isStopping ? [copyCommand(tunnel)] : [copyCommand(tunnel), ...liveCommands(tunnel)];
}

type Named = Pick<TunnelView, 'key' | 'slug' | 'url'>;

function copyCommand(tunnel: Named): PaletteEntry {
  const { key, slug, url } = tunnel;
  const act = { ...call('tunnel:copy-url', key), said: t('palette.copied', { url }) };
  return named('copy', oneOf(tunnel, 'copy', t('palette.copyAddress', { slug }), act));
}

function liveCommands(tunnel: Named): readonly PaletteEntry[] {
  const { key, slug } = tunnel;
  return [
    named('open', oneOf(tunnel, 'open', t('palette.open', { slug }), call('tunnel:open-url', key))),
    named('stop', oneOf(tunnel, 'stop', t('palette.stop', { slug }), call('tunnel:stop', key))),
  ];
}

function oneOf({ key }: Named, name: string, label: string, act: PaletteAct): PaletteEntry {
  return { ...command(`${name}-${key}`, label, act), isOneOfMany: true };
}

/** Other words for a command, which people type but do not see. */
type CommandName =
  | 'new'
  | 'share'
  | 'settings'
  | 'team'
  | 'keys'
  | 'diagnose'
  | 'signOut'
  | 'quit'
  | 'replay'
  | 'edit'
  | 'curl'
  | 'log'
  | 'lock'
  | 'extend'
  | 'qr'
  | 'copy'
  | 'open'
  | 'stop'
  | `language.${(typeof LANGUAGES)[number]}`;

function named(name: CommandName, entry: PaletteEntry): PaletteEntry {
  return { ...entry, names: t(`palette.names.${name}`).toLowerCase() };
}

function command(name: string, label: string, act: PaletteAct, shortcut?: string): PaletteEntry {
  return { id: `command-${name}`, group: 'commands', label, detail: '', shortcut, act };
}

function call(channel: Extract<PaletteAct, { kind: 'tunnel' }>['channel'], key: string) {
  return { kind: 'tunnel', channel, key } as const;
}

/* The types of the command palette. */

export type PaletteGroup = 'tunnels' | 'requests' | 'ports' | 'commands' | 'search';

export interface PaletteEntry {
  readonly id: string;
  readonly group: PaletteGroup;
  readonly label: string;
  /** shown beside the label, in a lighter colour */
  readonly detail: string;
  /** other words that find it, in lower case */
  readonly names?: string;
  /** shortcut that does the same without the palette; `Mod` is Control, or Command on macOS */
  readonly shortcut?: string | undefined;
  /** whether each tunnel or project has such an entry, which is shown only to users who type */
  readonly isOneOfMany?: boolean;
  readonly act: PaletteAct;
}

/** The parts of a card that its buttons unfold. */
export type CardPart = 'lock' | 'extend' | 'qr';

/** Channels that need only the tunnel. */
type TunnelChannel = Extract<
  keyof Channels,
  'tunnel:copy-url' | 'tunnel:open-url' | 'tunnel:stop' | 'tunnel:start'
>;

export type PaletteAct =
  | { readonly kind: 'go'; readonly route: Route }
  /** opens the list, and focuses a control of a card */
  | { readonly kind: 'show'; readonly focus: string }
  /** searches the log of a tunnel */
  | { readonly kind: 'search'; readonly key: string; readonly search: string }
  /** opens the form of a new tunnel, for a port or unchanged */
  | { readonly kind: 'port'; readonly port: number | undefined }
  /** `said` is the result, if it is shown only here */
  | { readonly kind: 'tunnel'; readonly channel: TunnelChannel; readonly key: string; readonly said?: string }
  /** asks what to import into the log of a tunnel */
  | { readonly kind: 'import'; readonly key: string }
  | { readonly kind: 'setting'; readonly changes: Partial<Settings> }
  /** opens the list, and presses a button of a card */
  | { readonly kind: 'press'; readonly key: string; readonly part: CardPart }
  /** shows the keys of the window */
  | { readonly kind: 'keys' }
  /** of a tunnel, or of the relay alone */
  | { readonly kind: 'diagnose'; readonly key: string | undefined }
  /** sends a request again, and shows the result */
  | { readonly kind: 'replay'; readonly key: string; readonly id: number }
  /** copies a request as a curl command */
  | { readonly kind: 'curl'; readonly key: string; readonly id: number }
  | { readonly kind: 'call'; readonly channel: 'session:sign-out' | 'app:quit' }
  /** closes the palette and opens a dialog of the system */
  | { readonly kind: 'choose'; readonly channel: 'folder:choose' | 'project:choose' }
  /** shows the tunnels of a previous project */
  | { readonly kind: 'reopen'; readonly folder: string };
