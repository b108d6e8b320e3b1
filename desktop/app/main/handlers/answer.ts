/** Answers what the page asks, over whatever it asks. */
import { answerCall as answer } from '../../../client/methods/method.ts';
import type { Answer } from '../../../client/methods/peer.ts';
import { t } from '../../messages/translate.ts';
import type { Core } from '../core.ts';
import { toCallError } from '../failure.ts';
import { CHANNELS } from './channels.ts';

/** Called with every error that is neither a known failure nor a bad payload. */
export type ReportBug = (channel: string, error: unknown) => void;

/** Never rejects: an error is part of the answer. @param sent by the page: any value at all */
export function answerCall(
  channel: string,
  sent: unknown,
  core: Core,
  reportBug: ReportBug,
): Promise<Answer<unknown>> {
  return answer(CHANNELS, channel, sent, core, {
    describe: toCallError,
    wrong: t('problem.wrong'),
    reportBug,
  });
}
