import { isLines, type Sayable } from '../engine/said/said.ts';
import { acceptedText } from './accepted-text.ts';
import { refusalText } from './refusal-text.ts';
import { t } from './translate.ts';

/** What the engine or a relay has said, in the user's language. */
export function told(said: Sayable): string {
  if (typeof said === 'string') return said;
  if (isLines(said)) return said.map(told).join('\n');
  if ('accepted' in said) return acceptedText(said.accepted);
  if ('refusal' in said) return refusalText(said);
  const values = Object.entries(said.values).map(([name, value]) => {
    return [name, typeof value === 'number' ? value : told(value)] as const;
  });
  return t(said.code, Object.fromEntries(values));
}
