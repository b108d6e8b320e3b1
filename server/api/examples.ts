/** Examples for the OpenAPI document, put together from the schemas, so that every field of a body has one. */
import { formatDuration } from '../../shared/duration.ts';
import type { Json, JsonObject } from '../../shared/fields.ts';

const ID = '4f2a6c1e-93d0-4b7e-8a55-0c9d1e3f7a62';
const SHORT_ID = '9f86d081884c7d65';
const TIME = '2026-01-31T12:30:00.000Z';
const LATER = '2026-01-31T13:30:00.000Z';
const RELAY = 'https://tunnels.example.com';
const ADDRESS = 'https://shop.tunnels.example.com';
const INVITATION = 'k3Jx0PzQ7vWmB2nL9sTfYc4RdHgA6eUi';

/** Values of fields and parameters by name; `Schema.field` is for a field of one schema. */
const BY_NAME: Readonly<Record<string, Json>> = {
  id: ID,
  client_id: ID,
  tunnel_id: ID,
  link_id: SHORT_ID,
  knock_id: SHORT_ID,
  token: INVITATION,
  count: '50',
  slug: 'shop',
  name: 'shop',
  name_prefix: 'agent-',
  account: 'acme',
  subdomain: 'acme',
  label: 'laptop',
  labels: ['Ann'],
  machine: 'laptop',
  local_port: 3000,
  ttl: formatDuration(3600),
  default_ttl: formatDuration(3600),
  max_ttl: formatDuration(604_800),
  creates_per_minute: 10,
  create_burst: 5,
  admit: true,
  note: 'for Ann',
  address: '203.0.113.7',
  agent: 'Mozilla/5.0',
  user: 'ann',
  password: 'mild-oak-fern',
  domain: 'app.example.com',
  value: 'tunnels.example.com',
  found: [],
  problem: '',
  key: `cvt_${INVITATION.slice(0, 32)}`,
  hint: 'cvt_k3Jx',
  scope: 'all',
  actor: `key:${ID}`,
  action: 'tunnel.close',
  subject: 'shop',
  detail: '',
  'Access.password': 'mild-oak-fern',
  'Account.name': 'acme',
  'Account.subdomain': 'acme',
  'Account.max_domains': 5,
  'AddDomain.domain': 'app.example.com',
  'AdminAccount.name': 'acme',
  'AdminAudit.count': '50',
  'AdminCreateAccount.name': 'acme',
  'AdminCreateAccount.plan': 'dev',
  'AdminCreateKey.label': 'laptop',
  'AdminInvite.label': 'Ann',
  'AdminNewAccount.name': 'acme',
  'AdminNewInvite.url': `${RELAY}/invite/${INVITATION}`,
  'AdminSuspend.reason': 'phishing',
  'CreateLink.note': 'for Ann',
  'CreateLink.ttl': '24h',
  'CreateTunnel.access': { password: 'mild-oak-fern' },
  'CreateTunnel.name': 'shop',
  'CreateTunnel.ttl': '4h',
  'DnsRecord.name': 'app.example.com',
  'DnsRecord.type': 'CNAME',
  'DomainCheck.ok': true,
  'ExtendTunnel.ttl': '1h',
  'InviteToTeam.ttl': '24h',
  'Knock.ends_at': LATER,
  'Knock.id': SHORT_ID,
  'KnockAnswer.for': '1h',
  'Link.expires_at': LATER,
  'Link.id': SHORT_ID,
  'NewLink.expires_at': LATER,
  'NewLink.id': SHORT_ID,
  'NewLink.url': `${ADDRESS}/?culvert_pass=${INVITATION}`,
  'NewTunnelToken.name': 'ci',
  'NewTeamInvite.url': `${RELAY}/invite/${INVITATION}`,
  'TakeInvitation.machine': 'laptop',
  'TakenInvitation.relay': RELAY,
  'Tunnel.expires_at': LATER,
  'Tunnel.online': true,
  'TunnelAccess.password': true,
  'TunnelToken.name': 'ci',
};

const BY_FORMAT: Readonly<Record<string, Json>> = { uuid: ID, 'date-time': TIME, uri: ADDRESS };

/** Values for the variable parts of error texts. */
const BY_PLACE: Readonly<Record<string, string>> = {
  duration: formatDuration(604_800),
  field: 'name',
  kind: 'key',
  more: '20',
  name: 'shop',
  number: '5',
  plan: 'Free',
  prefix: 'agent-',
  problem: 'must be a text',
  reason: 'phishing',
  rule: 'a text',
  scope: 'the tunnel "shop"',
  time: TIME,
};

/** @returns the text of an error with values instead of `{…}` */
export function exampleText(text: string): string {
  return text.replaceAll(/\{(\w+)\}/g, (place, name: string) => BY_PLACE[name] ?? place);
}

/** @returns a value for a parameter of a path or query */
export function exampleParameter(name: string): Json {
  return BY_NAME[name] ?? name;
}

/**
 * Composes a value that a schema allows. Optional fields are left out, unless there is a value for that field of that schema.
 *
 * @param schema a schema without references
 * @param name of the field that it is for
 */
export function exampleOf(schema: JsonObject, name = ''): Json {
  const { examples, const: only, enum: values, oneOf, anyOf, type, format, items, properties } = schema;
  if (Array.isArray(examples)) return (examples as Json[])[0] ?? null;
  if (only !== undefined) return only;
  const types = Array.isArray(type) ? (type as string[]) : [type];
  const formatted = typeof format === 'string' && !types.includes('null') ? BY_FORMAT[format] : undefined;
  const known = BY_NAME[name] ?? formatted ?? BY_NAME[name.slice(name.indexOf('.') + 1)];
  if (Array.isArray(values))
    return (values as Json[]).find((value) => value === known) ?? (values as Json[])[0] ?? null;
  const alternatives = (oneOf ?? anyOf) as readonly JsonObject[] | undefined;
  if (known !== undefined && (alternatives !== undefined || types.includes(typeOf(known)))) return known;
  if (alternatives !== undefined) return exampleOf(alternatives[0] ?? {}, name);
  if (types.includes('object'))
    return exampleObject(schema, (properties ?? {}) as Record<string, JsonObject>);
  if (types.includes('array')) return [exampleOf(items as JsonObject)];
  if (types.includes('null')) return null;
  if (types.includes('integer')) return (schema['minimum'] as number | undefined) ?? 0;
  if (types.includes('boolean')) return false;
  throw new Error(`${name} needs an example`);
}

function exampleObject(
  { title, required = [] }: JsonObject,
  properties: Readonly<Record<string, JsonObject>>,
): Json {
  const fields = Object.entries(properties).flatMap(([field, schema]) => {
    const name = `${typeof title === 'string' ? title : ''}.${field}`;
    const isShown = (required as readonly string[]).includes(field) || name in BY_NAME;
    return isShown ? [[field, exampleOf(schema, name)] as const] : [];
  });
  return Object.fromEntries(fields);
}

function typeOf(value: Json): string {
  if (Array.isArray(value)) return 'array';
  if (value === null) return 'null';
  return typeof value === 'number' ? 'integer' : typeof value;
}
