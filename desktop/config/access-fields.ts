/** Who may come into a tunnel as the user says it, by options or in `culvert.yml`: both have the same fields. */
import { type Access, ALLOW_MAX, BASIC_USERS_MAX } from '../../shared/access.ts';
import { NETWORK_RULE, PASSWORD_RULE, USER_PASSWORD_RULE, USER_RULE } from '../../shared/access-rules.ts';
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

/** What is wrong with a field; the text has no secret in it. */
export interface AccessProblem {
  readonly field: 'auth' | 'password' | 'allow';
  readonly text: string;
}

export function accessProblems({ auth, password, allow }: AccessFields): AccessProblem[] {
  const problems: AccessProblem[] = [];
  const report = (field: AccessProblem['field'], text: string) => problems.push({ field, text });
  const users = auth.map(splitLogin);
  for (const { user, password: own } of users) {
    if (!USER_RULE.accepts(user)) report('auth', `the user of USER:PASSWORD takes ${USER_RULE.accepted}`);
    else if (own !== undefined && !USER_PASSWORD_RULE.accepts(own))
      report('auth', `the password of ${user} takes ${USER_PASSWORD_RULE.accepted}`);
  }
  if (auth.length > BASIC_USERS_MAX) report('auth', `it takes at most ${BASIC_USERS_MAX} users`);
  const twice = users.find(({ user }, index) => users.findIndex((other) => other.user === user) < index);
  if (twice !== undefined) report('auth', `there is ${twice.user} twice`);
  if (typeof password === 'string' && !PASSWORD_RULE.accepts(password))
    report('password', `it takes ${PASSWORD_RULE.accepted}`);
  for (const network of allow) {
    if (!NETWORK_RULE.accepts(network))
      report('allow', `${JSON.stringify(network)} is not ${NETWORK_RULE.accepted}`);
  }
  if (allow.length > ALLOW_MAX) report('allow', `it takes at most ${ALLOW_MAX} addresses and networks`);
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
