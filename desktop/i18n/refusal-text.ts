/** What a relay says of a refusal, in the user's language. */
import type { Refused } from '../engine/said/said.ts';
import { acceptedText } from './accepted-text.ts';
import { REFUSALS } from './en/refusals.ts';
import { t } from './translate.ts';

type RefusalCode = keyof typeof REFUSALS extends `refusal.${infer Code}` ? Code : never;

/** @returns the relay's own words for an error that this app does not know, or that has a text of its own */
export function refusalText({ refusal: code, text }: Refused): string {
  if (!isKnown(code)) return text;
  const values = valuesIn(text, REFUSALS[`refusal.${code}`]);
  return values === undefined ? text : t(`refusal.${code}`, values);
}

function isKnown(code: string): code is RefusalCode {
  return Object.hasOwn(REFUSALS, `refusal.${code}`);
}

/** What a text has in the places of a message; `undefined` if it is not of that form. */
function valuesIn(text: string, message: string): Readonly<Record<string, string>> | undefined {
  const [start = '', ...places] = message.split(/\{(\w+)\}/);
  if (places.length === 0) return text === message ? {} : undefined;
  if (!text.startsWith(start)) return undefined;
  const values: Record<string, string> = {};
  let from = start.length;
  for (let index = 0; index < places.length; index += 2) {
    const [name = '', after = ''] = places.slice(index, index + 2);
    const isLast = index + 2 === places.length;
    const end = isLast ? text.length - after.length : text.indexOf(after, from + 1);
    if (end <= from || !text.startsWith(after, end)) return undefined;
    values[name] = acceptedText(text.slice(from, end));
    from = end + after.length;
  }
  return values;
}
