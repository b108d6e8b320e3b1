/** What a card shows of a tunnel's state: a shape and a word, so that neither needs colour to be understood. */
import type { TunnelStatus, TunnelView } from '../../shared/snapshot.ts';
import { expiresSoon } from './time-left.ts';

export type Shape = 'online' | 'soon' | 'trouble' | 'connecting' | 'reconnecting' | 'ended';

export interface TunnelState {
  readonly shape: Shape;
  readonly word: string;
}

const ENDED_WORDS: Readonly<Record<string, string>> = {
  stopped: 'Stopped',
  closed: 'Closed',
  expired: 'Expired',
  gone: 'Gone',
  replaced: 'Taken over',
  'key-refused': 'Key refused',
  refused: 'Refused',
};

/** @param now wall-clock ms */
export function tunnelState(tunnel: TunnelView, now: number): TunnelState {
  switch (tunnel.status.name) {
    case 'connecting':
      return { shape: 'connecting', word: 'Connecting' };
    case 'reconnecting':
      return { shape: 'reconnecting', word: 'Reconnecting' };
    case 'ended':
      return { shape: 'ended', word: ENDED_WORDS[tunnel.status.reason] ?? 'Ended' };
    case 'online':
      if (tunnel.localProblem !== undefined) return { shape: 'trouble', word: 'Needs your server' };
      if (expiresSoon(tunnel.expiresAt, tunnel.ttl, now)) return { shape: 'soon', word: 'Expires soon' };
      return { shape: 'online', word: 'Online' };
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
  return seconds > 0 ? `Trying again in ${seconds} s.` : 'Trying again now.';
}
