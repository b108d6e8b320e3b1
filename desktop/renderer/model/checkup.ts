/** What is said of a check of the way to the relay and back: hop by hop, and in the end. */
import { t } from '../../i18n/translate.ts';
import type { CheckupView } from '../../shared/snapshot.ts';

/** The hops, in the order in which they are checked. */
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
  'local',
] as const;

/** @param hop its stable name */
export function hopWords(hop: string): string {
  const known = HOPS.find((each) => each === hop);
  return known === undefined ? hop : t(`checkup.hop.${known}`);
}

/** What is being checked now; `undefined` once it is over. */
export function nextHop({ isRunning, results }: CheckupView): string | undefined {
  const next = isRunning ? HOPS[results.length] : undefined;
  return next === undefined ? undefined : hopWords(next);
}

/** The result in a sentence. */
export function checkupWords(view: CheckupView): string {
  const failed = view.results.filter(({ result }) => result === 'failed').map(({ hop }) => hopWords(hop));
  const [first] = failed;
  if (first !== undefined) return t('checkup.stopsAt', { failed: failed.join(', ') });
  if (view.isRunning) return t('checkup.checking');
  return view.results.length === 0 ? t('checkup.notPossible') : t('checkup.works');
}
