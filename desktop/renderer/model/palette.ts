/** What the command palette offers, and what of it matches what is typed. */
import { t } from '../../i18n/translate.ts';
import { escapeUnprintable } from '../../../shared/unprintable.ts';
import { leadsTo } from '../../shared/leads-to.ts';
import type { OtherTunnelView, Snapshot, TunnelView } from '../../shared/snapshot.ts';
import { matchesAll, wordsOf } from './filter.ts';
import { commands, otherCommands, projectCommands, tunnelCommands } from './palette-commands.ts';
import { otherState } from './other-tunnel.ts';
import type { PaletteEntry, PaletteGroup } from './palette-entry.ts';
import { freePorts, programName } from './ports.ts';
import { statusText, targetText } from './request.ts';
import { isLive, tunnelState } from './tunnel-state.ts';

/** Of each group: who needs others types more. */
const MOST_OF_GROUP = 6;
/** Tunnels that a digit leads to. */
const MOST_NUMBERED = 9;
const GROUPS: readonly PaletteGroup[] = ['tunnels', 'requests', 'ports', 'commands', 'search'];

/** Everything that can be chosen, the likeliest of each group first. @param now wall-clock ms */
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
    ...others.flatMap(otherCommands),
  ];
}

/** Id of what people want first of the card of a tunnel. */
export function cardFocus(tunnel: TunnelView): string {
  return `${isLive(tunnel) ? 'copy' : 'start'}-${tunnel.key}`;
}

/**
 * The entries that have every word that is typed, by group, and ways to look for the words in the logs. Without a word, commands
 * of single tunnels are left out.
 */
export function foundEntries(
  entries: readonly PaletteEntry[],
  tunnels: readonly TunnelView[],
  typed: string,
): readonly PaletteEntry[] {
  const words = wordsOf(typed);
  const found = entries.filter((entry) =>
    words.length === 0
      ? entry.isOneOfMany !== true
      : matchesAll(`${t(`palette.group.${entry.group}`)} ${entry.label} ${entry.detail}`, words),
  );
  const all = words.length === 0 ? found : [...found, ...searches(tunnels, typed.trim())];
  return GROUPS.flatMap((group) => all.filter((entry) => entry.group === group).slice(0, MOST_OF_GROUP));
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

/** The last few of each tunnel, newest first. */
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
