import type { Settings } from '../../shared/snapshot.ts';

/**
 * What the user has set and main has not confirmed yet. A snapshot that was on its way before a change does not undo it.
 *
 * @returns the wishes that the settings do not fulfil; the same object if all are left
 */
export function openWishes(wishes: Partial<Settings>, settings: Settings): Partial<Settings> {
  const names = Object.keys(wishes) as (keyof Settings)[];
  const open = names.filter((name) => wishes[name] !== settings[name]);
  if (open.length === names.length) return wishes;
  return Object.fromEntries(open.map((name) => [name, wishes[name]]));
}
