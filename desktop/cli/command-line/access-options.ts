/** Access policies as options of `culvert http` and `culvert access`. */
import {
  type Access,
  type AccessView,
  type BasicCredentials,
  USER_PASSWORD_RULE,
} from '../../../shared/access.ts';
import { accessProblems, type WantedAccess, wantedAccess } from '../../client/config/project-access.ts';
import type { Prompt } from '../../client/config/relay-access.ts';
import { UsageError } from '../../client/failures.ts';
import { type Message, type MessageValue, toMessage, textOf } from '../../client/messages.ts';
import type { OptionName } from './options.ts';

interface AccessValues {
  readonly auth?: readonly string[] | undefined;
  /** `true` for `--password` alone */
  readonly password?: string | true | undefined;
  readonly allow?: readonly string[] | undefined;
  readonly links?: boolean | undefined;
  readonly knock?: boolean | undefined;
  readonly token?: readonly string[] | undefined;
  readonly 'sign-in'?: readonly string[] | undefined;
  /** agents by OAuth */
  readonly mcp?: boolean | undefined;
}

/** The options as read, and which of them hold a secret that others may see. */
export interface AccessOptions extends WantedAccess {
  readonly exposed: readonly ('--auth' | '--password')[];
}

/** Options that are called otherwise than their field. */
const OTHER_NAMES: Readonly<Record<string, OptionName>> = { tokens: 'token', sign_in: 'sign-in' };

/** @throws UsageError */
export function readAccessOptions(values: AccessValues): AccessOptions {
  const { auth = [], password, allow = [], links = false, knock = false, token: names = [] } = values;
  const { 'sign-in': sign_in = [], mcp: oauth = false } = values;
  const tokens = names.map((name) => ({ name, token: undefined }));
  const fields = { auth, password, allow, links, knock, tokens, sign_in, oauth };
  const [problem] = accessProblems(fields);
  if (problem !== undefined) {
    const { field } = problem;
    throw new UsageError(`--${OTHER_NAMES[field] ?? field}: ${textOf(problem.said)}.`);
  }
  const isAuthExposed = auth.some((login) => login.includes(':'));
  return {
    ...wantedAccess(fields),
    exposed: [
      ...(isAuthExposed ? ['--auth' as const] : []),
      ...(typeof password === 'string' ? ['--password' as const] : []),
    ],
  };
}

/** A warning in one line; `undefined` if no secret was on the command line. */
export function exposureWarning({ exposed }: AccessOptions): string | undefined {
  const [option] = exposed;
  if (option === undefined) return undefined;
  const instead =
    option === '--auth'
      ? 'Use --auth USER without a password to be asked for it'
      : 'Use --password without a word to generate one';
  return (
    `culvert: The password of ${exposed.join(' and ')} is in your shell's history and was visible in the process list. ` +
    `${instead}, or use culvert.yml with \${NAME}.\n`
  );
}

/**
 * Asks for the passwords that are missing.
 *
 * @throws UsageError without a terminal to ask at, or for an invalid password
 */
export async function completeAccess(options: WantedAccess, prompt: Prompt): Promise<Access> {
  const { allow, password, links, knock, tokens, sign_in, oauth } = options;
  const basic: BasicCredentials[] = [];
  for (const { user, password: given } of options.basic)
    basic.push({ user, password: given ?? (await askFor(user, prompt)) });
  return { allow, basic, password, links, knock, tokens, sign_in, oauth };
}

async function askFor(user: string, prompt: Prompt): Promise<string> {
  if (!prompt.isInteractive)
    throw new UsageError(
      `--auth ${user}: the command cannot ask for the password without a terminal. Use USER:PASSWORD, or culvert.yml with \${NAME}.`,
    );
  const password = await prompt.askSecret(`Password for ${user}: `);
  if (USER_PASSWORD_RULE.accepts(password)) return password;
  throw new UsageError(`--auth ${user}: the password must be ${USER_PASSWORD_RULE.accepted}.`);
}

/** Addresses and users that are named; of more, only how many there are. */
const NAMED_MAX = 3;

/** Who may visit a tunnel, in words. */
export function accessText(access: AccessView): string {
  return describeAccess(access) ?? 'anyone';
}

/** @returns the policy in words, such as `password or signed link, only from 10.0.0.0/8`; `undefined` for anyone */
export function describeAccess(access: AccessView): string | undefined {
  const message = accessMessage(access);
  return message && textOf(message);
}

/** The same as a message. */
export function accessMessage({
  allow = [],
  basic = [],
  password,
  links,
  knock,
  tokens = [],
  sign_in = [],
  oauth,
}: AccessView): Message | undefined {
  const ways = [
    ...(basic.length === 0 ? [] : [toMessage('policy.login', { names: named(basic) })]),
    ...(password === true ? [toMessage('policy.password')] : []),
    ...(links === true ? [toMessage('policy.link')] : []),
    ...(knock === true ? [toMessage('policy.approval')] : []),
    ...(tokens.length === 0
      ? []
      : [toMessage('policy.token', { names: named(tokens.map(({ name }) => name)) })]),
    ...(sign_in.length === 0 ? [] : [toMessage('policy.signIn', { names: named(sign_in) })]),
    ...(oauth === true ? [toMessage('policy.agents')] : []),
  ];
  const [any, ...others] = ways;
  const networks = named(allow);
  if (any === undefined) return allow.length === 0 ? undefined : toMessage('policy.from', { networks });
  const all = others.reduce((first, second) => toMessage('policy.or', { first, second }), any);
  return allow.length === 0 ? all : toMessage('policy.waysFrom', { ways: all, networks });
}

function named(list: readonly string[]): MessageValue {
  const first = list.slice(0, NAMED_MAX).join(', ');
  const count = list.length - NAMED_MAX;
  return count > 0 ? toMessage('policy.more', { first, count }) : first;
}
