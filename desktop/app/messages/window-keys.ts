import type { TextKey } from './translate.ts';

/** The parts of the window in whose terms the keys are listed. */
export const KEY_GROUPS = ['anywhere', 'requests', 'request', 'editor', 'tree'] as const;

interface KeyRow {
  /** `Mod` is Control, or Command on macOS */
  readonly keys: string;
  readonly text: Extract<TextKey, `keys.${string}`>;
  readonly group: (typeof KEY_GROUPS)[number];
  /**
   * which windows have it, by default all: `app` excludes the window of a command, `desktop` also browsers, whose tabs
   * keep such keys for themselves
   */
  readonly only?: 'app' | 'desktop';
}

/** The keys of the window and what they do. */
export const WINDOW_KEYS: readonly KeyRow[] = [
  { keys: 'Mod+K', text: 'keys.palette', group: 'anywhere' },
  { keys: 'Mod+N', text: 'keys.new', group: 'anywhere', only: 'desktop' },
  { keys: 'Mod+O', text: 'keys.project', group: 'anywhere', only: 'desktop' },
  { keys: 'Mod+Shift+O', text: 'keys.folder', group: 'anywhere', only: 'app' },
  { keys: 'Mod+1 … Mod+9', text: 'keys.tunnel', group: 'anywhere' },
  { keys: 'Mod+,', text: 'keys.settings', group: 'anywhere' },
  { keys: 'Mod+Z', text: 'keys.undo', group: 'anywhere' },
  { keys: 'F6', text: 'keys.pane', group: 'anywhere' },
  { keys: 'Esc', text: 'keys.back', group: 'anywhere' },
  { keys: '?', text: 'keys.this', group: 'anywhere' },
  { keys: '/', text: 'keys.search', group: 'requests' },
  { keys: '↑ ↓ k j', text: 'keys.move', group: 'requests' },
  { keys: 'Enter', text: 'keys.open', group: 'requests' },
  { keys: 'PgUp PgDn', text: 'keys.page', group: 'requests' },
  { keys: 'Home End', text: 'keys.ends', group: 'requests' },
  { keys: 'r', text: 'keys.replay', group: 'request' },
  { keys: 'e', text: 'keys.edit', group: 'request' },
  { keys: 'c', text: 'keys.curl', group: 'request' },
  { keys: 'Mod+F', text: 'keys.find', group: 'request' },
  { keys: 'Mod+Enter', text: 'keys.send', group: 'editor' },
  { keys: '← →', text: 'keys.fold', group: 'tree' },
  { keys: '*', text: 'keys.level', group: 'tree' },
  { keys: 'A … Z', text: 'keys.name', group: 'tree' },
];
