/** Invitations to a relay (docs/protocol.md section 13), as both ends use them. */

/** The token at the end of an invitation's address. */
export const INVITATION_TOKEN = /^[\w-]{32}$/;
/** @limit Characters of the name of a machine, which becomes the label of its key. */
export const MACHINE_MAX_LENGTH = 100;
const ADDRESS_PATH = /^\/invite\/([\w-]{32})$/;

/** The response to `GET /invite/{token}`, which describes an invitation. */
export interface OpenInvite {
  /** name of the account */
  readonly account: string;
  readonly expires_at: string;
}

/** The response to `POST /v1/invites/{token}`, which accepts an invitation. */
export interface TakenInvite {
  /** id of the new key */
  readonly id: string;
  /** name of its account */
  readonly account: string;
  readonly key: string;
  /** the relay's address */
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
