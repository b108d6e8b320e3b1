/** The JSON the API takes and gives, as JSON Schema, from the constants and catalogues that the API itself uses. */
import {
  ALLOW_MAX,
  BASIC_USERS_MAX,
  PASSWORD_MAX_LENGTH,
  PASSWORD_MIN_LENGTH,
  USER_MAX_LENGTH,
} from '../../../shared/access.ts';
import {
  API_KEY_PATTERN,
  NAME_MAX_LENGTH,
  NAME_MIN_LENGTH,
  NAME_PATTERN,
} from '../../../shared/constraints.ts';
import { DURATION_PATTERN, formatDuration } from '../../../shared/duration.ts';
import { ADMISSION_DEFAULT_SECONDS, ADMISSION_MAX_SECONDS } from '../../../shared/knocks.ts';
import { MACHINE_MAX_LENGTH } from '../../../shared/invitations.ts';
import {
  LINK_DEFAULT_TTL_SECONDS,
  LINK_MAX_TTL_SECONDS,
  LINK_NOTE_MAX_LENGTH,
  LINK_PATH_MAX_LENGTH,
} from '../../../shared/links.ts';
import type { TtlLimits } from '../../../shared/tunnel.ts';
import { ACCOUNT } from '../resources/account.ts';
import { CHECKED_DOMAIN, DOMAIN } from '../resources/domain.ts';
import { KNOCK } from '../resources/knock.ts';
import { LINK_SCHEMA, NEW_LINK_SCHEMA } from '../resources/link.ts';
import { CLOSED, HEALTHY, READY, REMOVED, REVOKED, SERVED } from '../resources/status.ts';
import { TUNNEL } from '../resources/tunnel.ts';
import { ADMIN_SCHEMAS, type AdminSchemaName } from './admin-schemas.ts';
import { type JsonObject, localPort, object, text, address, uuid } from '../json-schema.ts';

export type SchemaName =
  | 'Access'
  | AdminSchemaName
  | 'AddDomain'
  | 'Account'
  | 'CheckedDomain'
  | 'Closed'
  | 'CreateLink'
  | 'CreateTunnel'
  | 'Document'
  | 'Domain'
  | 'DomainList'
  | 'ExtendTunnel'
  | 'Healthy'
  | 'Knock'
  | 'KnockAnswer'
  | 'KnockList'
  | 'LinkList'
  | 'NewLink'
  | 'Ready'
  | 'Removed'
  | 'Served'
  | 'Revoked'
  | 'TakeInvitation'
  | 'TakenInvitation'
  | 'Tunnel'
  | 'TunnelList';

/** @returns a reference to one of {@link schemas} */
export function ref(name: SchemaName): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

/** @param ttl what this relay allows */
export function schemas({ defaultTtl, maxTtl }: TtlLimits): Record<SchemaName, JsonObject> {
  const duration = {
    type: ['string', 'null'],
    pattern: DURATION_PATTERN.source,
    description: `a duration like \`30m\`, \`1.5h\` or \`1h30m\`, of at least 1s and at most ${formatDuration(maxTtl)} or what the plan allows`,
  };
  const name = {
    type: 'string',
    pattern: NAME_PATTERN.source,
    minLength: NAME_MIN_LENGTH,
    maxLength: NAME_MAX_LENGTH,
    description: 'lowercase letters, digits and hyphens, not starting or ending with a hyphen',
  };
  const access = object({
    'allow?': {
      type: ['array', 'null'],
      maxItems: ALLOW_MAX,
      items: text,
      description: 'addresses and networks from which visitors may come, such as `192.0.2.7` or `10.0.0.0/8`',
    },
    'basic?': {
      type: ['array', 'null'],
      maxItems: BASIC_USERS_MAX,
      items: object({
        user: { type: 'string', minLength: 1, maxLength: USER_MAX_LENGTH, description: 'without a colon' },
        password: { type: 'string', minLength: 1, maxLength: PASSWORD_MAX_LENGTH },
      }),
      description: 'visitors pass with HTTP Basic',
    },
    'password?': {
      type: ['string', 'null'],
      minLength: PASSWORD_MIN_LENGTH,
      maxLength: PASSWORD_MAX_LENGTH,
      description: 'visitors pass after typing it into a page',
    },
    'links?': { type: ['boolean', 'null'], description: 'visitors pass with a signed link' },
    'knock?': { type: ['boolean', 'null'], description: 'visitors pass when the owner has let them in' },
  });
  return {
    ...ADMIN_SCHEMAS,
    Access: { ...access, additionalProperties: false },
    CreateTunnel: object({
      local_port: localPort,
      'name?': { oneOf: [name, { type: 'null' }, { const: '' }], description: 'needs the Dev plan or above' },
      'ttl?': { ...duration, default: formatDuration(defaultTtl) },
      'idle_ttl?': { type: ['boolean', 'null'], default: false, description: 'traffic restarts the ttl' },
      'access?': {
        oneOf: [ref('Access'), { type: 'null' }],
        description: 'who may come in; without it, everybody',
      },
      'take_over?': {
        type: ['boolean', 'null'],
        default: false,
        description: "where the account's own live tunnel has the name, it is the one that is meant",
      },
      'domain?': { type: ['string', 'null'], description: 'a verified domain of the account' },
    }),
    ExtendTunnel: object({
      'ttl?': { ...duration, description: "by how much; by the tunnel's own ttl without" },
    }),
    CreateLink: object({
      'ttl?': {
        ...duration,
        default: formatDuration(LINK_DEFAULT_TTL_SECONDS),
        description: `a duration like \`30m\` or \`24h\`, of at least 1s and at most ${formatDuration(LINK_MAX_TTL_SECONDS)}`,
      },
      'note?': {
        type: ['string', 'null'],
        maxLength: LINK_NOTE_MAX_LENGTH,
        description: 'without control characters; the local service is told it as the name of whoever comes',
      },
      'path?': {
        type: ['string', 'null'],
        maxLength: LINK_PATH_MAX_LENGTH,
        description:
          "where the link leads below the tunnel's address; it does not keep visitors from other paths",
      },
    }),
    NewLink: NEW_LINK_SCHEMA,
    Knock: KNOCK.schema,
    KnockList: object({ knocks: { type: 'array', items: ref('Knock'), description: 'oldest first' } }),
    KnockAnswer: object({
      admit: { type: 'boolean', description: 'whether the visitor may come in' },
      'for?': {
        ...duration,
        default: formatDuration(ADMISSION_DEFAULT_SECONDS),
        description: `for how long, at most ${formatDuration(ADMISSION_MAX_SECONDS)}`,
      },
    }),
    LinkList: object({ links: { type: 'array', items: LINK_SCHEMA, description: 'newest first' } }),
    AddDomain: object({ domain: { ...text, description: 'such as `app.example.com`' } }),
    Domain: DOMAIN.schema,
    CheckedDomain: CHECKED_DOMAIN.schema,
    DomainList: object({ domains: { type: 'array', items: ref('Domain'), description: 'oldest first' } }),
    Removed: REMOVED.schema,
    Revoked: REVOKED.schema,
    TakeInvitation: object({
      'machine?': {
        type: ['string', 'null'],
        maxLength: MACHINE_MAX_LENGTH,
        description: 'its name, by which the key is known; without control characters',
      },
    }),
    TakenInvitation: object({
      id: { ...uuid, description: 'of the key' },
      account: { ...text, description: 'its name' },
      key: { type: 'string', pattern: API_KEY_PATTERN.source },
      relay: { ...address, description: "the relay's own address" },
    }),
    Tunnel: TUNNEL.schema,
    TunnelList: object({ tunnels: { type: 'array', items: ref('Tunnel'), description: 'newest first' } }),
    Closed: CLOSED.schema,
    Account: ACCOUNT.schema,
    Healthy: HEALTHY.schema,
    Ready: READY.schema,
    Served: SERVED.schema,
    Document: { type: 'object', description: 'OpenAPI 3.1' },
  };
}
