/** What an owner sends to people: one sentence. */
import { t } from '../../i18n/translate.ts';
import { CallFailure } from '../failure.ts';
import type { DeskTunnel } from './desk-tunnel.ts';

/**
 * @returns the address, and the password where visitors have to give one; the password comes last, so that no full stop is
 *   taken for a part of it
 * @throws CallFailure if the password is not known here
 */
export function shareText({ tunnel, lock }: Pick<DeskTunnel, 'tunnel' | 'lock'>): string {
  const { public_url } = tunnel;
  const isKnown = 'password' in lock && lock.password !== undefined;
  if (lock.kind !== 'password' && !isKnown) return public_url;
  if (isKnown) return t('share.withPassword', { url: public_url, password: lock.password });
  throw new CallFailure({
    code: 'password-unknown',
    text: t('problem.passwordUnknown'),
  });
}
