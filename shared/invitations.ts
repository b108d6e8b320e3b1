/** Invitations to a relay (protocol.md section 13), as both ends know them. */
import * as yup from 'yup';
import { API_KEY_PATTERN } from './constraints.ts';
import { ADDRESS, described, type Field, object, TEXT, TIME, type TypeOf, UUID } from './fields.ts';

/** What an invitation's address ends with. */
export const INVITATION_TOKEN = /^[\w-]{32}$/;
/** @limit Maximum length of a computer's name, which becomes the label of its key. */
export const MACHINE_MAX_LENGTH = 100;
const ADDRESS_PATH = /^\/invite\/([\w-]{32})$/;

/** What `GET /invite/{token}` returns. */
export const OPEN_INVITE = object({ account: described(TEXT, "the account's name"), expires_at: TIME });
export type OpenInvite = TypeOf<typeof OPEN_INVITE>;

/** An API key, which is shown only once. */
export const API_KEY: Field<string> = {
  schema: { type: 'string', pattern: API_KEY_PATTERN.source },
  accepts: yup.string().matches(API_KEY_PATTERN).required(),
};

/** What `POST /v1/invites/{token}` returns. */
export const TAKEN_INVITE = object(
  {
    id: { ...described(UUID, "the key's id"), accepts: TEXT.accepts },
    account: described(TEXT, "the account's name"),
    key: API_KEY,
    relay: { ...described(ADDRESS, "the relay's own address"), accepts: TEXT.accepts },
  },
  'TakenInvitation',
);
export type TakenInvite = TypeOf<typeof TAKEN_INVITE>;

/** @returns a link that opens the invitation in the desktop app */
export function signInLink(address: string): string {
  return `culvert://sign-in?invitation=${encodeURIComponent(address)}`;
}

/** @param origin the relay's own address */
export function invitationUrl(origin: string, token: string): string {
  return `${origin}/invite/${token}`;
}

/** @returns the token in the address of an invitation; `undefined` for any other address */
export function invitationToken(url: URL): string | undefined {
  return ADDRESS_PATH.exec(url.pathname)?.[1];
}
