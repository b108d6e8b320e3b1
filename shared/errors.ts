/**
 * The error catalogue: the status, code and text of each failure that the relay or a client reports (protocol.md
 * sections 2.2 and 4.5). The relay throws its entries, and clients switch on their codes.
 */

/**
 * The errors of the REST interface and the WebSocket endpoints: `{"error": "<text>", "code": "<code>"}`, with `values` if
 * the text has any. Programs rely on the code, so it never changes.
 */
export const API_ERRORS = {
  invalidBody: { status: 400, code: 'invalid-body', text: 'invalid request body' },
  invalidPort: { status: 400, code: 'invalid-port', text: 'local_port must be 1-65535' },
  invalidTtl: { status: 400, code: 'invalid-ttl', text: 'invalid ttl format' },
  invalidName: {
    status: 400,
    code: 'invalid-name',
    text: 'tunnel name must be 2-63 characters: lowercase letters, digits and hyphens, not starting or ending with a hyphen',
  },
  invalidRemotePort: { status: 400, code: 'invalid-remote-port', text: 'remote_port must be a whole number' },
  missingTunnelId: { status: 400, code: 'missing-tunnel-id', text: 'tunnel_id is required' },
  missingId: { status: 400, code: 'missing-id', text: 'either id or tunnel_id is required' },
  invalidHandshake: { status: 400, code: 'invalid-handshake', text: 'invalid websocket handshake' },
  missingKey: { status: 401, code: 'missing-key', text: 'missing api key' },
  invalidKey: { status: 401, code: 'invalid-key', text: 'invalid api key' },
  planTooLow: { status: 403, code: 'plan-too-low', text: 'custom names require the Dev plan or above' },
  planTooLowForWildcard: {
    status: 403,
    code: 'plan-without-wildcards',
    text: 'wildcard hosts require the Dev plan or above',
  },
  agentAccess: {
    status: 403,
    code: 'agent-access',
    text:
      "this api key is an agent's: access must have a password, basic, tokens, links, knock, sign_in or oauth, or an allow list of private networks " +
      'and ranges of at most /16 (IPv6: /32)',
  },
  agentHosts: {
    status: 403,
    code: 'agent-hosts',
    text: "this api key is an agent's: its tunnels cannot have a domain or wildcard hosts",
  },
  agentIdle: {
    status: 403,
    code: 'agent-idle',
    text: "this api key is an agent's: traffic cannot extend its tunnels, so idle_ttl must be false",
  },
  notFound: { status: 404, code: 'not-found', text: 'not found' },
  tunnelNotFound: { status: 404, code: 'tunnel-not-found', text: 'tunnel not found' },
  connectionNotFound: { status: 404, code: 'connection-not-found', text: 'connection not found' },
  tunnelNotConnected: { status: 404, code: 'tunnel-not-connected', text: 'tunnel not connected' },
  linkNotFound: { status: 404, code: 'link-not-found', text: 'link not found' },
  agentNotFound: { status: 404, code: 'agent-not-found', text: 'agent not found' },
  knockNotFound: { status: 404, code: 'knock-not-found', text: 'knock not found' },
  domainNotFound: { status: 404, code: 'domain-not-found', text: 'domain not found' },
  nameNotFound: { status: 404, code: 'name-not-found', text: 'the account does not keep this name' },
  invitationNotFound: {
    status: 404,
    code: 'invitation-not-found',
    text: 'this invitation was already used, has expired, or never existed',
  },
  invalidMachine: {
    status: 400,
    code: 'invalid-machine',
    text: 'machine must be at most 100 characters without control characters',
  },
  methodNotAllowed: { status: 405, code: 'method-not-allowed', text: 'method not allowed' },
  nameTaken: { status: 409, code: 'name-taken', text: 'name already in use' },
  // Both have the same text in the protocol; clients distinguish them for users.
  nameReserved: { status: 409, code: 'name-reserved', text: 'name already in use' },
  domainTaken: {
    status: 409,
    code: 'domain-taken',
    text: 'the domain belongs to the relay, or another account has verified it',
  },
  domainNotVerified: {
    status: 409,
    code: 'domain-not-verified',
    text: 'the domain is not verified yet: create its DNS records, then verify it',
  },
  domainFixed: {
    status: 409,
    code: 'domain-fixed',
    text: 'the addresses of the tunnel with that name cannot be changed: close it, then create it again with the domain',
  },
  domainInUse: { status: 409, code: 'domain-in-use', text: 'another tunnel uses the domain' },
  portTaken: {
    status: 409,
    code: 'port-taken',
    text: 'no such port is free: remote_port is in use or outside the range of this relay, or every port of the range is in use',
  },
  protocolFixed: {
    status: 409,
    code: 'protocol-fixed',
    text: 'the protocol and the remote port of the tunnel with that name cannot be changed: close it, then create it again',
  },
  linksOff: {
    status: 409,
    code: 'links-off',
    text: 'this tunnel does not accept signed links: turn on links in its access policy first',
  },
  bodyTooLarge: { status: 413, code: 'body-too-large', text: 'request body too large' },
  upgradeRequired: { status: 426, code: 'upgrade-required', text: 'websocket upgrade required' },
  rateLimited: { status: 429, code: 'rate-limited', text: 'rate limit exceeded' },
  tooManyWrongKeys: {
    status: 429,
    code: 'too-many-wrong-keys',
    text: 'too many wrong api keys from this address',
  },
  tooManyTrunks: { status: 429, code: 'too-many-trunks', text: 'too many trunks' },
  internal: { status: 500, code: 'internal-error', text: 'internal error' },
  unavailable: { status: 503, code: 'unavailable', text: 'service unavailable' },
  tooManySockets: { status: 503, code: 'too-many-sockets', text: 'too many client connections' },

  // Errors whose text depends on settings or on the moment, with `{…}` for what {@link withValues} puts there.

  /** a `ttl` above the configured maximum, which the text shows in normalized form */
  ttlTooLong: { status: 400, code: 'ttl-too-long', text: 'ttl must be at most {duration}' },
  /**
   * A tunnel above the limit of a plan. This is not a 429: waiting may not help, so a client should tell its user
   * instead of trying again.
   */
  tooManyTunnels: {
    status: 403,
    code: 'too-many-tunnels',
    text: 'the {plan} plan allows {number} {tunnels} at a time; {remedy}',
  },
  /** a field that tunnels of the protocol do not have */
  notForProtocol: {
    status: 400,
    code: 'not-for-protocol',
    text: '{field} is not available for tunnels with the protocol {protocol}',
  },
  /** a type of tunnels that is switched off */
  protocolUnavailable: {
    status: 409,
    code: 'protocol-unavailable',
    text: 'this relay does not offer tunnels with the protocol {protocol}',
  },
  /** a valid key that was created for another purpose */
  keyOutOfScope: { status: 403, code: 'key-scope', text: 'this api key is valid for {scope} only' },
  /** a name that an agent's key cannot give its tunnels (protocol.md section 2.1) */
  agentName: {
    status: 403,
    code: 'agent-name',
    text: 'this api key is an agent\'s: names of its tunnels must begin with "{prefix}" and must not contain "--"',
  },
  /** an invalid administrative request (protocol.md section 14) */
  invalidAdminRequest: { status: 400, code: 'invalid-admin-request', text: '{field} must be {rule}' },
  /** the subject of an administrative request does not exist */
  noSuch: { status: 404, code: 'no-such-thing', text: 'there is no {kind} "{name}"' },
  /** another account has that name or subdomain */
  taken: { status: 409, code: 'taken', text: 'the {field} is taken' },
  /** any request of a suspended account, with the operator's reason */
  accountSuspended: { status: 403, code: 'account-suspended', text: 'this account is suspended: {reason}' },
  /** an invalid answer to an approval request (protocol.md section 11.3) */
  invalidKnockAnswer: { status: 400, code: 'invalid-knock-answer', text: '{field} must be {rule}' },
  /** an approval above the limit of simultaneously approved visitors; `time` is when the first approval ends */
  tooManyAdmitted: {
    status: 409,
    code: 'too-many-admitted',
    text: 'a tunnel can have {number} approved visitors at a time; revoke one approval, or wait until {time}',
  },
  /** an invalid `access` (protocol.md section 11.1) */
  invalidAccess: { status: 400, code: 'invalid-access', text: '{reason}' },
  /** an invalid link (protocol.md section 11.2) */
  invalidLink: { status: 400, code: 'invalid-link', text: 'the {field} of a link must be {rule}' },
  /** an invalid domain (protocol.md section 12.1) */
  invalidDomain: { status: 400, code: 'invalid-domain', text: 'the domain {problem}' },
  /** a domain above the limit of a plan */
  tooManyDomains: {
    status: 403,
    code: 'too-many-domains',
    text: 'the {plan} plan allows {number} domains, including those that are not verified',
  },
  /** an invalid change of a kept name (protocol.md section 16) */
  invalidNameChange: { status: 400, code: 'invalid-name-change', text: '{field} must be {rule}' },
  /** a name above the limit of a plan */
  tooManyNames: { status: 403, code: 'too-many-names', text: 'the {plan} plan keeps {number} names' },
  /** a link above the limit of a tunnel; `time` is when the first of its valid and revoked links expires */
  tooManyLinks: {
    status: 409,
    code: 'too-many-links',
    text: 'a tunnel can have {number} links at a time, and {more} more that were revoked before they expired; revoke one, or wait until {time}, when the next one expires',
  },
} as const satisfies Record<string, ApiErrorEntry>;

/** Every error of the REST interface and the WebSocket endpoints. */
export const ALL_API_ERRORS: readonly (typeof API_ERRORS)[keyof typeof API_ERRORS][] =
  Object.values(API_ERRORS);

export interface ApiErrorEntry {
  readonly status: number;
  /** in kebab-case */
  readonly code: string;
  readonly text: string;
  readonly values?: ErrorValues;
}

/** What varies in the text of an error, for programs that put it into other words. */
export type ErrorValues = Readonly<Record<string, string | number>>;

/** A part of a text that is itself words: among the values it is its code, with the values that it contains. */
export interface Clause {
  /** in snake_case */
  readonly code: string;
  readonly text: string;
  readonly values?: ErrorValues;
}

type Places<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Places<Rest>
  : never;

/** An error of the catalogue with the values of its text. */
export function withValues<Entry extends ApiErrorEntry>(
  { status, code, text }: Entry,
  given: Readonly<Record<Places<Entry['text']>, string | number | Clause>>,
): ApiErrorEntry {
  const values: Record<string, string | number> = {};
  for (const [name, value] of Object.entries<string | number | Clause>(given))
    Object.assign(
      values,
      typeof value === 'object' ? { ...value.values, [name]: value.code } : { [name]: value },
    );
  const filled = text.replaceAll(/\{(\w+)\}/g, (_place, name: keyof typeof given) => {
    const value: string | number | Clause = given[name];
    return String(typeof value === 'object' ? value.text : value);
  });
  return { status, code, text: filled, values };
}

/** Field of an error response with the {@link ErrorValues} of its text, as JSON in ASCII. */
export const ERROR_VALUES_FIELD = 'Culvert-Error-Values';

/** A value may be as long as a request: a head with it would be too large for proxies and clients. */
const VALUES_MAX_LENGTH = 2048;

/** The body of every error of the REST interface and the WebSocket endpoints. */
interface ApiErrorBody {
  readonly error: string;
  readonly code: string;
}

/** A failure of the catalogue on its way to the error handler that responds with it. */
export class ApiError extends Error {
  readonly status: number;
  readonly body: ApiErrorBody;
  readonly values: ErrorValues | undefined;
  /** Header fields of the response, such as `Retry-After`. */
  readonly headers: Readonly<Record<string, string>>;

  constructor({ status, code, text, values }: ApiErrorEntry, headers: Readonly<Record<string, string>> = {}) {
    super(text);
    this.name = 'ApiError';
    this.status = status;
    this.body = { error: text, code };
    this.values = values;
    const field = values === undefined ? '' : asciiOf(values);
    const isSent = field !== '' && field.length <= VALUES_MAX_LENGTH;
    this.headers = isSent ? { ...headers, [ERROR_VALUES_FIELD]: field } : headers;
  }
}

/** A text of an account may have any characters, a field only visible ones. */
function asciiOf(values: ErrorValues): string {
  return JSON.stringify(values).replaceAll(
    /[^ -~]/g,
    (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * Errors for visitors, sent by the relay, or by the client instead of the local service, with the header field
 * `Culvert-Error: <code>`. `title` and `text` are shown to people.
 */
export const VISITOR_ERRORS = {
  'bad-request': {
    status: 400,
    title: 'Bad request',
    text: 'The request is malformed or ambiguous, so it was not forwarded.',
  },
  'path-worker': {
    status: 403,
    title: 'Service workers are not allowed here',
    text: "Browsers treat all tunnels below /t/ as a single origin, so none of them can have a service worker. Use the tunnel's address with its own host name.",
  },
  notice: {
    status: 403,
    title: 'Before you continue',
    text: "This page is served from someone's own computer, through this relay. The operator of the relay did not create the page and has not checked it.",
  },
  'access-required': {
    status: 401,
    title: 'Access is restricted',
    text: 'The owner of this page has restricted who can see it.',
  },
  'access-address': {
    status: 403,
    title: 'Your network does not have access',
    text: 'The owner of this page allows only certain networks, and yours is not one of them.',
  },
  'access-attempts': {
    status: 429,
    title: 'Too many wrong passwords',
    text: 'Too many wrong passwords were entered. Try again in a minute.',
  },
  'sign-in-refused': {
    status: 403,
    title: 'This account does not have access',
    text: 'You have signed in, but the owner of this page has not given your account access.',
  },
  'sign-in-failed': {
    status: 400,
    title: 'The sign-in did not work',
    text: 'It took too long, was completed before, or was begun in another browser. Sign in again.',
  },
  'sign-in-unavailable': {
    status: 503,
    title: 'Signing in is not possible right now',
    text: 'The service that people sign in with does not respond. Try again in a moment.',
  },
  'tunnel-unknown': {
    status: 404,
    title: 'There is no tunnel here',
    text: 'No tunnel has this address. The tunnel may have been closed or have expired, or the address may have been mistyped.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'Method not allowed',
    text: 'The relay does not accept requests with this method.',
  },
  'request-timeout': {
    status: 408,
    title: 'The request took too long',
    text: 'The complete request did not arrive in time.',
  },
  'uri-too-long': {
    status: 414,
    title: 'Address too long',
    text: "The request's address is longer than 8 KiB. Send long data in the request body instead.",
  },
  suspended: {
    status: 451,
    title: 'Suspended',
    text: 'The operator of this relay has blocked this page.',
  },
  'expectation-failed': {
    status: 417,
    title: 'Expectation failed',
    text: 'The only expectation that the relay accepts is 100-continue.',
  },
  'too-many': {
    status: 429,
    title: 'Too many requests',
    text: 'There are too many connections or requests from your address, which may be shared with other people. Try again in a moment.',
  },
  misdirected: {
    status: 421,
    title: 'Unknown host name',
    text: 'This host name points to the relay, but no tunnel uses it. If this is your domain, verify it first. Otherwise, use the address that you were given.',
  },
  'head-too-large': {
    status: 431,
    title: 'Request headers too large',
    text: "The request headers are larger than 16 KiB or have more than 200 fields. In a browser, cookies are the usual cause: delete this site's cookies and try again.",
  },
  'not-implemented': {
    status: 501,
    title: 'Transfer coding not supported',
    text: 'The only transfer coding that the relay accepts is chunked.',
  },
  'local-refused': {
    status: 502,
    title: 'The service cannot be reached',
    text: 'The tunnel is online, but the local service behind it is not running. The owner of this page can start it.',
  },
  'local-reset': {
    status: 502,
    title: 'The local service closed the connection',
    text: 'The local service behind this tunnel received the request and closed the connection without sending a response. Its output may show the reason.',
  },
  'local-malformed': {
    status: 502,
    title: 'The response is not HTTP',
    text: 'The local service behind this tunnel sent something that is not HTTP, so its response cannot be shown. The output of its client names the line that was refused.',
  },
  'local-not-http2': {
    status: 502,
    title: 'The local service does not speak HTTP/2',
    text: "The tunnel is set up for HTTP/2, but the local service behind it does not speak HTTP/2. The tunnel's owner can start it with --upstream http1, or with the protocol that the service speaks.",
  },
  'local-no-websocket': {
    status: 502,
    title: 'WebSockets are not available here',
    text: "The tunnel uses HTTP/2 for the local service behind it, and cannot carry WebSockets in this mode. The tunnel's owner can start it with --upstream http1.",
  },
  'local-busy': {
    status: 503,
    title: 'The local service is busy',
    text: 'The local service behind this tunnel is already serving as many requests as it allows. Try again in a moment.',
  },
  'client-closed': {
    status: 502,
    title: 'The connection was closed',
    text: 'The service behind this tunnel closed the connection before it sent a response. Try again in a moment.',
  },
  'relay-busy': {
    status: 503,
    title: 'The relay is busy',
    text: 'The relay cannot accept more visitors at the moment. Try again in a moment.',
  },
  'tunnel-busy': {
    status: 503,
    title: 'The tunnel is busy',
    text: 'Too many visitors are waiting for the client of this tunnel. Try again in a moment.',
  },
  'tunnel-offline': {
    status: 503,
    title: 'The tunnel is offline',
    text: 'This tunnel exists, but its client is not connected right now. Try again in a moment.',
  },
  away: {
    status: 503,
    title: 'Away',
    text: 'The owner of this address is away.',
  },
  'domain-offline': {
    status: 503,
    title: 'Nothing is being shared here right now',
    text: 'This domain points to the relay, but no tunnel uses it at the moment. Try again after its owner has opened a tunnel.',
  },
  'plan-limit': {
    status: 503,
    title: 'The tunnel has too many visitors',
    text: "This tunnel has as many open connections as its owner's plan allows. Try again in a moment.",
  },
  'client-timeout': {
    status: 504,
    title: 'The tunnel did not respond',
    text: "This tunnel's client did not accept the connection in time. Try again in a moment.",
  },
  'version-not-supported': {
    status: 505,
    title: 'HTTP version not supported',
    text: 'The relay accepts HTTP/1.0 and HTTP/1.1.',
  },
} as const satisfies Record<string, VisitorErrorEntry>;

interface VisitorErrorEntry {
  readonly status: number;
  readonly title: string;
  readonly text: string;
}

export type VisitorErrorCode = keyof typeof VISITOR_ERRORS;
