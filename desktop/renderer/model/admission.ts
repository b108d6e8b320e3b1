/** For how long a visitor who knocks is let in. */

export interface AdmissionChoice {
  readonly id: 'hour' | 'today' | 'week';
  readonly label: string;
}

export const ADMISSIONS: readonly AdmissionChoice[] = [
  { id: 'hour', label: 'for 1 hour' },
  { id: 'today', label: 'for today' },
  { id: 'week', label: 'for 7 days' },
];

const MINUTE_MS = 60_000;

/**
 * @param now wall-clock ms; today ends at midnight where the user is
 * @returns a duration string
 */
export function admissionTtl(id: AdmissionChoice['id'], now: number): string {
  switch (id) {
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
