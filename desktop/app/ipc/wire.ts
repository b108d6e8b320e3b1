/**
 * What a page in a browser and main say to each other over one WebSocket (client/methods/peer.ts), besides the calls and
 * pushes of the app's IPC: what only the browser can do for main (docs/decisions/0029-window-in-a-browser.md).
 */
import type { Pushes } from './ipc.ts';

/** The WebSocket's path, and the subprotocol that the server selects. The page also offers its key as one. */
export const SOCKET_PATH = '/main';
export const SOCKET_PROTOCOL = 'culvert';
/** Where a token is exchanged for a session, and where the page asks whether it has one. */
export const SESSION_PATH = '/session';
/** The answer to a page that has one. */
export const SESSION_OPEN = 'open';
/** The header with the key of the page. */
export const KEY_HEADER = 'x-culvert-key';

/** What only the browser can do: its argument, and its result. */
export interface Asks {
  /** Copies a text. */
  copy: { given: string; result: boolean };
  /** Opens an address in a new tab. */
  open: { given: string; result: boolean };
  /** Downloads a text as a file. */
  save: { given: { name: string; text: string }; result: boolean };
  /** Asks the user for a file. The content of one that is larger than the limit is empty. */
  file: { given: { accept: string; maxBytes: number }; result: ChosenFile | undefined };
  /** Asks the user for the path of a folder, which no browser tells. */
  folder: { given: string; result: string | undefined };
}

export interface ChosenFile {
  readonly name: string;
  /** in bytes */
  readonly size: number;
  readonly content: Uint8Array;
}

/** How a page is shown. Only a visible one gets snapshots. */
export interface PageState {
  readonly isVisible: boolean;
  readonly isInFront: boolean;
  /** whether the user lets the page show notifications */
  readonly canNotify: boolean;
  /** BCP 47 tags of the languages that the user reads, best first */
  readonly languages: readonly string[];
}

/** What main pushes only to a page in a browser. */
export interface BrowserPushes extends Pushes {
  'notice:show': { id: number; title: string; body: string };
  /** takes a notification back */
  'notice:withdraw': { id: number };
}

/** What a page pushes to main. */
export interface PagePushes {
  'page:state': PageState;
  /** a notification was clicked */
  'notice:clicked': { id: number };
}
