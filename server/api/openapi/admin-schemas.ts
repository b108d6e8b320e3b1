/** The JSON of `/v1/admin`: what is shown has the fields of the views that the command line prints, too. */
import { API_KEY_PATTERN } from '../../../shared/constraints.ts';
import { PLANS } from '../../../shared/tunnel.ts';
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
import { address, count, type JsonObject, object, text, timestamp, uuid } from '../json-schema.ts';

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
const duration = { type: ['string', 'null'], description: 'a duration like `24h`' };

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
  url: { ...address, description: 'good once; shown only here' },
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
    'expires?': { ...duration, description: 'after how long it is good no more; never without it' },
    'name?': { type: ['string', 'null'], description: 'the name of the one tunnel that it is for' },
  }),
  AdminInvite: object({
    account: { ...text, description: 'its name; it is made if it is not there' },
    'plan?': { ...newPlan, description: 'of an account that is made' },
    'ttl?': { ...duration, default: '24h' },
    'count?': { type: ['integer', 'null'], minimum: 1, maximum: INVITES_AT_ONCE_MAX, default: 1 },
  }),
} as const satisfies Record<string, JsonObject>;

export type AdminSchemaName = keyof typeof ADMIN_SCHEMAS;

export const AUDIT_COUNT = `how many, from 1 to ${AUDIT_MAX}; all that are kept without it`;
