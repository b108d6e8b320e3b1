/** What a relay says of a refusal, in the user's language. */
import { REFUSALS } from '../i18n/en/refusals.ts';
import { told } from '../i18n/told.ts';
import { t } from '../i18n/translate.ts';
import type { RelayRefusal } from '../engine/relay/errors.ts';

type RefusalCode = keyof typeof REFUSALS extends `refusal.${infer Code}` ? Code : never;

/** @returns the relay's own words for an error that this app does not know, or that has a text of its own */
export function refusalText({ code, message, said }: RelayRefusal): string {
  if (code === undefined || !isKnown(code)) return told(said);
  const values = valuesIn(message, REFUSALS[`refusal.${code}`]);
  return values === undefined ? told(said) : t(`refusal.${code}`, values);
}

function isKnown(code: string): code is RefusalCode {
  return Object.hasOwn(REFUSALS, `refusal.${code}`);
}

/** What a text has in the places of a message; `undefined` if it is not of that form. */
function valuesIn(text: string, message: string): Readonly<Record<string, string>> | undefined {
  const form = message.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{(\w+)\}/g, '(?<$1>.+)');
  return new RegExp(`^${form}$`, 's').exec(text)?.groups ?? (text === message ? {} : undefined);
}
