/** Names that the account keeps, in words, and the messages that visitors of them read. */
import type { Snapshot, TunnelView } from '../../ipc/snapshot.ts';
import type { KeptNameView } from '../../ipc/tunnel-views.ts';
import { perLocale, t } from '../../messages/translate.ts';
import { isLive, tunnelState } from './tunnel-state.ts';

const clockTimes = perLocale((tag) => new Intl.DateTimeFormat(tag, { hour: 'numeric', minute: '2-digit' }));
const dayTimes = perLocale(
  (tag) =>
    new Intl.DateTimeFormat(tag, {
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      hour: 'numeric',
      minute: '2-digit',
    }),
);

/** The time alone today, and the day with it otherwise. */
function timeWords(time: number, now: number): string {
  const isToday = new Date(time).toDateString() === new Date(now).toDateString();
  return (isToday ? clockTimes() : dayTimes()).format(time);
}

/** @param canResume whether this app remembers its tunnel. @param now wall-clock ms */
export function keptWord({ away, until }: KeptNameView, canResume: boolean, now = Date.now()): string {
  if (away === undefined) return t(canResume ? 'names.paused' : 'names.kept');
  return until === undefined || until <= now
    ? t('names.away')
    : t('names.awayUntil', { time: timeWords(until, now) });
}

/** The state of a tunnel, or what visitors are told while its name has none. @param now wall-clock ms */
export function stateWord(tunnel: TunnelView, kept: KeptNameView | undefined, now: number): string {
  return kept === undefined || isLive(tunnel) ? tunnelState(tunnel, now).word : keptWord(kept, true, now);
}

/** The name about which the window asks whether its visitors may read that this computer sleeps. */
export function nameToAskAbout({
  tunnels,
  names,
  settings,
}: Pick<Snapshot, 'tunnels' | 'names' | 'settings'>): string | undefined {
  if (settings.saysAsleep !== 'ask') return undefined;
  const served = new Set(tunnels.filter(isLive).map(({ name }) => name));
  return names.find(({ key, away }) => served.has(key) && away === undefined)?.key;
}

/* When the owner expects to be back. */

const BACK_CHOICES = ['open', 'hour', 'hours', 'tomorrow'] as const;
/** One of those, or `same` for the time that is set already. */
export type BackChoice = (typeof BACK_CHOICES)[number] | 'same';

const HOUR_MS = 3_600_000;
/** When people are back tomorrow. */
const MORNING_HOUR = 9;

/** @param until the time that is set, if any. @param now wall-clock ms */
export function backChoices(
  until: number | undefined,
  now: number,
): readonly (readonly [value: BackChoice, label: string])[] {
  const time = clockTimes().format(morningAfter(now));
  const choices = BACK_CHOICES.map((choice) => [choice, t(`names.back.${choice}`, { time })] as const);
  return until === undefined ? choices : [['same', timeWords(until, now)], ...choices];
}

/** @returns wall-clock ms; `null` if the owner does not say */
export function backTime(choice: BackChoice, until: number | undefined, now: number): number | null {
  switch (choice) {
    case 'open':
      return null;
    case 'hour':
      return now + HOUR_MS;
    case 'hours':
      return now + 4 * HOUR_MS;
    case 'tomorrow':
      return morningAfter(now);
    case 'same':
      return until ?? null;
  }
}

/** In the user's time zone. */
function morningAfter(now: number): number {
  const day = new Date(now);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1, MORNING_HOUR).getTime();
}
