/** The access fields of `culvert.yml`. An invalid field must never leave a tunnel open. */
import {
  type Access,
  type AccessToken,
  ALLOW_MAX,
  BASIC_USERS_MAX,
  NETWORK_RULE,
  PASSWORD_RULE,
  SIGN_IN_MAX,
  SIGN_IN_RULE,
  TOKEN_NAME_RULE,
  TOKEN_RULE,
  TOKENS_MAX,
  USER_PASSWORD_RULE,
  USER_RULE,
} from '../../../shared/access.ts';
import { inventPassword } from '../invented-password.ts';
import { type Message, MessageError, toMessage, type MessageValue, type MessageCode } from '../messages.ts';

export const ACCESS_FIELDS = [
  'auth',
  'password',
  'allow',
  'links',
  'knock',
  'tokens',
  'sign_in',
  'oauth',
] as const;
type FieldName = (typeof ACCESS_FIELDS)[number];

/** What a field accepts. Messages leave out the value itself, which is often a secret. */
export const ACCESS_FIELD_MESSAGES = {
  auth: 'access.takesUsers',
  password: 'access.takesPassword',
  allow: 'access.takesNetworks',
  links: 'access.takesFlag',
  knock: 'access.takesFlag',
  tokens: 'access.takesTokens',
  sign_in: 'access.takesSignIn',
  oauth: 'access.takesFlag',
} as const satisfies Readonly<Record<FieldName, MessageCode>>;

/**
 * @param tunnel the value of one tunnel of the file
 * @param report called with each problem of a field; `isUnset`: the only problem is a variable that is not set
 */
export function readProjectAccess(
  tunnel: Readonly<Record<string, unknown>>,
  env: Environment,
  report: (field: FieldName, said: MessageValue, isUnset: boolean) => void,
): { readonly access: Access; readonly madePassword: string | undefined } | undefined {
  let isValid = true;
  const refuse = (field: FieldName, said: MessageValue, isUnset = false): void => {
    isValid = false;
    report(field, said, isUnset);
  };
  /** @throws TypeError for a value of the wrong kind; EnvironmentError */
  function read<T>(name: FieldName, kind: (value: unknown) => T): T | undefined {
    const value = tunnel[name];
    if (value === undefined) return undefined;
    try {
      return kind(value);
    } catch (error) {
      if (error instanceof EnvironmentError) refuse(name, error.said, error instanceof VariableUnset);
      else refuse(name, toMessage(ACCESS_FIELD_MESSAGES[name]));
      return undefined;
    }
  }
  const text = (value: unknown): string => fillIn(aString(value), env);
  const texts = (value: unknown): string[] => aList(value).map(text);
  const fields: AccessFields = {
    auth: read('auth', texts) ?? [],
    password: read('password', (value) => (value === true ? value : text(value))),
    allow: read('allow', texts) ?? [],
    links: read('links', aFlag) ?? false,
    knock: read('knock', aFlag) ?? false,
    tokens: read('tokens', (value) => aList(value).flatMap((item) => readTokens(item, text))) ?? [],
    sign_in: read('sign_in', texts) ?? [],
    oauth: read('oauth', aFlag) ?? false,
  };
  for (const problem of accessProblems(fields)) refuse(problem.field, problem.said);
  const { basic, madePassword, ...rest } = wantedAccess(fields);
  const users = basic.flatMap(({ user, password }) => (password === undefined ? [] : [{ user, password }]));
  if (users.length < basic.length) refuse('auth', toMessage('access.userAlone'));
  return isValid ? { access: { ...rest, basic: users }, madePassword } : undefined;
}

function aString(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new TypeError('no text');
}

function aList(value: unknown): unknown[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  if (list.length > 0) return list;
  throw new TypeError('an empty list');
}

/** A name alone, or several with their tokens. */
function readTokens(item: unknown, text: (value: unknown) => string): AccessToken[] {
  if (typeof item !== 'object' || item === null) return [{ name: aString(item), token: undefined }];
  return Object.entries(item).map(([name, token]) => ({ name, token: text(token) }));
}

function aFlag(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new TypeError('neither true nor false');
}

/* The access policy as the user writes it, with options or in `culvert.yml`: both have the same fields. */

/** The fields as given. */
interface AccessFields {
  /** `USER:PASSWORD` each, or only `USER` */
  readonly auth: readonly string[];
  /** `true` asks for a generated one */
  readonly password: string | true | undefined;
  readonly allow: readonly string[];
  readonly links: boolean;
  readonly knock: boolean;
  readonly tokens: readonly AccessToken[];
  readonly sign_in: readonly string[];
  readonly oauth: boolean;
}

/** The fields as read. Users without a password have to be asked for one. */
export interface WantedAccess extends Omit<Access, 'basic'> {
  readonly basic: readonly { readonly user: string; readonly password: string | undefined }[];
  /** the `password`, if it was generated and has to be shown */
  readonly madePassword: string | undefined;
}

/** A problem with a field, described without its secrets. */
interface AccessProblem {
  readonly field: 'auth' | 'password' | 'allow' | 'tokens' | 'sign_in';
  readonly said: Message;
}

export function accessProblems({ auth, password, allow, tokens, sign_in }: AccessFields): AccessProblem[] {
  const problems: AccessProblem[] = [];
  const report = (field: AccessProblem['field'], code: MessageCode, values: Message['values']) =>
    problems.push({ field, said: toMessage(code, values) });
  const users = auth.map(splitLogin);
  for (const { user, password: own } of users) {
    if (!USER_RULE.accepts(user)) report('auth', 'access.userTakes', { accepted: USER_RULE });
    else if (own !== undefined && !USER_PASSWORD_RULE.accepts(own))
      report('auth', 'access.passwordOf', { user, accepted: USER_PASSWORD_RULE });
  }
  if (auth.length > BASIC_USERS_MAX) report('auth', 'access.manyUsers', { max: BASIC_USERS_MAX });
  const twice = users.find(({ user }, index) => users.findIndex((other) => other.user === user) < index);
  if (twice !== undefined) report('auth', 'access.userTwice', { user: twice.user });
  if (typeof password === 'string' && !PASSWORD_RULE.accepts(password))
    report('password', 'access.passwordTakes', { accepted: PASSWORD_RULE });
  for (const network of allow) {
    if (!NETWORK_RULE.accepts(network))
      report('allow', 'access.notNetwork', { network: JSON.stringify(network), accepted: NETWORK_RULE });
  }
  if (allow.length > ALLOW_MAX) report('allow', 'access.manyNetworks', { max: ALLOW_MAX });
  for (const { name, token } of tokens) {
    if (!TOKEN_NAME_RULE.accepts(name))
      report('tokens', 'access.tokenName', { name: JSON.stringify(name), accepted: TOKEN_NAME_RULE });
    else if (token !== undefined && !TOKEN_RULE.accepts(token))
      report('tokens', 'access.tokenTakes', { name, accepted: TOKEN_RULE });
  }
  if (tokens.length > TOKENS_MAX) report('tokens', 'access.manyTokens', { max: TOKENS_MAX });
  const repeated = tokens.find(({ name }, index) => tokens.findIndex((other) => other.name === name) < index);
  if (repeated !== undefined) report('tokens', 'access.tokenTwice', { name: JSON.stringify(repeated.name) });
  for (const rule of sign_in) {
    if (!SIGN_IN_RULE.accepts(rule))
      report('sign_in', 'access.notSignIn', { rule: JSON.stringify(rule), accepted: SIGN_IN_RULE });
  }
  if (sign_in.length > SIGN_IN_MAX) report('sign_in', 'access.manySignIn', { max: SIGN_IN_MAX });
  return problems;
}

/** @param fields fields that have no {@link accessProblems} */
export function wantedAccess({ auth, password, sign_in, ...rest }: AccessFields): WantedAccess {
  const madePassword = password === true ? inventPassword() : undefined;
  const given = password === true ? madePassword : password;
  const basic = auth.map(splitLogin);
  return { ...rest, basic, password: given, sign_in: [...new Set(sign_in)], madePassword };
}

/** A user has no colon (RFC 7617 section 2). */
function splitLogin(login: string): WantedAccess['basic'][number] {
  const colon = login.indexOf(':');
  if (colon === -1) return { user: login, password: undefined };
  return { user: login.slice(0, colon), password: login.slice(colon + 1) };
}

/* Values that `culvert.yml` takes from the environment, so that the file can be shared without secrets. */

export type Environment = Readonly<Record<string, string | undefined>>;

/** `${NAME}`; a `$` before it escapes it. */
const REFERENCE = /(\$?)\$\{([^}]*)(\}?)/g;
const NAME = /^[A-Za-z_]\w*$/;
/** Names of variables that are likely to hold a secret. */
const SECRET_NAME = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH/i;
const EXAMPLES = { reference: '${…}', example: '${PASSWORD}', escape: '$${', begin: '${' };

/** Thrown for a text that cannot be filled in. The message says why. */
export class EnvironmentError extends MessageError {}

/** Thrown for a variable that is unset or empty; the text itself is valid. */
export class VariableUnset extends EnvironmentError {}

/**
 * Fills in variables: `ann:${ANN_PASSWORD}`. `$${` stands for `${`; any other `$` stands for itself.
 *
 * @throws EnvironmentError; VariableUnset if a variable is unset or empty
 */
export function fillIn(text: string, env: Environment): string {
  return replaceVariables(text, (name) => env[name]);
}

/**
 * The same for text that becomes public, such as the name of a tunnel. Windows has `USERNAME` instead of `USER`.
 *
 * @throws EnvironmentError also for variables that may hold a secret
 */
export function fillInPublic(text: string, env: Environment): string {
  return replaceVariables(text, (name) => {
    if (SECRET_NAME.test(name)) throw new EnvironmentError(toMessage('access.publicSecret', { name }));
    return env[name] ?? (name === 'USER' ? env['USERNAME'] : undefined);
  });
}

function replaceVariables(text: string, read: (name: string) => string | undefined): string {
  return text.replace(REFERENCE, (reference, dollar: string, name: string, end: string) => {
    if (dollar !== '') return reference.slice(1);
    if (end === '' || !NAME.test(name)) throw new EnvironmentError(toMessage('access.reference', EXAMPLES));
    const value = read(name) ?? '';
    if (value === '') throw new VariableUnset(toMessage('access.unset', { name }));
    return value;
  });
}
