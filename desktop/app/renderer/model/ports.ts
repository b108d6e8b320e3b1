/** Suggestions of the port field, and hints about the typed port. */
import { LOCAL_PORT_MAX, LOCAL_PORT_MIN, parsePort } from '../../../../shared/value-rules.ts';
import type { PortView, TunnelView } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import { isLive } from './tunnel-state.ts';

/** Nobody reads more. */
const MOST_SUGGESTIONS = 8;

/** @returns the port, or what to change */
export function readPort(text: string): number | string {
  const trimmed = text.trim();
  if (trimmed === '') return t('port.type');
  return parsePort(trimmed) ?? t('port.accepted', { min: LOCAL_PORT_MIN, max: LOCAL_PORT_MAX });
}

/** Ports with a listener and without a live tunnel, likeliest first. */
export function freePorts(ports: readonly PortView[], tunnels: readonly TunnelView[]): readonly PortView[] {
  const used = new Set(
    tunnels
      .filter((tunnel) => isLive(tunnel) && tunnel.folder === undefined)
      .map(({ localPort }) => localPort),
  );
  return ports.filter(({ port }) => !used.has(port));
}

/**
 * Ports whose number, program or framework contains the typed text. A text that equals one of them does not narrow the
 * list: that port comes first, followed by all others.
 */
export function suggestedPorts(ports: readonly PortView[], typed: string): readonly PortView[] {
  const text = typed.trim().toLowerCase();
  const typedOne = ports.find(({ port }) => String(port) === text);
  const found =
    typedOne === undefined
      ? ports.filter((view) => words(view).some((word) => word.includes(text)))
      : [typedOne, ...ports.filter((view) => view !== typedOne)];
  return found.slice(0, MOST_SUGGESTIONS);
}

/** The common name of the program that listens; `undefined` if unknown. */
export function programName({ framework, process }: PortView): string | undefined {
  return framework ?? process;
}

/** The hint beside the typed port: `Astro is here`, `nothing here yet`, or nothing while it is not a port. */
export function portHint(typed: string, ports: readonly PortView[]): string | undefined {
  const port = readPort(typed);
  if (typeof port === 'string') return undefined;
  const found = ports.find((view) => view.port === port);
  if (found === undefined) return t('port.nothingYet');
  const program = programName(found);
  return program === undefined ? t('port.aProgramIsHere') : t('port.programIsHere', { program });
}

function words(view: PortView): readonly string[] {
  return [String(view.port), view.process ?? '', view.framework ?? ''].map((word) => word.toLowerCase());
}
