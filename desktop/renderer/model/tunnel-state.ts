/** What a card shows of a tunnel's state: a shape and a word, so that neither needs colour to be understood. */
import { t } from '../../i18n/translate.ts';
import type { TunnelStatus, TunnelView } from '../../shared/snapshot.ts';
import { expiresSoon } from './time-left.ts';

export type Shape = 'online' | 'soon' | 'trouble' | 'connecting' | 'reconnecting' | 'ended';

export interface TunnelState {
  readonly shape: Shape;
  readonly word: string;
}

const ENDS = ['stopped', 'closed', 'expired', 'gone', 'replaced', 'key-refused', 'refused'] as const;

function endedWord(reason: string): string {
  const known = ENDS.find((each) => each === reason);
  return known === undefined ? t('state.ended') : t(`state.ended.${known}`);
}

/** @param now wall-clock ms */
export function tunnelState(tunnel: TunnelView, now: number): TunnelState {
  switch (tunnel.status.name) {
    case 'connecting':
      return { shape: 'connecting', word: t('state.connecting') };
    case 'reconnecting':
      return { shape: 'reconnecting', word: t('state.reconnecting') };
    case 'ended':
      return { shape: 'ended', word: endedWord(tunnel.status.reason) };
    case 'online':
      if (tunnel.localProblem !== undefined) return { shape: 'trouble', word: t('state.needsServer') };
      if (expiresSoon(tunnel.expiresAt, tunnel.ttl, now))
        return { shape: 'soon', word: t('state.expiresSoon') };
      return { shape: 'online', word: t('state.online') };
  }
}

/** Whether visitors can reach it, now or when the connection is back. */
export function isLive(tunnel: TunnelView): boolean {
  return tunnel.status.name !== 'ended';
}

/** Words for an attempt that is about to be made: `Trying again in 4 s.` */
export function retryWords(
  status: Pick<Extract<TunnelStatus, { name: 'reconnecting' }>, 'retryAt'>,
  now: number,
): string {
  const seconds = Math.ceil((status.retryAt - now) / 1000);
  return seconds > 0 ? t('state.tryingIn', { seconds }) : t('state.tryingNow');
}
