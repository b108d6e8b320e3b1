/** The people of an account, as the REST interface shows them to its owners (protocol.md section 15). */
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
} from './fields.ts';

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
