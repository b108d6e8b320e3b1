/**
 * What the page has of main: calls to it, and what it pushes. Nothing else leaves or enters the page. The preload
 * exposes it in the app, and `browser/browser-bridge.ts` is the one in a browser.
 */
import type { Answer, Pushes } from '../ipc/ipc.ts';
import type { Channels } from '../main/handlers/channels.ts';

export type { Channels };

export interface Bridge {
  /** Asks main; never rejects for something that went wrong there, because the result says it. */
  call<C extends keyof Channels>(
    channel: C,
    payload: Channels[C]['payload'],
  ): Promise<Answer<Channels[C]['result']>>;
  /**
   * Something was dropped: main gets the paths, and the next snapshot says what it is. Missing in a browser, which does
   * not tell paths.
   */
  drop?(files: readonly File[]): Promise<Answer<void>>;
  /**
   * What a browser can do after its user was asked. Missing in the app, which can also start at login, quit, and have a
   * global shortcut.
   */
  readonly browser?: BrowserAbilities;
  /** @returns call it to stop listening */
  on<P extends keyof Pushes>(push: P, listener: (value: Pushes[P]) => void): () => void;
}

export interface BrowserAbilities {
  /** whether notifications are shown: `ask` before the user was asked */
  readonly notifies: 'yes' | 'no' | 'ask';
  /** Asks the user. Call it when the user has clicked. */
  askToNotify(): Promise<void>;
  /** Asks the user for the path of a folder, which browsers do not tell; `undefined` if the user chooses none. */
  askForFolder?: (question: string) => Promise<string | undefined>;
}

declare global {
  interface Window {
    readonly culvert: Bridge;
  }
}
