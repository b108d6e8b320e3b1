/** Tunnels and accounts as the REST interface shows them (protocol.md section 3). */
import * as yup from 'yup';
import { type Access, ACCESS_VIEW } from './access.ts';
import {
  ADDRESS,
  COUNT,
  described,
  DURATION,
  FLAG,
  LIMIT_OR_NULL,
  listOf,
  object,
  oneOf,
  onlyValue,
  optional,
  orNull,
  mayBeMissing,
  TEXT,
  TEXT_OR_EMPTY,
  TEXT_OR_NULL,
  TIME,
  TUNNEL_ADDRESS,
  type TypeOf,
  unused,
  UUID,
  WILDCARD_ADDRESS,
} from './fields.ts';
import { LOCAL_PORT_MAX, LOCAL_PORT_MIN } from './value-rules.ts';

/** As a number. */
export const LOCAL_PORT_SCHEMA = { type: 'integer', minimum: LOCAL_PORT_MIN, maximum: LOCAL_PORT_MAX };

/** What visitors speak: HTTP, TLS that ends at the local service, or whatever the local service speaks over TCP. */
export const PROTOCOLS = ['http', 'tls', 'tcp'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** The tunnel object, in the order in which it is written. */
export const TUNNEL = object(
  {
    id: UUID,
    slug: TEXT,
    client_id: unused(UUID),
    local_port: { ...COUNT, schema: LOCAL_PORT_SCHEMA },
    name: described(TEXT_OR_EMPTY, 'the requested name, or an empty string'),
    ttl: DURATION,
    protocol: mayBeMissing(
      described(
        oneOf(PROTOCOLS),
        '`tls` and `tcp`: the bytes of each visitor connection pass unread, and `requests` counts the connections',
      ),
      'http',
    ),
    mode: unused<'relay'>({ schema: onlyValue('relay'), accepts: yup.mixed() }),
    created_at: TIME,
    expires_at: TIME,
    idle_ttl: FLAG,
    bytes_in: described(COUNT, 'bytes received from visitors and passed to the client'),
    bytes_out: described(COUNT, 'bytes received from the client and passed to visitors'),
    requests: COUNT,
    created_by: mayBeMissing(
      described(TEXT_OR_NULL, 'the label of the key that created the tunnel or took it over, or null'),
      null,
    ),
    online: mayBeMissing(described(FLAG, "whether the tunnel's client is connected"), false),
    access: mayBeMissing(ACCESS_VIEW, {}),
    wildcard: mayBeMissing(
      described(FLAG, 'whether the tunnel answers at every host `{any}--{slug}` below the tunnel domain'),
      false,
    ),
    public_url: described(TUNNEL_ADDRESS, 'the address for visitors'),
    urls: object({
      /** missing for a TCP tunnel */
      subdomain: optional(TUNNEL_ADDRESS),
      /** only if the relay has the path form */
      path: optional(ADDRESS),
      /** only if the owner has an account subdomain */
      account: optional(ADDRESS),
      /** only if the tunnel has a domain of its owner's */
      domain: optional(TUNNEL_ADDRESS),
      /** only if the tunnel is a wildcard one; `*` stands for any label */
      wildcard: optional(WILDCARD_ADDRESS),
    }),
  },
  'Tunnel',
);
export const TUNNEL_LIST = object({ tunnels: listOf(TUNNEL, 'newest first') }, 'TunnelList');
export type Tunnel = TypeOf<typeof TUNNEL>;

export const PLANS = ['free', 'dev', 'team'] as const;
export type Plan = (typeof PLANS)[number];

/** The bounds of an agent's key, in addition to `limits.max_ttl` (protocol.md section 2.1). */
const AGENT_BOUNDS = object(
  { name_prefix: described(TEXT, 'the start of the names of its tunnels') },
  'AgentBounds',
);

/** What `GET /v1/account` returns; `null` means "unlimited". */
export const ACCOUNT = object(
  {
    client_id: { ...UUID, accepts: TEXT.accepts },
    name: TEXT,
    // A relay may have plans that this client does not know.
    plan: { ...oneOf(PLANS), accepts: TEXT.accepts },
    subdomain: TEXT_OR_NULL,
    limits: object({
      default_ttl: DURATION,
      max_ttl: DURATION,
      creates_per_minute: { ...COUNT, accepts: yup.number().min(0).required() },
      create_burst: COUNT,
      max_tunnels: described(LIMIT_OR_NULL, 'null for unlimited'),
      max_connections: described(LIMIT_OR_NULL, 'for each tunnel; null for unlimited'),
      max_domains: unused(described(LIMIT_OR_NULL, 'null for unlimited')),
      max_tcp_tunnels: mayBeMissing(described(COUNT, 'those of `max_tunnels` that can be TCP tunnels'), 0),
      name_hold: optional(described(DURATION, 'how long the name of an ended tunnel stays reserved')),
    }),
    /** only if people can sign in at tunnels of this relay */
    sign_in: optional(
      object({ name: described(TEXT, 'name of the identity provider, for buttons') }, 'SignInOffer'),
    ),
    agent_key: mayBeMissing(orNull(AGENT_BOUNDS, "null unless the key is an agent's"), null),
  },
  'Account',
);
export type Account = TypeOf<typeof ACCOUNT>;

/** The lifetimes of tunnels that a relay allows, in seconds. */
export interface TtlLimits {
  readonly defaultTtl: number;
  readonly maxTtl: number;
}

/** A create request as read: defaults filled in, `ttl` in seconds. */
export interface CreateTunnel {
  localPort: number;
  /** `''` for none */
  name: string;
  ttl: number;
  idleTtl: boolean;
  /** who may visit */
  access: Access;
  /** a domain of the account in its canonical spelling; `''` for none */
  domain: string;
  /** whether it answers at every host `{any}--{slug}` */
  wildcard: boolean;
  protocol: Protocol;
  /** the port of a TCP tunnel at the relay; `undefined`: one of the relay's choice */
  remotePort: number | undefined;
}

/** A create request as read, with what to do if the account already has a tunnel of that name. */
export interface WantedTunnel extends CreateTunnel {
  /** Whether to take over a live tunnel of the account with that name. */
  takeOver: boolean;
}
