/** Lengths of time, and how much is left of one. */
export const TIME = {
  'time.days': '{days} d',
  'time.daysHours': '{days} d {hours} h',
  'time.hours': '{hours} h',
  'time.hoursMinutes': '{hours} h {minutes} min',
  'time.minutes': '{minutes} min',
  'time.minutesSeconds': '{minutes} min {seconds} s',
  'time.seconds': '{seconds} s',
  'time.left': '{duration} left',
  'time.expiresNow': 'Expires now',
  'time.problem': 'Give a time such as 30m, 4h, 1h30m or 2d; a number alone is minutes.',
  'time.tooLong': 'The relay allows at most {duration}.',
  'latency.milliseconds': '{milliseconds} ms',
  'latency.seconds': '{seconds} s',
  'latency.minutes': '{minutes} min {seconds} s',
} as const;
