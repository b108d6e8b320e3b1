/** An invitation to a relay: what was pasted, and what taking it means. */
import { t } from '../../i18n/translate.ts';
import { invitationToken } from '../../../shared/invitations.ts';
import type { InvitationView, Snapshot } from '../../shared/snapshot.ts';

/** @returns the address of an invitation that was pasted into a field, as it was; `undefined` for anything else */
export function pastedInvitation(text: string): string | undefined {
  const address = text.trim();
  const url = URL.parse(address.includes('://') ? address : `https://${address}`);
  return url === null || invitationToken(url) === undefined ? undefined : address;
}

/** What happens to whoever is signed in; `undefined` if nobody is. */
export function leavingWords(
  invitation: InvitationView,
  { session, tunnels }: Pick<Snapshot, 'session' | 'tunnels'>,
): string | undefined {
  if (invitation.state !== 'open' || session.state !== 'signed-in') return undefined;
  const { relay, account } = session;
  if (relay === invitation.relay && account.name === invitation.account) return t('invitation.another');
  const live = tunnels.filter(({ status }) => status.name !== 'ended').length;
  return t('invitation.leaving', { host: hostOf(relay), account: account.name, live });
}

/** A relay as people know it. @param origin of the relay */
export function hostOf(origin: string): string {
  return URL.parse(origin)?.host ?? origin;
}
