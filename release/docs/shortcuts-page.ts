/** Generates shortcuts.md from the keys of the terminal view, and from the keys of the window. */
import { EN } from '../../desktop/app/messages/en.ts';
import { WINDOW_KEYS } from '../../desktop/app/messages/window-keys.ts';
import { KEYS } from '../../desktop/cli/view/frame.ts';
import { code, markdownTable, pageStart, sentence } from './page.ts';

/** Keys of the request log in the terminal. */
const LOG_KEYS: Readonly<Record<string, string>> = {
  '↑ ↓, k j': 'Move through the requests, or scroll an open one.',
  'PgUp PgDn, Space': 'Move by one page.',
  Enter: 'Show the request and its response.',
  '/': 'Search the method, path, status and visitor address.',
  r: 'Send the request to the local service again.',
  'Esc, i, q': 'Go back.',
};

/** Works in any program, and can be changed. */
const GLOBAL_KEY = [
  'Ctrl+Alt+Shift+C',
  'Show the newest address from within any program. Press the shortcut twice to copy the address. You can change the shortcut in the settings.',
] as const;

/** @returns the whole page */
export function shortcutsPage(): string {
  return [
    pageStart(
      'Keyboard shortcuts',
      'desktop/cli/view/frame.ts, desktop/app/messages/window-keys.ts and release/docs/shortcuts-page.ts',
      'These are the keyboard shortcuts for the terminal view and the desktop app.',
    ),
    '## Terminal view\n',
    'While `culvert http`, `culvert share` or `culvert start` is running in a terminal:\n',
    keyTable(Object.fromEntries(KEYS)),
    'In the request log, which `i` opens:\n',
    keyTable(LOG_KEYS),
    '## Window\n',
    'On macOS, use Cmd instead of Ctrl.\n',
    keyTable(
      Object.fromEntries([
        GLOBAL_KEY,
        ...WINDOW_KEYS.map(([keys, text]) => [keys.replaceAll('Mod+', 'Ctrl+'), EN[text]]),
      ]),
    ),
  ].join('\n');
}

function keyTable(keys: Readonly<Record<string, string>>): string {
  return markdownTable(
    ['key', 'action'],
    Object.entries(keys).map(([key, action]) => [code(key), sentence(action)]),
  );
}
