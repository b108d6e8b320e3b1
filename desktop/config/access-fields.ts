/** Who may come into a tunnel as the user says it, by options or in `culvert.yml`: both have the same fields. */
import { type Access, ALLOW_MAX, BASIC_USERS_MAX } from '../../shared/access.ts';
import { NETWORK_RULE, PASSWORD_RULE, USER_PASSWORD_RULE, USER_RULE } from '../../shared/access-rules.ts';
import { say, type Said } from '../engine/said/said.ts';
import type { SayingCode } from '../engine/said/sayings.ts';
import { inventPassword } from '../engine/access/invent-password.ts';

/** The fields as given. */
export interface AccessFields {
  /** `USER:PASSWORD` each, or only `USER` */
  readonly auth: readonly string[];
  /** `true`: one is to be made up */
  readonly password: string | true | undefined;
  readonly allow: readonly string[];
  readonly links: boolean;
  readonly knock: boolean;
}

/** The fields as read; users without a password have to be asked for it. */
export interface WantedAccess extends Omit<Access, 'basic'> {
  readonly basic: readonly { readonly user: string; readonly password: string | undefined }[];
  /** the `password`, if it was made up: it has to be shown */
  readonly madePassword: string | undefined;
}

/** What is wrong with a field, without a secret in it. */
export interface AccessProblem {
  readonly field: 'auth' | 'password' | 'allow';
  readonly said: Said;
}

export function accessProblems({ auth, password, allow }: AccessFields): AccessProblem[] {
  const problems: AccessProblem[] = [];
  const report = (field: AccessProblem['field'], code: SayingCode, values: Said['values']) =>
    problems.push({ field, said: say(code, values) });
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
  return problems;
}

/** @param fields without {@link accessProblems} */
export function wantedAccess({ auth, password, allow, links, knock }: AccessFields): WantedAccess {
  const madePassword = password === true ? inventPassword() : undefined;
  const given = password === true ? madePassword : password;
  return { allow, basic: auth.map(splitLogin), password: given, links, knock, madePassword };
}

/** A user has no colon (RFC 7617 section 2). */
function splitLogin(login: string): WantedAccess['basic'][number] {
  const colon = login.indexOf(':');
  if (colon === -1) return { user: login, password: undefined };
  return { user: login.slice(0, colon), password: login.slice(colon + 1) };
}
