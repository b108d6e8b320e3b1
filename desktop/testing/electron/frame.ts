import type { WebFrameMain } from 'electron';

/** A frame that shows an address. */
export function fakeFrame(url: string): WebFrameMain {
  return { url } satisfies Pick<WebFrameMain, 'url'> as WebFrameMain;
}
