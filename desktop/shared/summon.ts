/** Shortcuts that summon the window from anywhere, as Electron writes them, in the order in which they are offered. */
export const SUMMON_SHORTCUTS = [
  'CommandOrControl+Alt+Shift+C',
  'CommandOrControl+Shift+Space',
  'CommandOrControl+Alt+Space',
  'Alt+Shift+C',
  'off',
] as const;

export type SummonShortcut = (typeof SUMMON_SHORTCUTS)[number];
