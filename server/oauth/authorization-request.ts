/** What a client asks for at the authorization endpoint (RFC 6749 section 4.1.1, RFC 7636, RFC 8707), checked. */
import { BusyError } from '../turnstile.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { AccessPolicy } from '../access/access-policy.ts';
import { type Client, type Clients, hostOfClient } from './clients.ts';
import { isRegistered, responseAddress, shownHost } from './redirect-uris.ts';

/** Maximum length of the parameters of a request, so that they fit into the addresses of its steps. */
export const QUERY_MAX_LENGTH = 4096;
/** SHA-256 in base64url (RFC 7636 section 4.2). */
const CHALLENGE = /^[\w-]{43}$/;

/** A request that may be put to a person. */
export interface AuthorizationRequest {
  readonly client: Client;
  /** host of the client, as people are shown it */
  readonly host: string;
  readonly redirectUri: string;
  /** host of that */
  readonly returnsTo: string;
  readonly state: string;
  readonly challenge: string;
  /** as the client has written it */
  readonly resource: string;
  /** host of the resource, without a port */
  readonly resourceHost: string;
  readonly tunnel: LiveTunnel;
  readonly access: AccessPolicy;
  /** the parameters that say all of this, for the addresses of its steps */
  readonly query: string;
}

/** Why a request is not put to anybody: a heading and a sentence. Its address is not checked, so nothing is sent there. */
export interface RequestFault {
  readonly status: 400 | 503;
  readonly title: string;
  readonly text: string;
}

interface Lookups {
  readonly clients: Pick<Clients, 'find'>;
  /** Finds the live tunnel at a host, which may have a port. @throws StoreError */
  readonly tunnelAt: (host: string) => Promise<LiveTunnel | undefined>;
}

const NAMES = [
  'client_id',
  'redirect_uri',
  'response_type',
  'state',
  'code_challenge',
  'code_challenge_method',
  'resource',
  'scope',
] as const;

function fault(title: string, text: string, status: RequestFault['status'] = 400): RequestFault {
  return { status, title, text };
}

const MALFORMED = 'This request is not valid';

/**
 * @param network of the visitor
 * @throws StoreError
 */
export async function readAuthorizationRequest(
  parameters: URLSearchParams,
  network: string,
  { clients, tunnelAt }: Lookups,
): Promise<AuthorizationRequest | RequestFault> {
  const given: Partial<Record<(typeof NAMES)[number], string>> = {};
  for (const name of NAMES) {
    const [value, ...more] = parameters.getAll(name);
    if (more.length > 0) return fault(MALFORMED, `The client has sent ${name} more than once.`);
    if (value !== undefined) given[name] = value;
  }
  const { client_id: id = '', redirect_uri: redirectUri = '', state = '', resource = '' } = given;
  const { code_challenge: challenge = '' } = given;
  const query = new URLSearchParams(given).toString();
  if (query.length > QUERY_MAX_LENGTH) return fault(MALFORMED, 'The request of the client is too long.');
  const missing = missingIn(given);
  if (missing !== undefined) return fault(MALFORMED, missing);
  const at = placeOf(resource);
  const tunnel = at && (await tunnelAt(at.host));
  const access = tunnel?.access;
  if (at === undefined || tunnel === undefined || access?.takesAgents !== true || tunnel.isSuspended)
    return fault(
      'There is nothing to give access to',
      'No tunnel of this relay takes agents at that address.',
    );
  const client = await clients.find(id, network).catch((error: unknown) => {
    if (error instanceof BusyError) return 'busy' as const;
    throw error;
  });
  if (client === 'busy')
    return fault(
      'The relay is busy',
      'The relay is looking up too many clients. Try again in a moment.',
      503,
    );
  if (client === undefined)
    return fault(
      'This client is not known',
      'The relay could not find out who asks. If the client registered a day ago or earlier, connect it again.',
    );
  if (!isRegistered(redirectUri, client.redirectUris))
    return fault(
      'This client is not known',
      'The client wants to return to an address that it has not registered.',
    );
  return {
    client,
    host: hostOfClient(client, redirectUri),
    redirectUri,
    returnsTo: shownHost(redirectUri),
    state,
    challenge,
    resource,
    resourceHost: at.hostname,
    tunnel,
    access,
    query,
  };
}

function missingIn(given: Partial<Record<(typeof NAMES)[number], string>>): string | undefined {
  if (given.response_type !== 'code') return 'The client has to ask for response_type=code.';
  if (given.code_challenge_method !== 'S256' || !CHALLENGE.test(given.code_challenge ?? ''))
    return 'The client has to send a code_challenge with code_challenge_method=S256.';
  return given.state === undefined || given.state === '' ? 'The client has to send a state.' : undefined;
}

/** Of the address of a resource (RFC 8707 section 2). */
function placeOf(resource: string): Pick<URL, 'host' | 'hostname'> | undefined {
  // A backslash or a control would be a slash or nothing to some parsers.
  if (!/^https?:\/\/[!-Z_a-z~[\]]+$/i.test(resource) || !URL.canParse(resource)) return undefined;
  const { username, password, host, hostname } = new URL(resource);
  return `${username}${password}` !== '' || resource.includes('#') ? undefined : { host, hostname };
}

export function isFault(read: AuthorizationRequest | RequestFault): read is RequestFault {
  return 'status' in read;
}

/**
 * The address that a person returns to (RFC 6749 sections 4.1.2 and 4.1.2.1, RFC 9207).
 *
 * @param outcome a code, or an error
 */
export function returnAddress(
  { redirectUri, state }: AuthorizationRequest,
  outcome: { readonly code: string } | { readonly error: 'access_denied' },
  issuer: string,
): string {
  return responseAddress(redirectUri, { ...outcome, state, iss: issuer });
}
