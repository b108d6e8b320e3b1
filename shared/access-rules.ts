/** What the values of a tunnel's `access` may be, wherever they come from (docs/protocol.md section 11.1). */
import { PASSWORD_MAX_LENGTH, PASSWORD_MIN_LENGTH, USER_MAX_LENGTH } from './access.ts';
import { parseNetwork } from './networks.ts';
import type { ValueRule } from './value-rules.ts';

/** RFC 7617 section 2: control characters are in neither, and a colon ends the user. Half a character is not text. */
const USER = /^[^\p{Cc}\p{Cs}:]+$/u;
const PASSWORD = /^[^\p{Cc}\p{Cs}]+$/u;

/** One of `allow`. */
export const NETWORK_RULE: ValueRule = {
  accepts: (value) => typeof value === 'string' && parseNetwork(value) !== undefined,
  accepted: 'an address or a network, such as 192.0.2.7 or 10.0.0.0/8',
};

/** A user of `basic`. */
export const USER_RULE: ValueRule = {
  accepts: (value) => isText(value, USER, 1, USER_MAX_LENGTH),
  accepted: `1 to ${USER_MAX_LENGTH} characters without a colon`,
};

/** The password of such a user. */
export const USER_PASSWORD_RULE: ValueRule = {
  accepts: (value) => isText(value, PASSWORD, 1, PASSWORD_MAX_LENGTH),
  accepted: `1 to ${PASSWORD_MAX_LENGTH} characters`,
};

/** `password`, which visitors type into a page. */
export const PASSWORD_RULE: ValueRule = {
  accepts: (value) => isText(value, PASSWORD, PASSWORD_MIN_LENGTH, PASSWORD_MAX_LENGTH),
  accepted: `${PASSWORD_MIN_LENGTH} to ${PASSWORD_MAX_LENGTH} characters`,
};

/** Lengths are in characters as people count them, not UTF-16 units. */
function isText(value: unknown, pattern: RegExp, min: number, max: number): boolean {
  if (typeof value !== 'string' || !pattern.test(value)) return false;
  const { length } = Array.from(value);
  return length >= min && length <= max;
}
