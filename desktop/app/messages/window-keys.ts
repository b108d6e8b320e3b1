import type { TextKey } from './translate.ts';

/** The keys of the window and what they do. `Mod` is Control, or Command on macOS. */
export const WINDOW_KEYS = [
  ['?', 'keys.this'],
  ['Mod+K', 'keys.palette'],
  ['Mod+1 … Mod+9', 'keys.tunnel'],
  ['Mod+N', 'keys.new'],
  ['Mod+O', 'keys.project'],
  ['Mod+Shift+O', 'keys.folder'],
  ['Mod+,', 'keys.settings'],
  ['Mod+Z', 'keys.undo'],
  ['F6', 'keys.pane'],
  ['Esc', 'keys.back'],
  ['/', 'keys.search'],
  ['↑ ↓, k j', 'keys.move'],
  ['PgUp PgDn, Home End', 'keys.page'],
  ['r', 'keys.replay'],
  ['e', 'keys.edit'],
  ['c', 'keys.curl'],
  ['Mod+Enter', 'keys.send'],
  ['Mod+F', 'keys.find'],
  ['← →, *', 'keys.tree'],
] as const satisfies readonly (readonly [keys: string, text: TextKey])[];
