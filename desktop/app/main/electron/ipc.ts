/** The one wrapper around every channel of the app: the sender is checked here and nowhere else. */
import type { IpcMain, IpcMainInvokeEvent, WebFrameMain } from 'electron';
import { t } from '../../messages/translate.ts';
import type { Core } from '../core.ts';
import { answerCall, refuse, type ReportBug } from '../handlers/answer.ts';
import { CHANNEL_NAMES } from '../handlers/channels.ts';
import { PAGE_URL } from './page-scheme.ts';

export interface RegisterChannelsOptions {
  readonly ipc: Pick<IpcMain, 'handle'>;
  readonly core: Core;
  /** Returns the main frame of the app's own window, while there is one. */
  readonly mainFrame: () => WebFrameMain | undefined;
  readonly reportBug: ReportBug;
}

export function registerChannels({ ipc, core, mainFrame, reportBug }: RegisterChannelsOptions): void {
  for (const channel of CHANNEL_NAMES)
    ipc.handle(channel, (event, sent: unknown) =>
      isFromPage(event, mainFrame())
        ? answerCall(channel, sent, core, reportBug)
        : refuse({ code: 'foreign-sender', text: t('problem.ownWindow') }),
    );
}

/** Exactly the frame of our window, showing our page: what follows the file's name does not matter. */
function isFromPage(
  { senderFrame }: Pick<IpcMainInvokeEvent, 'senderFrame'>,
  mainFrame: WebFrameMain | undefined,
): boolean {
  if (senderFrame === null || senderFrame !== mainFrame) return false;
  return senderFrame.url.split(/[?#]/, 1)[0] === PAGE_URL;
}
