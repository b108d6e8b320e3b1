/** The fields of `culvert.yml` that say who may come into a tunnel. What is not as it should be must not leave it open. */
import type { Access } from '../../shared/access.ts';
import { say, type Sayable } from '../engine/said/said.ts';
import type { SayingCode } from '../engine/said/sayings.ts';
import { accessProblems, type AccessFields, wantedAccess } from './access-fields.ts';
import { type Environment, EnvironmentError, fillIn, VariableUnset } from './environment.ts';

export const ACCESS_FIELDS = ['auth', 'password', 'allow', 'links', 'knock'] as const;
type FieldName = (typeof ACCESS_FIELDS)[number];

/** What a field takes. Values are not shown: most are secrets, or may be. */
const TAKES = {
  auth: 'access.takesUsers',
  password: 'access.takesPassword',
  allow: 'access.takesNetworks',
  links: 'access.takesFlag',
  knock: 'access.takesFlag',
} as const satisfies Readonly<Record<FieldName, SayingCode>>;

/**
 * @param tunnel the value of one tunnel of the file
 * @param report is told what is wrong with a field; `isUnset`: only that a variable of it is not set
 */
export function readProjectAccess(
  tunnel: Readonly<Record<string, unknown>>,
  env: Environment,
  report: (field: FieldName, said: Sayable, isUnset: boolean) => void,
): { readonly access: Access; readonly madePassword: string | undefined } | undefined {
  let isValid = true;
  const refuse = (field: FieldName, said: Sayable, isUnset = false): void => {
    isValid = false;
    report(field, said, isUnset);
  };
  /** @throws TypeError for what is not of the kind; EnvironmentError */
  function read<T>(name: FieldName, kind: (value: unknown) => T): T | undefined {
    const value = tunnel[name];
    if (value === undefined) return undefined;
    try {
      return kind(value);
    } catch (error) {
      if (error instanceof EnvironmentError) refuse(name, error.said, error instanceof VariableUnset);
      else refuse(name, say(TAKES[name]));
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
  };
  for (const problem of accessProblems(fields)) refuse(problem.field, problem.said);
  const { basic, madePassword, ...rest } = wantedAccess(fields);
  const users = basic.flatMap(({ user, password }) => (password === undefined ? [] : [{ user, password }]));
  if (users.length < basic.length) refuse('auth', say('access.userAlone'));
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

function aFlag(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new TypeError('neither true nor false');
}
