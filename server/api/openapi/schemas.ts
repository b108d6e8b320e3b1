/** The JSON the API takes and gives, as JSON Schema, from the constants and catalogues that the API itself uses. */
import {
  LOCAL_PORT_MAX,
  LOCAL_PORT_MIN,
  NAME_MAX_LENGTH,
  NAME_MIN_LENGTH,
  NAME_PATTERN,
} from '../../../shared/constraints.ts';
import { DURATION_PATTERN, formatDuration } from '../../../shared/duration.ts';
import { PLANS, type TtlLimits } from '../../../shared/tunnel.ts';

export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

export type SchemaName =
  | 'Account'
  | 'Closed'
  | 'CreateTunnel'
  | 'Document'
  | 'ExtendTunnel'
  | 'Healthy'
  | 'Ready'
  | 'Tunnel'
  | 'TunnelList';

/** @returns a reference to one of {@link schemas} */
export function ref(name: SchemaName): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

/** @returns a schema of an object; a name that ends in `?` is optional */
export function object(properties: JsonObject): JsonObject {
  const names = Object.keys(properties);
  return {
    type: 'object',
    required: names.filter((name) => !name.endsWith('?')),
    properties: Object.fromEntries(names.map((name) => [name.replace('?', ''), properties[name] ?? true])),
  };
}

const uuid = { type: 'string', format: 'uuid' };
const timestamp = { type: 'string', format: 'date-time', description: 'RFC 3339, UTC, milliseconds' };
const address = { type: 'string', format: 'uri' };
const count = { type: 'integer', minimum: 0 };
const localPort = { type: 'integer', minimum: LOCAL_PORT_MIN, maximum: LOCAL_PORT_MAX };
const normalizedDuration = {
  type: 'string',
  pattern: '^(?:(?:\\d+h)?\\d+m)?\\d+s$',
  description: 'like `1h0m0s`, `30m0s` or `45s`',
};

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
  return {
    CreateTunnel: object({
      local_port: localPort,
      'name?': { oneOf: [name, { type: 'null' }, { const: '' }], description: 'needs the Dev plan or above' },
      'ttl?': { ...duration, default: formatDuration(defaultTtl) },
      'idle_ttl?': { type: ['boolean', 'null'], default: false, description: 'traffic restarts the ttl' },
    }),
    ExtendTunnel: object({
      'ttl?': { ...duration, description: "by how much; by the tunnel's own ttl without" },
    }),
    Tunnel: object({
      id: uuid,
      slug: { type: 'string' },
      client_id: uuid,
      local_port: localPort,
      name: { type: 'string', description: 'as requested, or empty' },
      ttl: normalizedDuration,
      mode: { const: 'relay' },
      created_at: timestamp,
      expires_at: timestamp,
      idle_ttl: { type: 'boolean' },
      bytes_in: { ...count, description: 'bytes from visitors handed to the client' },
      bytes_out: { ...count, description: 'bytes from the client to visitors' },
      requests: count,
      public_url: { ...address, description: 'the address to hand out' },
      urls: object({ subdomain: address, 'path?': address, 'account?': address }),
    }),
    TunnelList: object({ tunnels: { type: 'array', items: ref('Tunnel'), description: 'newest first' } }),
    Closed: object({ status: { const: 'closed' } }),
    Account: object({
      client_id: uuid,
      name: { type: 'string' },
      plan: { enum: PLANS },
      subdomain: { type: ['string', 'null'] },
      limits: object({
        default_ttl: normalizedDuration,
        max_ttl: normalizedDuration,
        creates_per_minute: count,
        create_burst: count,
        max_tunnels: { type: ['integer', 'null'], description: 'null: unlimited' },
        max_connections: { type: ['integer', 'null'], description: 'of each tunnel; null: unlimited' },
      }),
    }),
    Healthy: object({ status: { const: 'ok' } }),
    Ready: object({ status: { const: 'ready' } }),
    Document: { type: 'object', description: 'OpenAPI 3.1' },
  };
}
