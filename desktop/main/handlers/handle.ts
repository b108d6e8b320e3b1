/** The one wrapper around every handler: the caller and its input are checked here and nowhere else. */
import * as yup from 'yup';
import { t } from '../../i18n/translate.ts';
import type { Answer, CallError, Channels } from '../../shared/ipc.ts';
import { toCallError } from '../failure.ts';
import type { PayloadSchema } from './payloads.ts';

/** What a channel does. A handler may throw {@link CallFailure} or what the engine throws. */
export type Handler<C extends keyof Channels> = (
  payload: Channels[C]['payload'],
) => Channels[C]['result'] | Promise<Channels[C]['result']>;

/** One for each channel. */
export type Handlers = { readonly [C in keyof Channels]: Handler<C> };

/** @param isPage whether the main frame of the app's own window called */
export type CheckedHandler<C extends keyof Channels> = (
  isPage: boolean,
  payload: unknown,
) => Promise<Answer<Channels[C]['result']>>;

/**
 * @param reportBug told of what is neither a known failure nor bad input
 * @returns a handler that never rejects: an error is part of its result
 */
export function handle<C extends keyof Channels>(
  channel: C,
  schema: PayloadSchema<Channels[C]['payload']>,
  fn: Handler<C>,
  reportBug: (channel: string, error: unknown) => void,
): CheckedHandler<C> {
  return async (isPage, payload) => {
    if (!isPage) return refuse({ code: 'foreign-sender', text: t('problem.ownWindow') });
    try {
      return { ok: true, value: await fn(schema.validateSync(payload)) };
    } catch (error) {
      if (error instanceof yup.ValidationError) return refuse(badPayload(error));
      const known = toCallError(error);
      if (known !== undefined) return refuse(known);
      reportBug(channel, error);
      return refuse({ code: 'internal', text: t('problem.wrong') });
    }
  };
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
