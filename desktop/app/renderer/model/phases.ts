/** How a request has spent its time, in consecutive phases. */
import type { RequestDetail } from '../../../client/inspector/records.ts';
import { t } from '../../messages/translate.ts';
import { capitalised, latencyText } from './numbers.ts';

export interface Phase {
  readonly name: 'waiting' | 'connection' | 'server' | 'rest';
  /** `undefined` while it lasts */
  readonly ms: number | undefined;
}

/** The phases of a request so far. Each ends where the next begins. */
export function phases({
  timing,
  durationMs,
}: Pick<RequestDetail, 'timing' | 'durationMs'>): readonly Phase[] {
  const { waitedMs, connectedMs, answeredMs } = timing;
  const found: Phase[] = [{ name: 'waiting', ms: waitedMs }];
  /** ends of the phases, from the first byte of the request, in this order */
  let from = 0;
  const add = (name: Phase['name'], until: number | undefined): void => {
    found.push({ name, ms: until === undefined ? undefined : until - from });
    from = until ?? from;
  };
  add('connection', connectedMs ?? answeredMs ?? durationMs);
  if (connectedMs !== undefined) add('server', answeredMs ?? durationMs);
  if (answeredMs !== undefined) add('rest', durationMs);
  return found;
}

/** The parts of the whole, from 0 to 1 each. A running phase fills a bar that is otherwise empty. */
export function shares(all: readonly Phase[]): readonly { name: Phase['name']; share: number }[] {
  const total = all.reduce((sum, { ms = 0 }) => sum + ms, 0);
  return all.map(({ name, ms }) => {
    if (total === 0) return { name, share: ms === undefined ? 1 : 0 };
    return { name, share: (ms ?? 0) / total };
  });
}

/** `Your server 45 ms · relay 4 ms · connect 0 ms`: the server first. @param isBroken whether the last one was cut off */
export function phaseWords(all: readonly Phase[], isBroken: boolean): string {
  const server = all.filter(({ name }) => name === 'server');
  const words = [...server, ...all.filter(({ name }) => name !== 'server')].map(({ name, ms }) => {
    const open = isBroken ? t('request.timeBrokeOff') : t('request.soFar');
    return t(`request.phase.${name}`, { took: ms === undefined ? open : latencyText(ms) });
  });
  return capitalised(words.join(' · '));
}
