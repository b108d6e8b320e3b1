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
  }
}

/** Access as the relay would show it. */
export function shownAccess({ allow, basic, password, links, knock }: Access): AccessView {
  return {
    ...(allow.length > 0 ? { allow } : {}),
    ...(basic.length > 0 ? { basic: basic.map(({ user }) => user) } : {}),
    ...(password === undefined ? {} : { password: true }),
    ...(links ? { links } : {}),
    ...(knock ? { knock } : {}),
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
  if (parts.length > 1 || kind === 'users')
    return { kind: 'other', parts, password: access.password === true ? password : undefined };
  switch (kind) {
    case 'addresses':
      return { kind, allow: access.allow ?? [] };
    case 'password':
      return { kind, password };
    case 'anyone':
    case 'links':
    case 'knock':
      return { kind };
  }
}

/**
 * The access policy to request when a tunnel that had this `access` is started again: never weaker than before.
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
  };
}

function partsOf({ allow, basic, password, links, knock }: AccessView): AccessPart[] {
  const parts: AccessPart[] = [];
  if (allow !== undefined) parts.push('addresses');
  if (basic !== undefined) parts.push('users');
  if (password === true) parts.push('password');
  if (links === true) parts.push('links');
  if (knock === true) parts.push('knock');
  return parts;
}

/** By key of the tunnel. */
export type TunnelPasswords = ReadonlyMap<string, string>;
