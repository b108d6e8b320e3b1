import {
  NETWORK_RULE,
  PASSWORD_RULE,
  SIGN_IN_RULE,
  USER_PASSWORD_RULE,
  TOKEN_NAME_RULE,
  TOKEN_RULE,
  USER_RULE,
} from '../../../shared/access.ts';
import { DOMAIN_RULE } from '../../../shared/domains.ts';
import {
  HEADER_NAME_RULE,
  HEADER_NAMES_RULE,
  HEADER_RULE,
  HEADERS_RULE,
} from '../../../shared/header-changes.ts';
import {
  COMPRESS_RULE,
  HOST_HEADER_RULE,
  LOCAL_HOST_RULE,
  NAME_RULE,
  PORT_RULE,
  TTL_RULE,
  UPSTREAM_RULE,
  type ValueRule,
} from '../../../shared/value-rules.ts';
import {
  FLAG_RULE,
  FOLDER_RULE,
  HOSTS_RULE,
  KEEP_BODIES_RULE,
  WAIT_RULE,
} from '../../client/config/tunnel-spec.ts';
import { inLanguage, type MessageValue, type Refused } from '../../client/messages.ts';
import { REFUSALS } from './en.ts';
import { t, type TextKey } from './translate.ts';

/** What the engine or a relay has said, in the user's language. */
export function translateMessage(said: MessageValue): string {
  return inLanguage(said, { message: t, refused: refusalText, accepted: acceptedText });
}

/* A relay's refusal in the user's language. */

type RefusalCode = keyof typeof REFUSALS extends `refusal.${infer Code}` ? Code : never;

/** @returns the relay's own words for an error that this app does not know, or that has a text of its own */
function refusalText({ refusal: code, text }: Refused): string {
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

/* What the values of a tunnel's settings may be, in the user's language. */

const RULES: readonly (readonly [ValueRule, TextKey])[] = [
  [COMPRESS_RULE, 'accepted.compress'],
  [DOMAIN_RULE, 'accepted.domain'],
  [FLAG_RULE, 'accepted.flag'],
  [FOLDER_RULE, 'accepted.folder'],
  [HEADER_RULE, 'accepted.header'],
  [HEADER_NAME_RULE, 'accepted.headerName'],
  [HEADERS_RULE, 'accepted.headers'],
  [HEADER_NAMES_RULE, 'accepted.headerNames'],
  [HOSTS_RULE, 'accepted.hosts'],
  [HOST_HEADER_RULE, 'accepted.hostHeader'],
  [UPSTREAM_RULE, 'accepted.upstream'],
  [LOCAL_HOST_RULE, 'accepted.localHost'],
  [NAME_RULE, 'accepted.name'],
  [NETWORK_RULE, 'accepted.network'],
  [PASSWORD_RULE, 'accepted.password'],
  [PORT_RULE, 'accepted.port'],
  [SIGN_IN_RULE, 'accepted.signIn'],
  [TOKEN_NAME_RULE, 'accepted.tokenName'],
  [TOKEN_RULE, 'accepted.token'],
  [TTL_RULE, 'accepted.ttl'],
  [USER_PASSWORD_RULE, 'accepted.userPassword'],
  [USER_RULE, 'accepted.user'],
  [KEEP_BODIES_RULE, 'accepted.keepBodies'],
  [WAIT_RULE, 'accepted.wait'],
];
const KEYS: ReadonlyMap<string, TextKey> = new Map(RULES.map(([{ accepted }, key]) => [accepted, key]));

/**
 * @param accepted a rule's description of accepted values, in English
 * @returns the same text if no rule of the app has it
 */
export function acceptedText(accepted: string): string {
  const key = KEYS.get(accepted);
  return key === undefined ? accepted : t(key);
}
