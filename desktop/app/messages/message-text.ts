import type { ApiErrorEntry } from '../../../shared/errors.ts';
import { type Accepted, inLanguage, type MessageValue, type Refused } from '../../client/messages.ts';
import { t, translationOf } from './translate.ts';

/** What the engine or a relay has said, in the user's language. */
export function translateMessage(said: MessageValue): string {
  return inLanguage(said, { message: t, refused: refusalText, accepted: acceptedText });
}

/** @returns the relay's own words for an error that this app does not know, or whose values it does not */
function refusalText({ refusal: code, text, values = {} }: Refused): string {
  const { time } = values;
  const shown = { ...values, text, ...(time !== undefined && { time: new Date(time) }) };
  return translationOf(`refusal.${code}`, shown) ?? text;
}

/** An error of the catalogue, as a sentence. */
export function describeError({ code, text, values }: ApiErrorEntry): string {
  const clause = refusalText({ refusal: code, text, ...(values && { values }) });
  return `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;
}

/** What a rule accepts, in the user's language; in English if that is all there is. */
export function acceptedText({ code, accepted }: Accepted): string {
  return translationOf(`accepted.${code ?? ''}`) ?? accepted;
}
