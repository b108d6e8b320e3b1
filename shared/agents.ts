/** Agents that were admitted by OAuth, as the REST interface has them (protocol.md section 11.6). */
import {
  described,
  listOf,
  object,
  SHORT_ID,
  TEXT,
  TEXT_OR_EMPTY,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  type TypeOf,
} from './fields.ts';

/**
 * Maximum number of agents of a tunnel.
 *
 * @limit owner: Agents of a tunnel | the agent is refused with `access_denied`
 */
export const AGENTS_MAX = 64;
/** Maximum length of the name that an agent gives itself; the rest is cut off. */
export const AGENT_NAME_MAX_LENGTH = 80;
/** Prefix of access tokens. */
export const ACCESS_TOKEN_PREFIX = 'cva_';
/** Prefix of refresh tokens. */
export const REFRESH_TOKEN_PREFIX = 'cvr_';

/** The client of an agent: who asks for access. */
const CLIENT_FIELDS = {
  name: described(TEXT_OR_EMPTY, 'what the client calls itself: nobody has checked it'),
  host: described(TEXT, "host of the client's id, or, for a client that registered, of where it returns to"),
  returns_to: described(TEXT, 'host that the browser returns to, or the scheme of an app'),
};

export const AGENT_CLIENT = object(CLIENT_FIELDS, 'AgentClient');

/** An agent as it is listed. */
export const AGENT = object(
  {
    id: SHORT_ID,
    ...CLIENT_FIELDS,
    user: described(TEXT_OR_NULL, 'who signed in to approve it; null if nobody had to'),
    created_at: TIME,
    first_used_at: described(TIME_OR_NULL, 'null if it was never used'),
    last_used_at: described(TIME_OR_NULL, 'accurate to one minute; null if it was never used'),
  },
  'Agent',
);
export const AGENT_LIST = object({ agents: listOf(AGENT, 'oldest first') }, 'AgentList');
export type Agent = TypeOf<typeof AGENT>;
