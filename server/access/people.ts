/**
 * People who have signed in at the relay's identity provider, and the rules of a tunnel's `sign_in` about them
 * (protocol.md section 11.5).
 */
import { hash } from 'node:crypto';
import { EMAIL_MAX_LENGTH } from '../../shared/access.ts';

/** Maximum length of a person's id (`sub`) at the identity provider (OpenID Connect Core section 2). */
export const SUBJECT_MAX_LENGTH = 255;

/** A person as the identity provider describes them. */
export interface Person {
  readonly subject: string;
  /** in lower case; `undefined` without one that counts */
  readonly email: string | undefined;
  readonly groups: readonly string[];
}

/** A person as far as a pass describes them. */
export interface SignedIn {
  /** the e-mail address in lower case, or the id at the provider for a person without one */
  readonly name: string;
  readonly isEmail: boolean;
  /** digests of those groups that the rules named when the person signed in */
  readonly groups: readonly string[];
}

/** Claims of an ID token whose signature is right. */
export type Claims = Readonly<Record<string, unknown>>;

/**
 * @param groupsClaim name of the claim that lists the person's groups
 * @returns `undefined` if the token does not identify anybody
 */
export function personOf(claims: Claims, groupsClaim: string): Person | undefined {
  const { sub } = claims;
  if (typeof sub !== 'string' || sub === '' || sub.length > SUBJECT_MAX_LENGTH) return undefined;
  const given = claims[groupsClaim];
  const groups = Array.isArray(given) ? given : [given];
  return {
    subject: sub.toWellFormed(),
    email: emailOf(claims),
    groups: groups.filter((group) => typeof group === 'string' && group.isWellFormed()),
  };
}

const VISIBLE_EMAIL = /^[!-?A-~]+@[!-?A-~]+$/;

function emailOf({ email, email_verified: verified }: Claims): string | undefined {
  if (verified === false || verified === 'false') return undefined;
  if (typeof email !== 'string' || email.length > EMAIL_MAX_LENGTH || !VISIBLE_EMAIL.test(email))
    return undefined;
  return folded(email);
}

/** Only ASCII letters are folded: other alphabets have letters that fold to the same one but are not the same. */
function folded(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

const GROUP = 'group:';

/** The rules of one tunnel. Passes are judged by the present ones at each request. */
export class SignInRules {
  /** Whether nobody can sign in. */
  readonly isEmpty: boolean;
  readonly #anybody: boolean;
  readonly #emails: ReadonlySet<string>;
  /** of `*@example.com` */
  readonly #domains: ReadonlySet<string>;
  /** names by their digest */
  readonly #groups: ReadonlyMap<string, string>;

  constructor(rules: readonly string[]) {
    this.isEmpty = rules.length === 0;
    this.#anybody = rules.includes('*');
    const groups = rules.filter((rule) => rule.startsWith(GROUP)).map((rule) => rule.slice(GROUP.length));
    this.#groups = new Map(groups.map((name) => [digestOf(name), name]));
    const emails = rules.filter((rule) => rule !== '*' && !rule.startsWith(GROUP)).map(folded);
    this.#emails = new Set(emails.filter((email) => !email.startsWith('*@')));
    this.#domains = new Set(
      emails.filter((email) => email.startsWith('*@')).map((email) => email.slice('*@'.length)),
    );
  }

  admits({ name, isEmail, groups }: SignedIn): boolean {
    if (this.#anybody || groups.some((group) => this.#groups.has(group))) return true;
    if (!isEmail) return false;
    return this.#emails.has(name) || this.#domains.has(name.slice(name.indexOf('@') + 1));
  }

  /** Leaves out what no rule asks for: a pass has little space, and says no more than it must. */
  describe({ subject, email, groups }: Person): SignedIn {
    const named = new Set(groups);
    return {
      name: email ?? subject,
      isEmail: email !== undefined,
      groups: [...this.#groups].filter(([, name]) => named.has(name)).map(([digest]) => digest),
    };
  }
}

/** 16 characters, 96 bits: names of groups may be long, and a pass may have 32 of them. */
function digestOf(group: string): string {
  return hash('sha256', `group ${group}`, 'base64url').slice(0, 16);
}

/** Identities of people in passes. */
const USER = /^user:((?:[\w-]{16})*):([ei]):(.*)$/s;

/** The identity of a visitor who has signed in. */
export function visitorBySignIn({ name, isEmail, groups }: SignedIn): string {
  return `user:${groups.join('')}:${isEmail ? 'e' : 'i'}:${name}`;
}

/** @returns `undefined` for a visitor who has not signed in */
export function signedInOf(visitor: string): SignedIn | undefined {
  const [, groups, kind, name] = USER.exec(visitor) ?? [];
  if (groups === undefined || name === undefined) return undefined;
  const digests = groups.match(/.{16}/g) ?? [];
  return { name, isEmail: kind === 'e', groups: digests };
}
