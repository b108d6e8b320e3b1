/** Cookies of requests, as browsers send them (RFC 6265bis section 5.8.4). */
import type { Field } from './fields.ts';

/** @returns the values of all cookies of that name, in order: a sibling host may have set more than one */
export function cookieValues(fields: readonly Field[], name: string): string[] {
  const values: string[] = [];
  for (const field of fields) {
    if (!field.is('cookie')) continue;
    const { value } = field;
    if (!value.includes(name)) continue;
    for (const pair of value.split(';'))
      if (cookieName(pair) === name) values.push(pair.slice(pair.indexOf('=') + 1).trim());
  }
  return values;
}

/** @returns the name in a `name=value` of a `Cookie` or `Set-Cookie` field */
export function cookieName(pair: string): string {
  const end = pair.indexOf('=');
  return (end === -1 ? pair : pair.slice(0, end)).trim();
}
