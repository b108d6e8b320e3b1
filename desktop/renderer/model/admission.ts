/** For how long a visitor who knocks is let in. */
import { t } from '../../i18n/translate.ts';

export const ADMISSIONS = ['hour', 'today', 'week'] as const;
export type AdmissionChoice = (typeof ADMISSIONS)[number];

const MINUTE_MS = 60_000;

/** What a choice is called. */
export function admissionWords(choice: AdmissionChoice): string {
  return t(`knocks.for.${choice}`);
}

/**
 * @param now wall-clock ms; today ends at midnight where the user is
 * @returns a duration string
 */
export function admissionTtl(choice: AdmissionChoice, now: number): string {
  switch (choice) {
    case 'hour':
      return '1h';
    case 'today':
      return `${Math.max(1, Math.ceil((midnightAfter(now) - now) / MINUTE_MS))}m`;
    case 'week':
      return '168h';
  }
}

function midnightAfter(now: number): number {
  const day = new Date(now);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1).getTime();
}
