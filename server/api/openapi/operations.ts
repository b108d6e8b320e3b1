/** What can be done through the API, route by route (docs/protocol.md section 3.1). */
import { PENDING_TIMEOUT_MS, PING_INTERVAL_MS, PONG_TIMEOUT_MS } from '../../../shared/control.ts';
import {
  BODY_MAX_BYTES,
  CREATE_BURST,
  CREATES_PER_MINUTE,
  LINKS_MAX,
  REVOKED_LINKS_MAX,
} from '../../limits.ts';
import { type ErrorName, failures, success } from './responses.ts';
import type { JsonObject } from '../json-schema.ts';
import { ref, type SchemaName } from './schemas.ts';

/** Operations by path and method. */
export type Paths = Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;

interface Outline {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** query parameters, all optional */
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: { readonly schema: SchemaName; readonly required: boolean };
  readonly answers: JsonObject;
  readonly errors: readonly ErrorName[];
}

const KEY_ERRORS = ['missingKey', 'invalidKey', 'tooManyWrongKeys'] as const;
const SERVER_ERRORS = ['internal', 'unavailable'] as const;

function operation({ id, summary, description, query = {}, body, answers, errors }: Outline): JsonObject {
  return {
    operationId: id,
    summary,
    ...(description === undefined ? {} : { description }),
    parameters: Object.entries(query).map(([name, meaning]) => ({
      name,
      in: 'query',
      description: meaning,
      schema: { type: 'string' },
    })),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: body.required,
            description: `JSON of at most ${BODY_MAX_BYTES} bytes; unknown fields are ignored`,
            content: { 'application/json': { schema: ref(body.schema) } },
          },
        }),
    responses: { ...answers, ...failures(errors) },
    ...(errors.includes('missingKey') ? {} : { security: [] }),
  };
}

const tunnelId = {
  name: 'id',
  in: 'path',
  required: true,
  schema: { type: 'string' },
  description: 'its `id`',
};
const linkId = { ...tunnelId, name: 'link_id' };
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
        ] as const),
        ...KEY_ERRORS,
        ...(['planTooLow', 'tooManyTunnels', 'nameTaken', 'bodyTooLarge', 'rateLimited'] as const),
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
        'and event streams that no longer pass are cut, and every pass of a visitor ends.',
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
        'Within a second it lets nobody in any more, nor anybody who has come with it; their WebSockets and event streams are cut.',
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
        'An answer may be changed: to refuse a visitor who is in sends him out, and cuts his WebSockets and event streams.',
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
  '/v1/account': {
    get: operation({
      id: 'getAccount',
      summary: 'Show the account behind the key, and its limits',
      answers: { 200: success('The account.', 'Account') },
      errors: [...KEY_ERRORS, ...SERVER_ERRORS],
    }),
  },
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
        '4000 replaced by a newer control socket; 4001 the tunnel was closed; 4002 it expired; 4003 the key was revoked.',
      query: { tunnel_id: "the tunnel's `id`" },
      answers: { 101: { description: 'The control WebSocket.' } },
      errors: [
        ...(['missingTunnelId', 'invalidHandshake'] as const),
        ...KEY_ERRORS,
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
        'Exactly one of `id` and `tunnel_id`. Binary messages carry the bytes of the connection in both directions, first ' +
        `those of the request; how they are cut into messages means nothing. An \`id\` is good for one socket within ${PENDING_TIMEOUT_MS / 1000} s and ` +
        'needs no key; one that is sent must be the owner’s. With `tunnel_id` and the key a socket is offered ahead of ' +
        'need, for the next inbound connection. Closing with 1000 ends the connection in order, any other way breaks it off.',
      query: { id: 'from a `connection` message', tunnel_id: "the tunnel's `id`" },
      answers: { 101: { description: 'The data WebSocket.' } },
      errors: [
        ...(['missingId', 'invalidHandshake'] as const),
        ...KEY_ERRORS,
        ...(['tunnelNotFound', 'connectionNotFound', 'tunnelNotConnected'] as const),
        ...(['upgradeRequired', 'tooManyWarmSockets', 'tooManySockets'] as const),
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
        ...KEY_ERRORS,
        ...(['notFound', 'tunnelNotFound', 'tunnelNotConnected'] as const),
        ...(['upgradeRequired', 'tooManyTrunks', 'tooManySockets'] as const),
        ...SERVER_ERRORS,
      ],
    }),
  },
};
