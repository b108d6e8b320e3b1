/** The API described for programs: OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.1), served as `/v1/openapi.json`. */
import { API_KEY_PATTERN, RELAY_TITLE } from '../../../shared/constraints.ts';
import { PENDING_TIMEOUT_MS, PING_INTERVAL_MS, PONG_TIMEOUT_MS } from '../../../shared/control.ts';
import { API_ERRORS, type ApiErrorEntry } from '../../../shared/errors.ts';
import type { TtlLimits } from '../../../shared/tunnel.ts';
import { VERSION } from '../../../shared/version.ts';
import {
  CREATE_BURST,
  CREATES_PER_MINUTE,
  DOMAIN_CALLS_BURST,
  DOMAIN_CALLS_PER_MINUTE,
  LINKS_MAX,
  REVOKED_LINKS_MAX,
} from '../../limits.ts';
import type { JsonObject } from '../json-schema.ts';
import { ADMIN_PATHS } from './admin-operations.ts';
import {
  ANY_KEY_ERRORS,
  KEY_ERRORS,
  operation,
  type Paths,
  SERVER_ERRORS,
  success,
  tunnelId,
} from './operation.ts';
import { schemas } from './schemas.ts';

/**
 * @param publicUrl the relay's own address
 * @param ttl what the relay allows
 */
export function openApiDocument(publicUrl: URL, ttl: TtlLimits): JsonObject {
  return {
    openapi: '3.1.1',
    info: {
      title: RELAY_TITLE,
      version: VERSION,
      license: { name: 'MIT', identifier: 'MIT' },
      description:
        'Tunnels from a public address to a local port. Every error has the body `{"error": "<text>", "code": "<code>"}`, and codes never change. Any other path ' +
        `answers 404 ${nameOf(API_ERRORS.notFound)}, any other method 405 ${nameOf(API_ERRORS.methodNotAllowed)} with \`Allow\`; HEAD is ` +
        'answered wherever GET is. Paths are exact. Responses may get more fields with time.',
    },
    servers: [{ url: publicUrl.origin }],
    security: [{ key: [] }],
    paths: PATHS,
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: `an API key: \`${API_KEY_PATTERN.source}\`` },
      },
      schemas: schemas(ttl),
    },
  };
}

function nameOf({ code, text }: ApiErrorEntry): string {
  return `\`${code}\` (${text})`;
}

/* What can be done through the API, route by route (docs/protocol.md section 3.1). */

const linkId = { ...tunnelId, name: 'link_id' };
const domainId = tunnelId;
const knockId = { ...tunnelId, name: 'knock_id' };
const withId = { parameters: [tunnelId] as unknown as JsonObject };

export const PATHS: Paths = {
  '/v1/tunnels': {
    post: operation({
      id: 'createTunnel',
      summary: 'Create a tunnel',
      description: `At most ${CREATES_PER_MINUTE} a minute for each account, ${CREATE_BURST} at once.`,
      body: { schema: 'CreateTunnel', required: true },
      answers: {
        200: success(
          'The tunnel of that name that the account had already, with `take_over`: its `local_port`, `ttl`, `idle_ttl` and `access` ' +
            'are those of the request now, `expires_at` is now plus `ttl`; its id, addresses and counters stay.',
          'Tunnel',
        ),
        201: success('The tunnel.', 'Tunnel', { Location: { required: true, schema: { type: 'string' } } }),
      },
      errors: [
        ...([
          'invalidBody',
          'invalidPort',
          'invalidName',
          'invalidTtl',
          'ttlTooLong',
          'invalidAccess',
          'invalidDomain',
        ] as const),
        ...KEY_ERRORS,
        ...(['planTooLow', 'tooManyTunnels', 'domainNotFound', 'domainNotVerified'] as const),
        ...([
          'nameTaken',
          'nameReserved',
          'domainInUse',
          'domainFixed',
          'bodyTooLarge',
          'rateLimited',
        ] as const),
        ...SERVER_ERRORS,
      ],
    }),
    get: operation({
      id: 'listTunnels',
      summary: 'List the live tunnels of the account',
      answers: { 200: success('The tunnels.', 'TunnelList') },
      errors: [...KEY_ERRORS, ...SERVER_ERRORS],
    }),
  },
  '/v1/tunnels/{id}': {
    ...withId,
    get: operation({
      id: 'getTunnel',
      summary: 'Get a tunnel',
      answers: { 200: success('The tunnel.', 'Tunnel') },
      errors: [...KEY_ERRORS, 'tunnelNotFound', ...SERVER_ERRORS],
    }),
    delete: operation({
      id: 'closeTunnel',
      summary: 'Close a tunnel',
      description: 'Its connections are cut, and its slug is free.',
      answers: { 200: success('The tunnel is gone.', 'Closed') },
      errors: [...KEY_ERRORS, 'tunnelNotFound', ...SERVER_ERRORS],
    }),
  },
  '/v1/tunnels/{id}/extend': {
    ...withId,
    put: operation({
      id: 'extendTunnel',
      summary: 'Extend a tunnel',
      description: 'Its `expires_at` moves later by `ttl`; it may be no later than now plus the maximum.',
      body: { schema: 'ExtendTunnel', required: false },
      answers: { 200: success('The tunnel, with its `ttl` unchanged.', 'Tunnel') },
      errors: [
        ...(['invalidBody', 'invalidTtl', 'ttlTooLong'] as const),
        ...KEY_ERRORS,
        ...(['tunnelNotFound', 'bodyTooLarge'] as const),
        ...SERVER_ERRORS,
      ],
    }),
  },
  '/v1/tunnels/{id}/access': {
    ...withId,
    put: operation({
      id: 'setTunnelAccess',
      summary: 'Say who may come into a tunnel',
      description:
        'In place of what was said before; `{}` opens it to everybody. It counts for new requests within a second; open WebSockets ' +
        'and event streams that no longer pass are cut, other responses have 30 s to end, and every pass of a visitor ends.',
      body: { schema: 'Access', required: true },
      answers: { 200: success('The tunnel.', 'Tunnel') },
      errors: [
        ...(['invalidBody', 'invalidAccess'] as const),
        ...KEY_ERRORS,
        ...(['tunnelNotFound', 'bodyTooLarge'] as const),
        ...SERVER_ERRORS,
      ],
    }),
  },
  '/v1/tunnels/{id}/links': {
    ...withId,
    post: operation({
      id: 'createLink',
      summary: 'Make a signed link',
      description:
        `Whoever opens it comes into the tunnel until its end. At most ${LINKS_MAX} at a time, and ${REVOKED_LINKS_MAX} that were ` +
        'revoked before their end.',
      body: { schema: 'CreateLink', required: false },
      answers: { 201: success('The link.', 'NewLink') },
      errors: [
        ...(['invalidBody', 'invalidTtl', 'ttlTooLong', 'invalidLink'] as const),
        ...KEY_ERRORS,
        ...(['tunnelNotFound', 'linksOff', 'tooManyLinks', 'bodyTooLarge'] as const),
        ...SERVER_ERRORS,
      ],
    }),
    get: operation({
      id: 'listLinks',
      summary: 'List the links of a tunnel that are good',
      answers: { 200: success('The links.', 'LinkList') },
      errors: [...KEY_ERRORS, 'tunnelNotFound', ...SERVER_ERRORS],
    }),
  },
  '/v1/tunnels/{id}/links/{link_id}': {
    parameters: [tunnelId, linkId] as unknown as JsonObject,
    delete: operation({
      id: 'revokeLink',
      summary: 'Revoke a link',
      description:
        'Within a second it gives no access any longer, nor does the cookie of a visitor who came with it; everything that they have open is cut.',
      answers: { 200: success('The link is gone.', 'Revoked') },
      errors: [...KEY_ERRORS, ...(['tunnelNotFound', 'linkNotFound'] as const), ...SERVER_ERRORS],
    }),
  },
  '/v1/tunnels/{id}/knocks': {
    ...withId,
    get: operation({
      id: 'listKnocks',
      summary: 'List who knocks at a tunnel',
      description: 'Those who wait for an answer, those who are in, and those who were refused lately.',
      answers: { 200: success('The knocks.', 'KnockList') },
      errors: [...KEY_ERRORS, 'tunnelNotFound', ...SERVER_ERRORS],
    }),
  },
  '/v1/tunnels/{id}/knocks/{knock_id}': {
    parameters: [tunnelId, knockId] as unknown as JsonObject,
    put: operation({
      id: 'answerKnock',
      summary: 'Let a visitor in who knocks, or do not',
      description:
        'An answer may be changed: to refuse a visitor who is in sends him out, and cuts everything that he has open.',
      body: { schema: 'KnockAnswer', required: true },
      answers: { 200: success('The knock.', 'Knock') },
      errors: [
        ...(['invalidBody', 'invalidKnockAnswer'] as const),
        ...KEY_ERRORS,
        ...(['tunnelNotFound', 'knockNotFound', 'tooManyAdmitted', 'bodyTooLarge'] as const),
        ...SERVER_ERRORS,
      ],
    }),
  },
  '/v1/domains': {
    post: operation({
      id: 'addDomain',
      summary: 'Claim a domain',
      description:
        'It is the account’s once its records are entered where its DNS is kept and it was verified. One that the account has ' +
        `claimed before is returned as it is. With verifying, at most ${DOMAIN_CALLS_PER_MINUTE} a minute, ${DOMAIN_CALLS_BURST} at once.`,
      body: { schema: 'AddDomain', required: true },
      answers: {
        201: success('The domain.', 'Domain', { Location: { required: true, schema: { type: 'string' } } }),
      },
      errors: [
        ...(['invalidBody', 'invalidDomain'] as const),
        ...KEY_ERRORS,
        ...(['tooManyDomains', 'domainTaken', 'bodyTooLarge', 'rateLimited'] as const),
        ...SERVER_ERRORS,
      ],
    }),
    get: operation({
      id: 'listDomains',
      summary: 'List the domains of the account',
      answers: { 200: success('The domains.', 'DomainList') },
      errors: [...KEY_ERRORS, ...SERVER_ERRORS],
    }),
  },
  '/v1/domains/{id}': {
    parameters: [domainId] as unknown as JsonObject,
    get: operation({
      id: 'getDomain',
      summary: 'Get a domain',
      answers: { 200: success('The domain.', 'Domain') },
      errors: [...KEY_ERRORS, 'domainNotFound', ...SERVER_ERRORS],
    }),
    delete: operation({
      id: 'removeDomain',
      summary: 'Give a domain up',
      description: 'Tunnels that have it end.',
      answers: { 200: success('The domain is not the account’s any more.', 'Removed') },
      errors: [...KEY_ERRORS, 'domainNotFound', ...SERVER_ERRORS],
    }),
  },
  '/v1/domains/{id}/verify': {
    parameters: [domainId] as unknown as JsonObject,
    post: operation({
      id: 'verifyDomain',
      summary: 'Look at the records of a domain, and take it if they are right',
      description: 'A domain that is not verified afterwards says in `checks` what is missing.',
      answers: { 200: success('The domain as it is now.', 'CheckedDomain') },
      errors: [
        ...KEY_ERRORS,
        ...(['domainNotFound', 'domainTaken', 'rateLimited'] as const),
        ...SERVER_ERRORS,
      ],
    }),
  },
  '/v1/account': {
    get: operation({
      id: 'getAccount',
      summary: 'Show the account behind the key, and its limits',
      answers: { 200: success('The account.', 'Account') },
      errors: [...ANY_KEY_ERRORS, ...SERVER_ERRORS],
    }),
  },
  '/v1/invites/{token}': {
    parameters: [
      { ...tunnelId, name: 'token', description: 'the last part of the address of an invitation' },
    ] as unknown as JsonObject,
    post: operation({
      id: 'takeInvitation',
      summary: 'Take an invitation for a key',
      description:
        'An invitation is good once, and needs no key. Its address, opened in a browser, is a page that says so and takes nothing.',
      body: { schema: 'TakeInvitation', required: false },
      answers: { 201: success('The key, which is not shown again.', 'TakenInvitation') },
      errors: [
        ...(['invalidBody', 'invalidMachine', 'invitationNotFound', 'bodyTooLarge', 'rateLimited'] as const),
        ...SERVER_ERRORS,
      ],
    }),
  },
  '/v1/ask': {
    get: operation({
      id: 'askForName',
      summary: 'Whether a host is served here',
      description:
        'For proxies in front that order certificates on demand: 200 for the name of the relay, of a live tunnel or of a verified ' +
        'domain. Only for requests from the machine of the relay and from trusted proxies themselves; 404 for all others.',
      query: { domain: 'the host' },
      answers: { 200: success('It is.', 'Served') },
      errors: ['notFound', ...SERVER_ERRORS],
    }),
  },
  ...ADMIN_PATHS,
  '/v1/openapi.json': {
    get: operation({
      id: 'getOpenApi',
      summary: 'This document',
      answers: { 200: success('OpenAPI 3.1.', 'Document') },
      errors: ['internal'],
    }),
  },
  '/healthz': {
    get: operation({
      id: 'getHealth',
      summary: 'Whether the process is up',
      answers: { 200: success('It is.', 'Healthy') },
      errors: ['internal'],
    }),
  },
  '/readyz': {
    get: operation({
      id: 'getReadiness',
      summary: 'Whether the store can be reached and the relay takes new work',
      answers: { 200: success('Both.', 'Ready') },
      errors: SERVER_ERRORS,
    }),
  },
  '/ws/control': {
    get: operation({
      id: 'openControlSocket',
      summary: 'Open the control WebSocket of a tunnel',
      description:
        'The relay sends a text message `{"type":"connection","id":"<UUID>"}` for each inbound connection; types a client ' +
        `does not know are to be ignored. It pings every ${PING_INTERVAL_MS / 1000} s and gives a client up that has not answered after ` +
        `${PONG_TIMEOUT_MS / 1000} s. The newest control socket of a tunnel wins. Close codes: 1001 the relay shuts down, reconnect; ` +
        '4000 replaced by a newer control socket; 4001 the tunnel was closed; 4002 it expired; 4003 the key is good no more, the reason says why; 4004 its domain is not its account’s any more; 4005 the account is suspended, with the reason.',
      query: { tunnel_id: "the tunnel's `id`" },
      answers: { 101: { description: 'The control WebSocket.' } },
      errors: [
        ...(['missingTunnelId', 'invalidHandshake'] as const),
        ...ANY_KEY_ERRORS,
        ...(['tunnelNotFound', 'upgradeRequired', 'tooManySockets'] as const),
        ...SERVER_ERRORS,
      ],
    }),
  },
  '/ws/data': {
    get: operation({
      id: 'openDataSocket',
      summary: 'Open the data WebSocket of one inbound connection',
      description:
        'Binary messages carry the bytes of the connection in both directions, first ' +
        `those of the request; how they are cut into messages means nothing. An \`id\` is good for one socket within ${PENDING_TIMEOUT_MS / 1000} s and ` +
        'needs no key; one that is sent must be the owner’s. Closing with 1000 ends the connection in order, any other way breaks it off.',
      query: { id: 'from a `connection` message' },
      answers: { 101: { description: 'The data WebSocket.' } },
      errors: [
        ...(['missingId', 'invalidHandshake'] as const),
        ...ANY_KEY_ERRORS,
        ...(['connectionNotFound', 'upgradeRequired', 'tooManySockets'] as const),
        ...SERVER_ERRORS,
      ],
    }),
  },
  '/ws/trunk': {
    get: operation({
      id: 'openTrunk',
      summary: "Open a connection that the visitors of a tunnel share, for Culvert's own client",
      description:
        'As long as one is open, the relay may bring inbound connections through it instead of announcing them. What travels on it ' +
        'is described in docs/protocol.md section 10; a client that opens none misses nothing but speed.',
      query: { tunnel_id: "the tunnel's `id`" },
      answers: { 101: { description: 'The trunk.' } },
      errors: [
        ...(['missingTunnelId', 'invalidHandshake'] as const),
        ...ANY_KEY_ERRORS,
        ...(['notFound', 'tunnelNotFound', 'tunnelNotConnected'] as const),
        ...(['upgradeRequired', 'tooManyTrunks', 'tooManySockets'] as const),
        ...SERVER_ERRORS,
      ],
    }),
  },
};
