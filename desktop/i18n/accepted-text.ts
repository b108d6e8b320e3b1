/** What the values of a tunnel's settings may be, in the user's language. */
import { NETWORK_RULE, PASSWORD_RULE, USER_PASSWORD_RULE, USER_RULE } from '../../shared/access-rules.ts';
import { DOMAIN_RULE } from '../../shared/domain-rules.ts';
import {
  HOST_HEADER_RULE,
  LOCAL_HOST_RULE,
  NAME_RULE,
  PORT_RULE,
  TTL_RULE,
  type ValueRule,
} from '../../shared/value-rules.ts';
import { FLAG_RULE, FOLDER_RULE, WAIT_RULE } from '../config/tunnel-spec.ts';
import { t, type TextKey } from './translate.ts';

const RULES: readonly (readonly [ValueRule, TextKey])[] = [
  [DOMAIN_RULE, 'accepted.domain'],
  [FLAG_RULE, 'accepted.flag'],
  [FOLDER_RULE, 'accepted.folder'],
  [HOST_HEADER_RULE, 'accepted.hostHeader'],
  [LOCAL_HOST_RULE, 'accepted.localHost'],
  [NAME_RULE, 'accepted.name'],
  [NETWORK_RULE, 'accepted.network'],
  [PASSWORD_RULE, 'accepted.password'],
  [PORT_RULE, 'accepted.port'],
  [TTL_RULE, 'accepted.ttl'],
  [USER_PASSWORD_RULE, 'accepted.userPassword'],
  [USER_RULE, 'accepted.user'],
  [WAIT_RULE, 'accepted.wait'],
];
const KEYS: ReadonlyMap<string, TextKey> = new Map(RULES.map(([{ accepted }, key]) => [accepted, key]));

/**
 * @param accepted what a rule says that it accepts, in English
 * @returns the same text for one that no rule of the app says
 */
export function acceptedText(accepted: string): string {
  const key = KEYS.get(accepted);
  return key === undefined ? accepted : t(key);
}
