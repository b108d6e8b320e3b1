import { t } from '../../i18n/translate.ts';
import type { Snapshot } from '../../shared/snapshot.ts';

/** Why nothing, or not all, can be reached for now: said once, however many tunnels it concerns. */
export interface OutageView {
  readonly text: string;
  /** wall-clock ms of the next attempt; `undefined` if there is none to wait for */
  readonly retryAt: number | undefined;
}

/** Only the cause nearest to the user. A single tunnel that is lost while the relay is there says so on its own card. */
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
  // The app asks the relay only now and then, and its tunnels notice first.
  const [first] = lost;
  return lost.length < 2 || first === undefined ? undefined : { text: first.why, retryAt };
}
