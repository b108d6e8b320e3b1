/** The people of an account (protocol.md section 15) and invitations (section 13), as both ends know them. */
import * as yup from 'yup';
import {
  ADDRESS,
  described,
  type JsonObject,
  listOf,
  object,
  objectSchema,
  SHOWN_TIME,
  TEXT,
  TEXT_OR_EMPTY,
  TIME_OR_NULL,
  type TypeOf,
  UUID,
  withDefault,
  type Field,
  TIME,
} from './fields.ts';
import { API_KEY_PATTERN } from './value-rules.ts';

export const INVITE_LABEL = described(
  TEXT_OR_EMPTY,
  "whom it is for, which becomes the key's label; if empty, the machine's name does",
);

export const TEAM = object(
  {
    keys: listOf(
      object(
        {
          id: UUID,
          label: TEXT_OR_EMPTY,
          hint: described(TEXT, 'the first characters of the key'),
          scope: described(
            TEXT,
            "`owner`, `all`, the name of a tunnel, or `agent:` and the prefix of the names of an agent's tunnels",
          ),
          created_at: SHOWN_TIME,
          last_used_at: described(TIME_OR_NULL, 'accurate to one minute; null if it was never used'),
          expires_at: TIME_OR_NULL,
        },
        'TeamKey',
      ),
      'valid keys, oldest first',
    ),
    invites: listOf(
      object({ id: UUID, label: INVITE_LABEL, expires_at: SHOWN_TIME }, 'TeamInvite'),
      'open invitations, oldest first',
    ),
  },
  'Team',
);
export type Team = TypeOf<typeof TEAM>;

export const NEW_TEAM_INVITES = object(
  {
    invites: listOf(
      object(
        {
          id: UUID,
          label: INVITE_LABEL,
          expires_at: SHOWN_TIME,
          url: described(ADDRESS, 'URL of the invitation, which works once and is not shown again'),
        },
        'NewTeamInvite',
      ),
      'in the order of the labels',
    ),
  },
  'NewTeamInvites',
);
export type NewTeamInvites = TypeOf<typeof NEW_TEAM_INVITES>;

export const TEAM_AUDIT = object(
  {
    acts: listOf(
      object(
        {
          at: SHOWN_TIME,
          actor: described(TEXT, '`key:ID`, `invite:ID`, or `operator`'),
          action: TEXT,
          subject: TEXT_OR_EMPTY,
          detail: TEXT_OR_EMPTY,
        },
        'TeamAct',
      ),
      'oldest first',
    ),
  },
  'TeamAudit',
);
export type TeamAudit = TypeOf<typeof TEAM_AUDIT>;

/**
 * @param most number of labels
 * @param length of a label
 * @returns schema of the body of an invitation
 */
export function teamInviteSchema(most: number, length: number): JsonObject {
  return objectSchema(
    {
      labels: {
        type: 'array',
        minItems: 1,
        maxItems: most,
        items: { type: 'string', minLength: 1, maxLength: length },
        description: 'whom to invite: an invitation for each; the label becomes the label of the key',
      },
      'ttl?': { type: ['string', 'null'], description: withDefault('a duration', '24h') },
    },
    'InviteToTeam',
  );
}

/** What an invitation's address ends with. */
export const INVITATION_TOKEN = /^[\w-]{32}$/;
/** Maximum length of a computer's name, which becomes the label of its key. */
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
