/** The one wrapper around every channel: sender and payload are checked here and nowhere else. */
import type { IpcMain, IpcMainInvokeEvent, WebFrameMain } from 'electron';
import * as yup from 'yup';
import type { Answer, CallError } from '../../ipc/ipc.ts';
import { t } from '../../messages/translate.ts';
import type { Core } from '../core.ts';
import { toCallError } from '../failure.ts';
import { CHANNEL_NAMES, CHANNELS, type Channels } from '../handlers/channels.ts';
import { PAGE_URL } from './page-scheme.ts';

export interface RegisterChannelsOptions {
  readonly ipc: Pick<IpcMain, 'handle'>;
  readonly core: Core;
  /** Returns the main frame of the app's own window, while there is one. */
  readonly mainFrame: () => WebFrameMain | undefined;
  /** Called with every error that is neither a known failure nor a bad payload. */
  readonly reportBug: (channel: string, error: unknown) => void;
}

/** No call ever rejects: an error is part of its answer. */
export function registerChannels({ ipc, core, mainFrame, reportBug }: RegisterChannelsOptions): void {
  const answer = async <C extends keyof Channels>(
    channel: C,
    sent: unknown,
  ): Promise<Answer<Channels[C]['result']>> => {
    const { payload, run } = CHANNELS[channel];
    try {
      return { ok: true, value: await run(payload.validateSync(sent), core) };
    } catch (error) {
      if (error instanceof yup.ValidationError) return refuse(badPayload(error));
      const known = toCallError(error);
      if (known !== undefined) return refuse(known);
      reportBug(channel, error);
      return refuse({ code: 'internal', text: t('problem.wrong') });
    }
  };
  for (const channel of CHANNEL_NAMES)
    ipc.handle(channel, (event, sent: unknown) =>
      isFromPage(event, mainFrame())
        ? answer(channel, sent)
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

function badPayload({ path, message }: yup.ValidationError): CallError {
  return {
    code: 'bad-payload',
    text: message,
    ...(path === undefined || path === '' ? {} : { field: path }),
  };
}

function refuse(error: CallError): { ok: false; error: CallError } {
  return { ok: false, error };
}
