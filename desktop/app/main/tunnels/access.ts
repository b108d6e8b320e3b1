/** Locks as the app offers them, and `access` as the relay has it (protocol.md section 11). */
import { type Access, type AccessView, OPEN } from '../../../../shared/access.ts';
import type { AccessPart, TunnelAccess, TunnelAccessView } from '../../ipc/tunnel-views.ts';
import { t } from '../../messages/translate.ts';
import { CallFailure } from '../failure.ts';

/** The access policy to request from the relay for a choice in the app. */
export function accessOf(lock: TunnelAccess): Access {
  switch (lock.kind) {
    case 'anyone':
      return OPEN;
    case 'password':
      return { ...OPEN, password: lock.password };
    case 'links':
      return { ...OPEN, links: true };
    case 'addresses':
      return { ...OPEN, allow: lock.allow };
    case 'knock':
      return { ...OPEN, knock: true };
    case 'tokens':
      return { ...OPEN, tokens: [{ name: lock.name, token: undefined }] };
    case 'signIn':
      return { ...OPEN, sign_in: lock.rules };
    case 'agents':
      return { ...OPEN, oauth: true };
  }
}

/** Access as the relay would show it. */
export function shownAccess(access: Access): AccessView {
  const { allow, basic, password, links, knock, tokens, sign_in, oauth } = access;
  return {
    ...(allow.length > 0 ? { allow } : {}),
    ...(basic.length > 0 ? { basic: basic.map(({ user }) => user) } : {}),
    ...(password === undefined ? {} : { password: true }),
    ...(links ? { links } : {}),
    ...(knock ? { knock } : {}),
    ...(tokens.length > 0 ? { tokens: tokens.map(({ name }) => ({ name })) } : {}),
    ...(sign_in.length > 0 ? { sign_in } : {}),
    ...(oauth ? { oauth } : {}),
  };
}

/** The password of an access policy that has one. */
export function passwordOf(lock: TunnelAccess): string | undefined {
  return lock.kind === 'password' ? lock.password : undefined;
}

/**
 * What a tunnel asks of its visitors.
 *
 * @param password the one that was set here, if any
 */
export function accessView(access: AccessView, password: string | undefined): TunnelAccessView {
  const parts = partsOf(access);
  const [kind = 'anyone'] = parts;
  if (parts.length > 1 || kind === 'users' || !isTypeable(access.sign_in))
    return { kind: 'other', parts, password: access.password === true ? password : undefined };
  switch (kind) {
    case 'addresses':
      return { kind, allow: access.allow ?? [] };
    case 'password':
      return { kind, password };
    case 'signIn':
      return { kind, rules: access.sign_in ?? [] };
    case 'anyone':
    case 'links':
    case 'knock':
    case 'tokens':
    case 'agents':
      return { kind };
  }
}

/** The form separates rules by commas; the name of a group may have one. */
function isTypeable(rules: readonly string[] = []): boolean {
  return !rules.some((rule) => /[,;]/.test(rule));
}

/**
 * The access policy to request when a tunnel that had this `access` is started again: never weaker than before. A live
 * tunnel keeps its tokens, another one gets new ones of the same names.
 *
 * @param password the one set here, or a new one to replace an unknown one
 * @throws CallFailure if it has users, whose passwords the relay does not show
 */
export function accessAgain(access: AccessView, password: () => string): Access {
  if (access.basic !== undefined) {
    throw new CallFailure({
      code: 'lock-unknown',
      text: t('problem.usersElsewhere'),
    });
  }
  return {
    allow: access.allow ?? [],
    basic: [],
    password: access.password === true ? password() : undefined,
    links: access.links === true,
    knock: access.knock === true,
    tokens: (access.tokens ?? []).map(({ name }) => ({ name, token: undefined })),
    sign_in: access.sign_in ?? [],
    oauth: access.oauth === true,
  };
}

/** The relay does not show a password that was set elsewhere, so this app cannot set it again. */
export function passwordIsUnknown(): never {
  throw new CallFailure({ code: 'lock-unknown', text: t('problem.passwordUnknown') });
}

function partsOf(access: AccessView): AccessPart[] {
  const { allow, basic, password, links, knock, tokens, sign_in, oauth } = access;
  const parts: AccessPart[] = [];
  if (allow !== undefined) parts.push('addresses');
  if (basic !== undefined) parts.push('users');
  if (password === true) parts.push('password');
  if (links === true) parts.push('links');
  if (knock === true) parts.push('knock');
  if (tokens !== undefined) parts.push('tokens');
  if (sign_in !== undefined) parts.push('signIn');
  if (oauth === true) parts.push('agents');
  return parts;
}

/** By key of the tunnel. */
export type TunnelPasswords = ReadonlyMap<string, string>;
