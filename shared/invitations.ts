/** Invitations to a relay (docs/protocol.md section 13), as both ends know them. */

/** What an invitation's address ends with. */
export const INVITATION_TOKEN = /^[\w-]{32}$/;
/** @limit Characters of the name of a machine, which becomes the label of its key. */
export const MACHINE_MAX_LENGTH = 100;
const ADDRESS_PATH = /^\/invite\/([\w-]{32})$/;

/** What looking at an invitation gives: `GET /invite/{token}`. */
export interface OpenInvite {
  /** name of the account */
  readonly account: string;
  readonly expires_at: string;
}

/** What taking an invitation gives: `POST /v1/invites/{token}`. */
export interface TakenInvite {
  /** of the key */
  readonly id: string;
  /** name of its account */
  readonly account: string;
  readonly key: string;
  /** the relay's own address */
  readonly relay: string;
}

/** @returns a link that opens the invitation in the desktop app */
export function signInLink(address: string): string {
  return `culvert://sign-in?invitation=${encodeURIComponent(address)}`;
}

/** @returns the token in the address of an invitation; `undefined` for any other address */
export function invitationToken(url: URL): string | undefined {
  return ADDRESS_PATH.exec(url.pathname)?.[1];
}
