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
import { MACHINE_MAX_LENGTH } from '../../../shared/invitations.ts';
import { ADMISSION_DEFAULT_SECONDS, ADMISSION_MAX_SECONDS } from '../../../shared/knocks.ts';
import {
  LINK_DEFAULT_TTL_SECONDS,
  LINK_MAX_TTL_SECONDS,
  LINK_NOTE_MAX_LENGTH,
  LINK_PATH_MAX_LENGTH,
} from '../../../shared/links.ts';
import { PLANS, type TtlLimits } from '../../../shared/tunnel.ts';
import type {
  AccountView,
  viewAct,
  viewInvitation,
  viewKey,
  viewNewInvitation,
  viewSuspendedName,
  viewTunnel,
} from '../../administration/views.ts';
import { AUDIT_MAX, INVITES_AT_ONCE_MAX, KEY_LABEL_MAX_LENGTH, REASON_MAX_LENGTH } from '../../limits.ts';
import {
  addressSchema,
  count,
  type JsonObject,
  localPort,
  object,
  text,
  timestamp,
  uuid,
} from '../json-schema.ts';
import {
  ACCOUNT,
  CHECKED_DOMAIN,
  CLOSED,
  DOMAIN,
  HEALTHY,
  KNOCK,
  LINK_SCHEMA,
  NEW_LINK_SCHEMA,
  READY,
  REMOVED,
  REVOKED,
  SERVED,
  TUNNEL,
} from '../resources.ts';

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
      relay: { ...addressSchema, description: "the relay's own address" },
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

/* The JSON of `/v1/admin`: what is shown has the fields of the views that the command line prints, too. */

/** A schema for each field of what a view shows; one that may be missing ends in `?`. */
type SchemasOf<Shown> = {
  readonly [Name in keyof Shown & string as undefined extends Shown[Name] ? `${Name}?` : Name]-?: JsonObject;
};

const plan = { enum: PLANS };
const newPlan = { enum: [...PLANS, null], default: 'dev' };
const subdomain = { type: ['string', 'null'], description: 'null: none' };
const timeOrNull = { ...timestamp, type: ['string', 'null'] };
const secretKey = { type: 'string', pattern: API_KEY_PATTERN.source, description: 'shown only here' };
const reason = { type: ['string', 'null'], maxLength: REASON_MAX_LENGTH };
const adminSchemasDuration = { type: ['string', 'null'], description: 'a duration like `24h`' };

const account = {
  id: uuid,
  name: text,
  plan,
  subdomain,
  created_at: timestamp,
  'suspended?': { ...text, description: 'why; only where it is' },
} satisfies SchemasOf<AccountView>;

const key = {
  id: uuid,
  account: { ...text, description: 'its name' },
  hint: { ...text, description: 'how the key begins' },
  created_at: timestamp,
  label: text,
  expires_at: timeOrNull,
  last_used_at: { ...timeOrNull, description: 'to within a minute; null: never' },
  scope: { ...text, description: '`all`, `admin`, or the name of the one tunnel that it is for' },
} satisfies SchemasOf<ReturnType<typeof viewKey>>;

const tunnel = {
  id: uuid,
  slug: text,
  account: { ...text, description: 'its name' },
  created_at: timestamp,
  expires_at: timestamp,
  bytes_in: count,
  bytes_out: count,
  requests: count,
  suspended: { type: ['string', 'null'], description: 'why; null: it is not' },
} satisfies SchemasOf<ReturnType<typeof viewTunnel>>;

const suspendedName = {
  id: { ...uuid, description: 'of the tunnel, which has ended' },
  slug: text,
  account: { type: ['string', 'null'], description: 'its name; null: it was removed' },
  domain: { type: ['string', 'null'], description: 'of the tunnel; null: none' },
  suspended: { type: ['string', 'null'], description: 'why; null: it is no longer' },
} satisfies SchemasOf<ReturnType<typeof viewSuspendedName>>;

const invite = {
  id: uuid,
  account: { ...text, description: 'its name' },
  expires_at: timestamp,
} satisfies SchemasOf<ReturnType<typeof viewInvitation>>;

const newInvite = {
  ...invite,
  url: { ...addressSchema, description: 'good once; shown only here' },
} satisfies SchemasOf<ReturnType<typeof viewNewInvitation>>;

const act = {
  at: timestamp,
  actor: { ...text, description: '`shell:<user>`, `key:<id>`, `invite:<id>`, or `relay` for a first key' },
  action: text,
  subject: text,
  detail: text,
} satisfies SchemasOf<ReturnType<typeof viewAct>>;

function listOf(name: string, item: JsonObject): JsonObject {
  return object({ [name]: { type: 'array', items: object(item), description: 'oldest first' } });
}

export const ADMIN_SCHEMAS = {
  AdminAccount: object(account),
  AdminAccountList: listOf('accounts', account),
  AdminNewAccount: object({
    ...account,
    'key?': { ...secretKey, description: 'with `with_key`; shown only here' },
  }),
  AdminKey: object(key),
  AdminKeyList: listOf('keys', key),
  AdminNewKey: object({ ...key, key: secretKey }),
  AdminTunnel: object(tunnel),
  AdminTunnelList: object({
    tunnels: { type: 'array', items: object(tunnel), description: 'oldest first' },
    suspended_names: {
      type: 'array',
      items: object(suspendedName),
      description: 'addresses of tunnels that ended while they were suspended, by slug',
    },
  }),
  AdminTunnelSuspension: { anyOf: [object(tunnel), object(suspendedName)] },
  AdminInviteList: listOf('invites', invite),
  AdminNewInviteList: listOf('invites', newInvite),
  AdminRevokedInvite: object({ id: uuid, status: { const: 'revoked' } }),
  AdminAudit: listOf('acts', act),
  AdminCreateAccount: object({
    name: { ...text, description: '1-100 characters' },
    'plan?': newPlan,
    'subdomain?': subdomain,
    'with_key?': { type: ['boolean', 'null'], default: false, description: 'whether it gets a key at once' },
  }),
  AdminSetPlan: object({ plan }),
  AdminSetSubdomain: object({ subdomain }),
  AdminSuspend: object({ reason: { ...reason, description: 'null takes the suspension back' } }),
  AdminCreateKey: object({
    'label?': { type: ['string', 'null'], maxLength: KEY_LABEL_MAX_LENGTH },
    'expires?': {
      ...adminSchemasDuration,
      description: 'after how long it is good no more; never without it',
    },
    'name?': { type: ['string', 'null'], description: 'the name of the one tunnel that it is for' },
  }),
  AdminInvite: object({
    account: { ...text, description: 'its name; it is made if it is not there' },
    'plan?': { ...newPlan, description: 'of an account that is made' },
    'ttl?': { ...adminSchemasDuration, default: '24h' },
    'count?': { type: ['integer', 'null'], minimum: 1, maximum: INVITES_AT_ONCE_MAX, default: 1 },
  }),
} as const satisfies Record<string, JsonObject>;

export type AdminSchemaName = keyof typeof ADMIN_SCHEMAS;

export const AUDIT_COUNT = `how many, from 1 to ${AUDIT_MAX}; all that are kept without it`;
