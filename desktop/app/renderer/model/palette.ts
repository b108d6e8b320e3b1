/** The entries of the command palette, and the search in them. */
import type { RequestSummary } from '../../../client/inspector/records.ts';
import { escapeUnprintable } from '../../../../shared/unprintable.ts';
import {
  leadsTo,
  type OtherTunnelView,
  keptNames,
  type SignInView,
  type Snapshot,
  type TunnelView,
} from '../../ipc/snapshot.ts';
import type { KeptNameView } from '../../ipc/tunnel-views.ts';
import { t } from '../../messages/translate.ts';
import {
  messageAction,
  otherActions,
  projectActions,
  requestActions,
  tunnelActions,
  type WindowAction,
  windowActions,
} from './actions.ts';
import { freePorts, programName } from './create-form.ts';
import { countedBy } from './address.ts';
import { wordsOf } from './filter.ts';
import { stateWord } from './kept-names.ts';
import { statusText, targetText } from './request.ts';
import { hostOf, otherSignIns, signInWords } from './sign-in.ts';
import { isLive, otherState } from './tunnel-state.ts';

/** Entries per group; the user types more to see others. */
const MOST_OF_GROUP = 6;
/** Tunnels with a digit as shortcut. */
const MOST_NUMBERED = 9;
const GROUPS: readonly PaletteGroup[] = ['tunnels', 'requests', 'ports', 'accounts', 'commands'];

/** The requests of logs, newest first, by key of their tunnel. */
export type PaletteLogs = ReadonlyMap<string, readonly RequestSummary[]>;

/**
 * All entries, the likeliest of each group first.
 *
 * @param now wall-clock ms
 * @param logs the logs that were read; without its log, a tunnel has its last few requests
 */
export function paletteEntries(
  {
    tunnels,
    others,
    names,
    ports,
    projects,
    signIns,
  }: Pick<Snapshot, 'tunnels' | 'others' | 'names' | 'ports' | 'projects' | 'signIns'>,
  now: number,
  logs: PaletteLogs = new Map(),
): readonly PaletteEntry[] {
  const kept = keptNames(tunnels, names);
  const unused = names.filter((name) => !name.isLive && ![...kept.values()].includes(name));
  return [
    ...tunnels.map((tunnel, index) => tunnelEntry(tunnel, kept.get(tunnel.key), index, now)),
    ...others.map(otherEntry),
    ...requestEntries(tunnels, logs),
    ...freePorts(ports, tunnels).map((view) => portEntry(view.port, programName(view))),
    ...otherSignIns({ signIns }).map(signInEntry),
    ...[
      ...windowActions(),
      ...projectActions(projects),
      ...tunnels.flatMap((tunnel) => tunnelActions(tunnel, kept.has(tunnel.key))),
      ...tunnels.flatMap(requestActions),
      ...others.flatMap(otherActions),
      ...unused.map(({ key }) => messageAction(key, `name-${key}`)),
    ].map((action): PaletteEntry => ({ detail: '', ...action, group: 'commands' })),
  ];
}

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
  const ranked = [...entries, ...typedPort(entries, tunnels, typed.trim())].flatMap((entry) => {
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
 * How well an entry matches a word: 0 if its title begins with it, then a word of the title, then another name of the
 * command, then anything else about it. Infinity if it does not match.
 */
function rankOf({ group, title, detail, names = '' }: PaletteEntry, word: string): number {
  const text = title.toLowerCase();
  if (text.startsWith(word)) return 0;
  if (hasWordFrom(text, word)) return 1;
  if (hasWordFrom(names, word)) return 2;
  const rest = `${text} ${detail} ${t(`palette.group.${group}`)}`.toLowerCase();
  return rest.includes(word) ? 3 : Infinity;
}

function hasWordFrom(text: string, start: string): boolean {
  return text.split(/\s+/).some((word) => word.startsWith(start));
}

function tunnelEntry(
  tunnel: TunnelView,
  kept: KeptNameView | undefined,
  index: number,
  now: number,
): PaletteEntry {
  const { key, slug, localPort, folder, framework } = tunnel;
  const parts = [
    folder === undefined ? `localhost:${localPort}` : leadsTo(tunnel),
    framework,
    stateWord(tunnel, kept, now),
  ];
  return {
    id: `tunnel-${key}`,
    group: 'tunnels',
    title: slug,
    detail: parts.filter((part) => part !== undefined).join(' · '),
    keys: index < MOST_NUMBERED ? `Mod+${index + 1}` : undefined,
    run: (acts) => acts.show(cardFocus(tunnel), key),
  };
}

/** A tunnel that this app does not serve. */
function otherEntry(tunnel: OtherTunnelView): PaletteEntry {
  const { key, slug, localPort } = tunnel;
  const { word, where } = otherState(tunnel);
  return {
    id: `tunnel-${key}`,
    group: 'tunnels',
    title: slug,
    detail: `${t('common.leadsToPort', { port: localPort })} · ${where} · ${word}`,
    run: (acts) => acts.show(`copy-${key}`, key),
  };
}

function portEntry(port: number, detail = ''): PaletteEntry {
  return {
    id: `port-${port}`,
    group: 'ports',
    title: t('palette.newTunnelTo', { port }),
    detail,
    only: 'app',
    run: (acts) => acts.newTunnel(port),
  };
}

/** A relay and account whose tunnels the window can show instead. */
function signInEntry(signIn: SignInView): PaletteEntry {
  const { id, account, relay } = signIn;
  return {
    id: `sign-in-${id}`,
    group: 'accounts',
    title: account,
    detail: signInWords(signIn, hostOf(relay)),
    only: 'app',
    run: ({ call }) => call('session:choose', { id }),
  };
}

/** A port that nothing is known about yet, but that somebody types; three digits are rather a status. */
function typedPort(
  entries: readonly PaletteEntry[],
  tunnels: readonly TunnelView[],
  typed: string,
): readonly PaletteEntry[] {
  const port = /^\d{4,5}$/.test(typed) ? Number(typed) : 0;
  if (port > 65_535 || port === 0 || tunnels.some(({ localPort }) => localPort === port)) return [];
  const entry = portEntry(port);
  return entries.some(({ id }) => id === entry.id) ? [] : [entry];
}

/** The requests of each tunnel, newest first. */
function requestEntries(tunnels: readonly TunnelView[], logs: PaletteLogs): readonly PaletteEntry[] {
  return tunnels
    .flatMap(({ key, slug, recent }) => (logs.get(key) ?? recent).map((request) => ({ key, slug, request })))
    .toSorted((one, other) => other.request.startedAt - one.request.startedAt)
    .map(({ key, slug, request }) => ({
      id: `request-${key}-${request.id}`,
      group: 'requests',
      title: `${escapeUnprintable(request.method)} ${targetText(request)}`,
      detail: `${statusText(request)} · ${slug}`,
      run: (acts) => acts.go({ screen: 'request', key, id: request.id }),
    }));
}

function searches(tunnels: readonly TunnelView[], typed: string): readonly PaletteEntry[] {
  return tunnels
    .filter(({ recent }) => recent.length > 0)
    .map(({ key, slug, url }) => ({
      id: `search-${key}`,
      group: 'search',
      title: t('palette.requestsWith', { slug, typed, kind: countedBy({ url }) }),
      detail: '',
      run: (acts) => acts.search(key, typed),
    }));
}

/* The types of the command palette. */

export type PaletteGroup = 'tunnels' | 'requests' | 'ports' | 'accounts' | 'commands' | 'search';

export interface PaletteEntry extends WindowAction {
  readonly group: PaletteGroup;
  /** shown beside the title, in a lighter colour */
  readonly detail: string;
}
