/** Words for the diagnostics of the path to the relay and back: hop by hop, and the overall result. */
import type { DiagnosticsView, Snapshot } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';

/** The hops, in the order of the checks. */
const HOPS = [
  'dns',
  'connect',
  'tls',
  'relay',
  'key',
  'control',
  'data',
  'address',
  'trunk',
  'compress',
  'local',
] as const;

/** @param hop its stable name */
export function hopWords(hop: string): string {
  const known = HOPS.find((each) => each === hop);
  return known === undefined ? hop : t(`checkup.hop.${known}`);
}

/** The hop being checked; `undefined` at the end. */
export function nextHop({ isRunning, results }: DiagnosticsView): string | undefined {
  const next = isRunning ? HOPS[results.length] : undefined;
  return next === undefined ? undefined : hopWords(next);
}

/** The overall result in a sentence. */
export function diagnosticsWords(view: DiagnosticsView): string {
  const failed = view.results.filter(({ result }) => result === 'failed').map(({ hop }) => hopWords(hop));
  const [first] = failed;
  if (first !== undefined) return t('checkup.stopsAt', { failed: failed.join(', ') });
  if (view.isRunning) return t('checkup.checking');
  return view.results.length === 0 ? t('checkup.notPossible') : t('checkup.works');
}

/** Why nothing, or not everything, can be reached at the moment: reported once, however many tunnels are affected. */
export interface OutageView {
  readonly text: string;
  /** wall-clock ms of the next attempt; `undefined` if none is planned */
  readonly retryAt: number | undefined;
}

/**
 * Reports only the cause nearest to the user. A single lost tunnel reports it on its own card if the relay is
 * reachable.
 */
export function outageView({
  session,
  tunnels,
  hasNetwork,
}: Pick<Snapshot, 'session' | 'tunnels' | 'hasNetwork'>): OutageView | undefined {
  if (!hasNetwork) {
    const text = t('outage.noNetwork');
    return { text, retryAt: undefined };
  }
  const lost = tunnels.map(({ status }) => status).filter((status) => status.name === 'reconnecting');
  const retryAt = lost.length === 0 ? undefined : Math.min(...lost.map((status) => status.retryAt));
  const problem = session.state === 'signed-in' ? session.problem : undefined;
  if (problem !== undefined) return { text: problem.text, retryAt };
  // The app contacts the relay only occasionally, so its tunnels notice an outage first.
  const [first] = lost;
  return lost.length < 2 || first === undefined ? undefined : { text: first.why, retryAt };
}
