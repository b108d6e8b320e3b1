/** Generates shortcuts.md from the keys of the terminal view, and the keys of the window below. */
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

/** Keys of the window. On macOS, Cmd takes the place of Ctrl. */
const WINDOW_KEYS: Readonly<Record<string, string>> = {
  'Ctrl+Alt+Shift+C':
    'Show the newest address from within any program. Press the shortcut twice to copy the address. You can change the shortcut in the settings.',
  'Ctrl+K': 'Open the command palette.',
  'Ctrl+1 … Ctrl+9': 'Go to one of the first nine tunnels. Press Enter to copy its address.',
  'Ctrl+N': 'Go to the port field for a new tunnel.',
  'Ctrl+O': 'Open a project.',
  'Ctrl+Shift+O': 'Share a folder.',
  'Ctrl+,': 'Open the settings.',
  'Ctrl+F':
    'Search the log, or the body of an open request. Enter goes to the next match, and Shift+Enter goes to the previous one.',
  'Ctrl+Z': 'Undo Stop, Remove, Clear or Sign out.',
  F6: 'Go to the next pane, or to the previous one with Shift.',
  '/': 'Search the request log, or a long list of tunnels.',
  Esc: 'Clear a search, collapse a section, or go back.',
  '↑ ↓, k j':
    'Move through the requests, and press Enter to open one. In the port field, move through the ports in use.',
  'PgUp PgDn, Home End': 'Move by one page, or go to the newest or oldest request.',
  '← →, *':
    'Collapse or expand a node in a tree; * expands a whole level. Type a letter to go to the next name that begins with it.',
};

/** @returns the whole page */
export function shortcutsPage(): string {
  return [
    pageStart(
      'Keyboard shortcuts',
      'desktop/cli/view/frame.ts and release/docs/shortcuts-page.ts',
      'These are the keyboard shortcuts for the terminal view and the desktop app.',
    ),
    '## Terminal view\n',
    'While `culvert http`, `culvert share` or `culvert start` is running in a terminal:\n',
    keyTable(Object.fromEntries(KEYS)),
    'In the request log, which `i` opens:\n',
    keyTable(LOG_KEYS),
    '## Window\n',
    'On macOS, use Cmd instead of Ctrl.\n',
    keyTable(WINDOW_KEYS),
  ].join('\n');
}

function keyTable(keys: Readonly<Record<string, string>>): string {
  return markdownTable(
    ['key', 'action'],
    Object.entries(keys).map(([key, action]) => [code(key), sentence(action)]),
  );
}
