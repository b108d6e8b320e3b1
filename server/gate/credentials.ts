/** Credentials of the Basic scheme (RFC 7617), as far as they were meant for the gate. */
import { type Field, fieldValue } from '../../shared/http1/fields.ts';
import type { HeldAccess } from './held-access.ts';

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

const BASIC = /^basic +([\w+/=-]+) *$/i;

/** @returns those that a request carries, where the gate asks for any; `undefined` for none, or for another scheme's */
export function gateCredentials(fields: readonly Field[], access: HeldAccess): Credentials | undefined {
  if (!access.hasUsers) return undefined;
  const [, encoded] = BASIC.exec(fieldValue(fields, 'authorization') ?? '') ?? [];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString();
  const colon = text.indexOf(':');
  return colon === -1 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}
