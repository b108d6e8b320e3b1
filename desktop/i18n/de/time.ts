import type { Translation } from '../translation.ts';
import type { TIME } from '../en/time.ts';

export const TIME_DE: Translation<typeof TIME> = {
  'time.days': '{days, plural, one {# Tag} other {# Tage}}',
  'time.daysHours': '{days, plural, one {# Tag} other {# Tage}} {hours} Std.',
  'time.hours': '{hours} Std.',
  'time.hoursMinutes': '{hours} Std. {minutes} Min.',
  'time.minutes': '{minutes} Min.',
  'time.minutesSeconds': '{minutes} Min. {seconds} Sek.',
  'time.seconds': '{seconds} Sek.',
  'time.left': 'noch {duration}',
  'time.expiresNow': 'Läuft jetzt ab',
  'time.problem': 'Geben Sie eine Dauer an, etwa 30m, 4h, 1h30m oder 2d; eine Zahl allein sind Minuten.',
  'time.tooLong': 'Mehr als {duration} erlaubt das Relay nicht.',
  'latency.milliseconds': '{milliseconds} ms',
  'latency.seconds': '{seconds} s',
  'latency.minutes': '{minutes} min {seconds} s',
};
