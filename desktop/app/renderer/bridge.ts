/** What the preload exposes to the page: calls to main, and what main pushes. Nothing else leaves or enters the page. */
import type { Answer, Pushes } from '../ipc/ipc.ts';
import type { Channels } from '../main/handlers/channels.ts';

export type { Channels };

export interface Bridge {
  /** Asks main; never rejects for something that went wrong there, because the result says it. */
  call<C extends keyof Channels>(
    channel: C,
    payload: Channels[C]['payload'],
  ): Promise<Answer<Channels[C]['result']>>;
  /** Something was dropped: main gets the paths, and the next snapshot says what it is. */
  drop(files: readonly File[]): Promise<Answer<void>>;
  /** @returns call it to stop listening */
  on<P extends keyof Pushes>(push: P, listener: (value: Pushes[P]) => void): () => void;
}

declare global {
  interface Window {
    readonly culvert: Bridge;
  }
}
