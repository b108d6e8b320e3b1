/** Answers what the page asks, over whatever it asks: the payload is checked here and nowhere else. */
import * as yup from 'yup';
import type { Answer, CallError } from '../../ipc/ipc.ts';
import { t } from '../../messages/translate.ts';
import type { Core } from '../core.ts';
import { toCallError } from '../failure.ts';
import { CHANNELS, type Channels } from './channels.ts';

/** Called with every error that is neither a known failure nor a bad payload. */
export type ReportBug = (channel: string, error: unknown) => void;

/** Never rejects: an error is part of the answer. @param sent by the page: any value at all */
export async function answerCall<C extends keyof Channels>(
  channel: C,
  sent: unknown,
  core: Core,
  reportBug: ReportBug,
): Promise<Answer<Channels[C]['result']>> {
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
}

export function refuse(error: CallError): { ok: false; error: CallError } {
  return { ok: false, error };
}

function badPayload({ path, message }: yup.ValidationError): CallError {
  return {
    code: 'bad-payload',
    text: message,
    ...(path === undefined || path === '' ? {} : { field: path }),
  };
}
