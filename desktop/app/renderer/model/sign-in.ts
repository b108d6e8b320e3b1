/** Validates the sign-in form before a relay is contacted. */
import { invitationToken } from '../../../../shared/team.ts';
import { API_KEY_PATTERN, API_KEY_PREFIX } from '../../../../shared/value-rules.ts';
import type { InvitationView, Snapshot } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';

export interface SignInProblems {
  readonly relay?: string;
  readonly key?: string;
}

/** @returns what to change in each field; both are trimmed first */
export function signInProblems(relay: string, key: string): SignInProblems {
  return { ...problem('relay', relayProblem(relay.trim())), ...problem('key', keyProblem(key.trim())) };
}

function relayProblem(relay: string): string | undefined {
  if (relay === '') return t('signIn.giveRelay');
  // Main adds a missing scheme.
  const url = URL.parse(relay.includes('://') ? relay : `https://${relay}`);
  // Chromium accepts a host with a space in it, Node does not.
  const isWeb = url !== null && !/\s/.test(relay) && (url.protocol === 'http:' || url.protocol === 'https:');
  if (isWeb) return undefined;
  return t('signIn.notRelay');
}

function keyProblem(key: string): string | undefined {
  if (key === '') return t('signIn.pasteKey');
  if (!key.startsWith(API_KEY_PREFIX)) return t('signIn.keyBegins', { prefix: API_KEY_PREFIX });
  if (!API_KEY_PATTERN.test(key)) return t('signIn.keyIncomplete');
  return undefined;
}

function problem(field: keyof SignInProblems, text: string | undefined): SignInProblems {
  return text === undefined ? {} : { [field]: text };
}

/* An invitation to a relay: recognising a pasted one, and the consequences of accepting it. */

/** @returns the pasted address of an invitation, unchanged; `undefined` for any other text */
export function pastedInvitation(text: string): string | undefined {
  const address = text.trim();
  const url = URL.parse(address.includes('://') ? address : `https://${address}`);
  return url === null || invitationToken(url) === undefined ? undefined : address;
}

/** What happens to the current sign-in; `undefined` without one. */
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

/** The name of a relay for people. @param origin of the relay */
export function hostOf(origin: string): string {
  return URL.parse(origin)?.host ?? origin;
}
