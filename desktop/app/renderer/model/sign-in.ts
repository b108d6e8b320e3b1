/** Validates the sign-in form before a relay is contacted. */
import { invitationToken } from '../../../../shared/team.ts';
import { API_KEY_PATTERN, API_KEY_PREFIX } from '../../../../shared/value-rules.ts';
import type { InvitationView, SignInView, Snapshot } from '../../ipc/snapshot.ts';
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

/** What becomes of the current sign-in; `undefined` without one. */
export function stayingWords(
  { state, relay, account }: Pick<InvitationView, 'state' | 'relay'> & { readonly account?: string },
  { session, signIns }: Pick<Snapshot, 'session' | 'signIns'>,
): string | undefined {
  if (state !== 'open') return undefined;
  if (signIns.some((one) => one.isSignedIn && one.relay === relay && one.account === account))
    return t('invitation.another');
  if (session.state !== 'signed-in') return undefined;
  return t('invitation.staying', { name: signInName({ ...session, account: session.account.name }) });
}

/** The name of a relay for people. @param origin of the relay */
export function hostOf(origin: string): string {
  return URL.parse(origin)?.host ?? origin;
}

/* Several sign-ins. */

/** Those that the window does not show. */
export function otherSignIns({ signIns }: Pick<Snapshot, 'signIns'>): readonly SignInView[] {
  return signIns.filter(({ isChosen }) => !isChosen);
}

/** Id of the one that the window shows. */
export function chosenSignIn({ signIns }: Pick<Snapshot, 'signIns'>): string | undefined {
  return signIns.find(({ isChosen }) => isChosen)?.id;
}

/** The account and its relay, in a line. */
export function signInName({ account, relay }: Pick<SignInView, 'account' | 'relay'>): string {
  return `${account} · ${hostOf(relay)}`;
}

/** The same, with how it is. @param name what to call it */
export function signInWords(signIn: SignInView, name = signInName(signIn)): string {
  const { isSignedIn, isTroubled, running } = signIn;
  if (!isSignedIn) return t('signIns.signedOut', { name });
  return t(isTroubled ? 'signIns.trouble' : 'signIns.running', { name, count: running });
}
