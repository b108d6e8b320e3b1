/** The fields of `culvert.yml` that say who may come into a tunnel. What is not as it should be must not leave it open. */
import type { Access } from '../../shared/access.ts';
import { accessProblems, type AccessFields, wantedAccess } from './access-fields.ts';
import { type Environment, EnvironmentError, fillIn, VariableUnset } from './environment.ts';

export const ACCESS_FIELDS = ['auth', 'password', 'allow', 'links', 'knock'] as const;
type FieldName = (typeof ACCESS_FIELDS)[number];

/** What a field takes. Values are not shown: most are secrets, or may be. */
const ACCEPTED: Readonly<Record<FieldName, string>> = {
  auth: 'USER:PASSWORD, or a list of them',
  password: 'a text, or true for three words that are made up',
  allow: 'an address or a network, or a list of them',
  links: 'true or false',
  knock: 'true or false',
};

/**
 * @param tunnel the value of one tunnel of the file
 * @param report is told what is wrong with a field; `isUnset`: only that a variable of it is not set
 */
export function readProjectAccess(
  tunnel: Readonly<Record<string, unknown>>,
  env: Environment,
  report: (field: FieldName, text: string, isUnset: boolean) => void,
): { readonly access: Access; readonly madePassword: string | undefined } | undefined {
  let isValid = true;
  const refuse = (field: FieldName, text: string, isUnset = false): void => {
    isValid = false;
    report(field, text, isUnset);
  };
  /** @throws TypeError for what is not of the kind; EnvironmentError */
  function read<T>(name: FieldName, kind: (value: unknown) => T): T | undefined {
    const value = tunnel[name];
    if (value === undefined) return undefined;
    try {
      return kind(value);
    } catch (error) {
      if (error instanceof EnvironmentError) refuse(name, error.message, error instanceof VariableUnset);
      else refuse(name, `it takes ${ACCEPTED[name]}`);
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
  for (const problem of accessProblems(fields)) refuse(problem.field, problem.text);
  const { basic, madePassword, ...rest } = wantedAccess(fields);
  const users = basic.flatMap(({ user, password }) => (password === undefined ? [] : [{ user, password }]));
  if (users.length < basic.length) refuse('auth', 'a user has no password; it takes USER:PASSWORD');
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
