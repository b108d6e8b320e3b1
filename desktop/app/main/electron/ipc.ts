/** Connects the channels of the table to their handlers, and does nothing else. */
import type { IpcMain, IpcMainInvokeEvent, WebFrameMain } from 'electron';
import { CALL_NAMES } from '../../ipc/channels.ts';
import type { Channels } from '../../ipc/ipc.ts';
import { handle, type Handlers, PAYLOADS } from '../handlers/handle.ts';
import { PAGE_URL } from './page-scheme.ts';

/**
 * @param mainFrame that of the app's own window, while there is one
 * @param reportBug see {@link handle}
 */
export function registerHandlers(
  ipc: Pick<IpcMain, 'handle'>,
  handlers: Handlers,
  mainFrame: () => WebFrameMain | undefined,
  reportBug: (channel: string, error: unknown) => void,
): void {
  function register<C extends keyof Channels>(channel: C, handler: Handlers[C]): void {
    const checked = handle(channel, PAYLOADS[channel], handler, reportBug);
    ipc.handle(channel, (event, payload: unknown) => checked(isFromPage(event, mainFrame()), payload));
  }
  for (const channel of CALL_NAMES) register(channel, handlers[channel]);
}

/** Exactly the frame of our window, showing our page: the parts after the file's name do not matter. */
function isFromPage(
  { senderFrame }: Pick<IpcMainInvokeEvent, 'senderFrame'>,
  mainFrame: WebFrameMain | undefined,
): boolean {
  if (senderFrame === null || senderFrame !== mainFrame) return false;
  return senderFrame.url.split(/[?#]/, 1)[0] === PAGE_URL;
}
