/**
 * The messages between a page in a browser and main, over one WebSocket: the calls and pushes of the app's IPC, and what
 * only the browser can do for main (docs/decisions/0029-window-in-a-browser.md). They are JSON, except for the content
 * of a chosen file.
 */
import type { Answer, Pushes } from './ipc.ts';

/** The WebSocket's path, and the subprotocol that the server selects. The page also offers its key as one. */
export const SOCKET_PATH = '/main';
export const SOCKET_PROTOCOL = 'culvert';
/** Where a token is exchanged for a session, and where the page asks whether it has one. */
export const SESSION_PATH = '/session';
/** The answer to a page that has one. */
export const SESSION_OPEN = 'open';
/** The header with the key of the page. */
export const KEY_HEADER = 'x-culvert-key';

/** Maximum number of calls of one page that wait for their answers; a page makes a few at a time. */
export const CALLS_MAX = 64;

/** What only the browser can do: its argument, and its result. */
export interface Asks {
  /** Copies a text. */
  copy: { given: string; result: boolean };
  /** Opens an address in a new tab. */
  open: { given: string; result: boolean };
  /** Downloads a text as a file. */
  save: { given: { name: string; text: string }; result: boolean };
  /** Asks the user for a file; its content follows as a binary message. */
  file: { given: string; result: { name: string; size: number } | undefined };
  /** Asks the user for the path of a folder, which no browser tells. */
  folder: { given: string; result: string | undefined };
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

export type FromPage =
  | { readonly kind: 'call'; readonly id: number; readonly channel: string; readonly payload?: unknown }
  | { readonly kind: 'result'; readonly id: number; readonly value?: unknown }
  | { readonly kind: 'state'; readonly state: PageState }
  /** a notification was clicked */
  | { readonly kind: 'clicked'; readonly id: number }
  /** answered immediately: shows that the connection is alive */
  | { readonly kind: 'ping' };

export type ToPage =
  /** the first message; a page of another version loads itself again */
  | { readonly kind: 'hello'; readonly version: string }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answer<unknown> }
  | { readonly kind: 'push'; readonly name: keyof Pushes; readonly value: unknown }
  | { readonly kind: 'ask'; readonly id: number; readonly what: keyof Asks; readonly given: unknown }
  | { readonly kind: 'notice'; readonly id: number; readonly title: string; readonly body: string }
  /** takes a notification back */
  | { readonly kind: 'withdraw'; readonly id: number }
  | { readonly kind: 'pong' };

/**
 * The name of the only field of an object that stands for bytes: the index of one of the binary messages before it. Main
 * sends bytes; the page never does. In base64, a body of 10 MB would block the page for a second.
 */
export const BYTES_FIELD = '$bytes';

/**
 * Reads a message of main.
 *
 * @param parts content of the binary messages since the last one
 */
export function decodeMessage(text: string, parts: readonly Uint8Array[]): ToPage {
  return JSON.parse(text, (_key, value: unknown) => {
    if (typeof value !== 'object' || value === null || !(BYTES_FIELD in value)) return value;
    return parts[Number(value[BYTES_FIELD])];
  }) as ToPage;
}
