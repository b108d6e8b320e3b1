/** The API described for programs: OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.1), served as `/v1/openapi.json`. */
import { formatDuration } from '../../shared/duration.ts';
import { API_ERRORS, ERROR_VALUES_FIELD, type ApiErrorEntry, VISITOR_ERRORS } from '../../shared/errors.ts';
import { type Json, type JsonObject, objectSchema, onlyValue, TEXT, UUID } from '../../shared/fields.ts';
import { API_KEY_PATTERN, RELAY_TITLE } from '../../shared/value-rules.ts';
import { VERSION } from '../../shared/version.ts';
import { REQUEST_ID_FIELD } from '../log.ts';
import { BODY_MAX_BYTES } from './guards.ts';
import { CALLERS, type ErrorName, partsOf, type Result, type Route, TAGS } from './route.ts';

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
  agent_id: SHORT_ID,
  host: 'claude.ai',
  returns_to: 'claude.ai',
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
  name_hold: formatDuration(86_400),
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
  'Agent.id': SHORT_ID,
  'Agent.name': 'Claude',
  'AgentClient.name': 'Claude',
  'Account.name': 'acme',
  'Account.subdomain': 'acme',
  'Account.max_domains': 5,
  'Account.max_tcp_tunnels': 2,
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
  'Login.expires_in': 600,
  'Login.provider': 'Example',
  'Login.url': `${RELAY}/auth/login/${INVITATION}`,
  'NewTunnelToken.name': 'ci',
  'NewTeamInvite.url': `${RELAY}/invite/${INVITATION}`,
  'TakeInvitation.machine': 'laptop',
  'BeginLogin.digest': '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
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
  protocol: 'tcp',
  remedy: `close one, or wait until ${TIME}, when the next one expires`,
  scope: 'the tunnel "shop"',
  time: TIME,
  tunnels: 'tunnels',
};

/** @param publicUrl the relay's own address */
export function openApiDocument(routes: readonly Route[], publicUrl: URL): JsonObject {
  const components = new Components();
  const paths: Record<string, Record<string, JsonObject>> = {};
  for (const route of routes) {
    const [method, path] = partsOf(route.call);
    (paths[path] ??= {})[method] = operation(route, components);
  }
  return {
    openapi: '3.1.1',
    info: {
      title: RELAY_TITLE,
      version: VERSION,
      license: { name: 'MIT', identifier: 'MIT' },
      description:
        'Tunnels from a public address to a local port. Every error has the body `{"error": "<text>", "code": "<code>"}`, and codes never change. Any other path ' +
        `answers 404 ${nameOf(API_ERRORS.notFound)}, any other method 405 ${nameOf(API_ERRORS.methodNotAllowed)} with \`Allow\`; HEAD is ` +
        'answered wherever GET is. Paths are exact. Later versions may add fields to responses.',
    },
    servers: [{ url: publicUrl.origin }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: `an API key: \`${API_KEY_PATTERN.source}\`` },
      },
      responses: { Refused: REFUSED },
      schemas: components.schemas,
    },
  };
}

function nameOf({ code, text }: ApiErrorEntry): string {
  return `\`${code}\` (${text})`;
}

/** The schemas with a title, each written once. */
class Components {
  readonly schemas: Record<string, JsonObject> = {};
  readonly #sources = new Map<string, JsonObject>();

  /** @returns the schema, with references instead of the schemas that have a title */
  refer(schema: JsonObject): JsonObject {
    const { title } = schema;
    if (typeof title !== 'string') return this.#within(schema);
    const known = this.#sources.get(title);
    if (known !== undefined && known !== schema) throw new Error(`two schemas are called ${title}`);
    if (known === undefined) {
      this.#sources.set(title, schema);
      const { title: _, ...rest } = schema;
      const isOpen = schema['type'] === 'object' && schema['properties'] === undefined;
      this.schemas[title] = { ...this.#within(rest), ...(!isOpen && { examples: [exampleOf(schema)] }) };
    }
    return { $ref: `#/components/schemas/${title}` };
  }

  #within(schema: JsonObject): JsonObject {
    return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, this.#referIn(value)]));
  }

  #referIn(value: Json): Json {
    if (typeof value !== 'object' || value === null) return value;
    return isList(value) ? value.map((item) => this.#referIn(item)) : this.refer(value);
  }
}

function isList(value: readonly Json[] | JsonObject): value is readonly Json[] {
  return Array.isArray(value);
}

function operation(route: Route, components: Components): JsonObject {
  const { id, tag, summary, description, query = {}, call, body, results } = route;
  const errors = errorsOf(route);
  const inPath = [...call.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: PARAMETERS[name] ?? 'its `id`',
    schema: { type: 'string' },
    example: exampleParameter(name),
  }));
  const inQuery = Object.entries(query).map(([name, meaning]) => ({
    name,
    in: 'query',
    description: meaning,
    schema: { type: 'string' },
    example: exampleParameter(name),
  }));
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    parameters: [...inPath, ...inQuery],
    ...(body !== undefined && {
      requestBody: {
        required: body.required,
        description: `JSON of at most ${BODY_MAX_BYTES} bytes; unknown fields are ignored`,
        content: json(components.refer(body.schema)),
      },
    }),
    responses: Object.fromEntries([
      ...Object.entries(results).map(([status, result]) => [status, success(result, components)] as const),
      ...[...Map.groupBy(errors, (name) => API_ERRORS[name].status)].map(
        ([status, names]) => [status, failure(status, names, components)] as const,
      ),
      ['4XX', { $ref: '#/components/responses/Refused' }],
      ...(101 in results ? [['default', NOT_UPGRADED] as const] : []),
    ]),
    ...(errors.includes('missingKey') ? {} : { security: [] }),
  };
}

/** Parameters of paths that are no ids. */
const PARAMETERS: Readonly<Record<string, string>> = {
  token: "the last part of an invitation's address",
};

function errorsOf({ caller, body, errors = [] }: Route): ErrorName[] {
  const ofBody = body === undefined ? [] : (['invalidBody', 'bodyTooLarge'] as const);
  return [...ofBody, ...CALLERS[caller], ...errors, 'internal'];
}

/* Responses as OpenAPI describes them; the errors are those of the catalogue, with their codes and texts. */

const ERROR_SCHEMAS: ReadonlyMap<string, JsonObject> = new Map(
  Object.entries(API_ERRORS).map(([name, { code, text }]) => [
    name,
    objectSchema(
      { error: textSchema(text), code: onlyValue(code) },
      `${name.slice(0, 1).toUpperCase()}${name.slice(1)}Error`,
    ),
  ]),
);

const REQUEST_ID = {
  [REQUEST_ID_FIELD]: {
    required: true,
    schema: UUID.schema,
    description: "identifies the request in the relay's log",
  },
};

function headerField(schema: JsonObject): JsonObject {
  return { required: true, schema };
}

const ERROR_VALUES: JsonObject = {
  [ERROR_VALUES_FIELD]: {
    schema: { type: 'string' },
    description: 'a JSON object of what varies in the text of the error, if anything does',
  },
};

/** Fields that come with every error of a status. */
const ERROR_FIELDS: Readonly<Record<number, JsonObject>> = {
  401: { 'WWW-Authenticate': headerField(onlyValue('Bearer')) },
  426: { Upgrade: headerField(onlyValue('websocket')) },
  429: { 'Retry-After': headerField({ type: 'string', pattern: '^\\d+$' }) },
  503: { 'Retry-After': headerField({ type: 'string', pattern: '^\\d+$' }) },
};

function success([description, schema, ...fields]: Result, components: Components): JsonObject {
  if (schema === undefined) return { description };
  const headers = fields.map((name) => [name, headerField({ type: 'string' })]);
  return {
    description,
    headers: { ...REQUEST_ID, ...Object.fromEntries(headers) },
    content: json(components.refer(schema)),
  };
}

/** Refusals before a request gets to the API, which visitors of tunnels can get as well. */
const REFUSED: JsonObject = {
  description:
    'The relay refused the request before it reached the API, for example because it is malformed, its head is too large, or too many come from this address. ' +
    'The code is one of those that visitors of tunnels get, and is also in the header `Culvert-Error`. Clients whose `Accept` prefers HTML get a page.',
  content: json({
    ...objectSchema({ error: TEXT.schema, code: TEXT.schema }),
    examples: [{ error: VISITOR_ERRORS['too-many'].text, code: 'too-many' }],
  }),
};

/** OpenAPI has no WebSockets: it expects a response of success. */
const NOT_UPGRADED: JsonObject = {
  description: 'With any response but 101, there is no WebSocket.',
};

/** A response for errors of one status, with all codes and texts that it can have. */
function failure(status: number, names: readonly ErrorName[], components: Components): JsonObject {
  const schemas = names.map((name) => components.refer(ERROR_SCHEMAS.get(name) ?? {}));
  const [schema = {}] = schemas;
  return {
    description: names.map((name) => `${API_ERRORS[name].code}: ${API_ERRORS[name].text}`).join('; '),
    headers: { ...REQUEST_ID, ...ERROR_VALUES, ...ERROR_FIELDS[status] },
    content: json(schemas.length === 1 ? schema : { anyOf: schemas }),
  };
}

function textSchema(text: string): Json {
  if (!text.includes('{')) return onlyValue(text);
  const parts = text.split(/\{\w+\}/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return { type: 'string', pattern: `^${parts.join('.+')}$`, examples: [exampleText(text)] };
}

function json(schema: JsonObject): JsonObject {
  return { 'application/json': { schema } };
}

/** @returns the text of an error with values instead of `{…}` */
function exampleText(text: string): string {
  return text.replaceAll(/\{(\w+)\}/g, (place, name: string) => BY_PLACE[name] ?? place);
}

/** @returns a value for a parameter of a path or query */
function exampleParameter(name: string): Json {
  return BY_NAME[name] ?? name;
}

/**
 * Composes a value that a schema allows. Optional fields are left out, unless there is a value for that field of that schema.
 *
 * @param schema a schema without references
 * @param name of the field that it is for
 */
function exampleOf(schema: JsonObject, name = ''): Json {
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
