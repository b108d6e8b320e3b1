/** Requests about tunnels, as the REST interface accepts them (protocol.md section 3). */
import * as yup from 'yup';
import {
  type Access,
  ALLOW_MAX,
  BASIC_USERS_MAX,
  PASSWORD_MAX_LENGTH,
  OPEN,
  PASSWORD_MIN_LENGTH,
  readAccess,
  TOKEN_MAX_LENGTH,
  TOKEN_MIN_LENGTH,
  TOKEN_NAME_MAX_LENGTH,
  TOKENS_MAX,
  USER_MAX_LENGTH,
} from './access.ts';
import { readGivenDomain } from './domains.ts';
import { formatDuration, parseDuration, typedDuration } from './duration.ts';
import { API_ERRORS, ApiError, type ApiErrorEntry, type Clause, withValues } from './errors.ts';
import {
  type Field,
  type Fields,
  givenDuration,
  type JsonObject,
  object,
  objectSchema,
  type ObjectField,
  onlyValue,
  optional,
  type OptionalField,
  TEXT,
  type TypeOf,
  withDefault,
} from './fields.ts';
import { LOCAL_PORT_SCHEMA, type Protocol, PROTOCOLS, type TtlLimits, type WantedTunnel } from './tunnel.ts';
import {
  NAME_MAX_LENGTH,
  NAME_MIN_LENGTH,
  NAME_PATTERN,
  TTL_MIN_SECONDS,
  NAME_RULE,
  PORT_RULE,
} from './value-rules.ts';
import { isWildcardDomain } from './wildcard-hosts.ts';

const localPort: Field<number> = {
  schema: LOCAL_PORT_SCHEMA,
  accepts: yup
    .mixed()
    .nullable()
    .test('local_port', (value: unknown, context) =>
      PORT_RULE.accepts(value) ? true : refuse(context, API_ERRORS.invalidPort),
    ),
};

const name: OptionalField<string | null> = optional({
  schema: {
    oneOf: [
      {
        type: 'string',
        pattern: NAME_PATTERN.source,
        minLength: NAME_MIN_LENGTH,
        maxLength: NAME_MAX_LENGTH,
        description: 'lowercase letters, digits and hyphens, not starting or ending with a hyphen',
      },
      { type: 'null' },
      onlyValue(''),
    ],
    description: 'requires the Dev plan or above',
  },
  accepts: yup
    .mixed()
    .nullable()
    .test('name', (value: unknown, context) =>
      isNotGiven(value) || NAME_RULE.accepts(value) ? true : refuse(context, API_ERRORS.invalidName),
    ),
});

function flag(description: string): OptionalField<boolean | null> {
  return optional({
    schema: { type: ['boolean', 'null'], description: withDefault(description, 'false') },
    accepts: yup
      .mixed()
      .nullable()
      .test('flag', (value: unknown, context) =>
        value === undefined || value === null || typeof value === 'boolean'
          ? true
          : refuse(context, API_ERRORS.invalidBody),
      ),
  });
}

/** `access`, which {@link readAccess} reads. */
export const ACCESS_SCHEMA: JsonObject = {
  ...objectSchema(
    {
      'allow?': {
        type: ['array', 'null'],
        maxItems: ALLOW_MAX,
        items: TEXT.schema,
        description:
          'admits only visitors from these addresses and networks, such as `192.0.2.7` or `10.0.0.0/8`',
      },
      'basic?': {
        type: ['array', 'null'],
        maxItems: BASIC_USERS_MAX,
        items: objectSchema(
          {
            user: {
              type: 'string',
              minLength: 1,
              maxLength: USER_MAX_LENGTH,
              description: 'without a colon',
            },
            password: { type: 'string', minLength: 1, maxLength: PASSWORD_MAX_LENGTH },
          },
          'BasicUser',
        ),
        description: 'admits visitors who log in with HTTP Basic',
      },
      'password?': {
        type: ['string', 'null'],
        minLength: PASSWORD_MIN_LENGTH,
        maxLength: PASSWORD_MAX_LENGTH,
        description: 'admits visitors who enter this password on a page',
      },
      'links?': { type: ['boolean', 'null'], description: 'admits visitors who have a signed link' },
      'knock?': { type: ['boolean', 'null'], description: 'admits visitors whom the owner approves' },
      'tokens?': {
        type: ['array', 'null'],
        maxItems: TOKENS_MAX,
        items: objectSchema(
          {
            name: {
              type: 'string',
              pattern: `^[a-z0-9-]{1,${TOKEN_NAME_MAX_LENGTH}}$`,
              description: 'the same for no two tokens',
            },
            'token?': {
              type: ['string', 'null'],
              pattern: `^[!-~]{${TOKEN_MIN_LENGTH},${TOKEN_MAX_LENGTH}}$`,
              description:
                "without it, the tunnel keeps its token of that name, or the relay makes one and shows it once, in this request's response",
            },
          },
          'NewTunnelToken',
        ),
        description:
          'admits programs that send one of these tokens as `Authorization: Bearer`; those that are left out are revoked',
      },
    },
    'Access',
  ),
  additionalProperties: false,
};

/** A field that has a reader of its own. */
function readElsewhere<V>(schema: JsonObject): OptionalField<V> {
  return optional<V>({ schema, accepts: yup.mixed().nullable() });
}

const protocolField: OptionalField<Protocol | null> = optional({
  schema: {
    oneOf: [{ type: 'string', enum: PROTOCOLS }, { type: 'null' }],
    description: withDefault(
      '`tls` for TLS that ends at the local service, `tcp` for any protocol over TCP at a port of the relay; both have no `access` but `allow`',
      'http',
    ),
  },
  accepts: yup
    .mixed()
    .nullable()
    .test('protocol', (value: unknown, context) =>
      value === undefined || value === null || PROTOCOLS.some((protocol) => protocol === value)
        ? true
        : refuse(context, API_ERRORS.invalidBody),
    ),
});

/** Which ports there are is for the relay to say. */
const remotePort: OptionalField<number | null> = optional({
  schema: {
    type: ['integer', 'null'],
    description: 'with `tcp`: the port at the relay; without it, the relay chooses one',
  },
  accepts: yup
    .mixed()
    .nullable()
    .test('remote_port', (value: unknown, context) =>
      value === undefined || value === null || Number.isInteger(value)
        ? true
        : refuse(context, API_ERRORS.invalidRemotePort),
    ),
});

/** The create request (protocol.md section 3.2), fields in the order in which they are checked. */
export function createTunnelBody({ defaultTtl, maxTtl }: TtlLimits) {
  return object(
    {
      local_port: localPort,
      name,
      ttl: ttl(maxTtl, upTo(maxTtl), defaultTtl),
      idle_ttl: flag('whether traffic restarts the time to live'),
      access: readElsewhere<unknown>({
        oneOf: [ACCESS_SCHEMA, { type: 'null' }],
        description: "the tunnel's access policy; without one, the tunnel is public",
      }),
      take_over: flag("whether to take over the account's live tunnel of this name, if there is one"),
      domain: readElsewhere<string | null>({
        type: ['string', 'null'],
        description: "one of the account's verified domains; `*.example.com` includes `wildcard`",
      }),
      wildcard: flag(
        'whether the tunnel answers at every host `{any}--{slug}` below the tunnel domain, and at every host one label below a domain ' +
          'such as `*.example.com`; requires the Dev plan or above',
      ),
      protocol: protocolField,
      remote_port: remotePort,
    },
    'CreateTunnel',
  );
}

export type CreateTunnelBody = TypeOf<ReturnType<typeof createTunnelBody>>;

/** The extend request (protocol.md section 3.5). */
export function extendTunnelBody({ maxTtl }: TtlLimits) {
  return object(
    { ttl: ttl(maxTtl, "how much time to add; the default is the tunnel's own time to live") },
    'ExtendTunnel',
  );
}

function upTo(maxTtl: number): string {
  return `a duration, such as \`30m\`, \`1.5h\` or \`1h30m\`, of at least 1s and at most ${typedDuration(maxTtl)}, or less if the plan allows less`;
}

/**
 * Reads the body of a create request.
 *
 * @param body parsed JSON
 * @throws ApiError for the first field, in the order of the table in protocol.md section 3.2, that breaks a rule
 */
export function readCreateTunnel(body: unknown, limits: TtlLimits): WantedTunnel {
  const fields = check(createTunnelBody(limits), body);
  const wanted = {
    localPort: fields.local_port,
    name: fields.name ?? '',
    ttl: readGivenTtl(fields.ttl, limits.maxTtl) ?? limits.defaultTtl,
    idleTtl: fields.idle_ttl ?? false,
    access: readAccess(fields.access),
    takeOver: fields.take_over ?? false,
    protocol: fields.protocol ?? 'http',
    remotePort: fields.remote_port ?? undefined,
    ...readHosts(fields),
  };
  mustSuitProtocol(wanted);
  return wanted;
}

/** @throws ApiError 400 for the first field that tunnels of the protocol do not have */
function mustSuitProtocol({ protocol, remotePort: port, domain, wildcard, access }: WantedTunnel): void {
  if (port !== undefined && protocol !== 'tcp') throw notForProtocol('remote_port', protocol);
  if (protocol === 'http') return;
  if (domain !== '' && (protocol === 'tcp' || isWildcardDomain(domain)))
    throw notForProtocol('domain', protocol);
  if (wildcard) throw notForProtocol('wildcard', protocol);
  mustSuitRaw(access, protocol);
}

/**
 * Connections of TLS and TCP tunnels are not read, so only their addresses can be judged.
 *
 * @throws ApiError 400 for a field of `access` other than `allow`
 */
export function mustSuitRaw(access: Access, protocol: Protocol): void {
  for (const field of Object.keys(OPEN) as (keyof Access)[]) {
    const value = access[field];
    const isSet = Array.isArray(value) ? value.length > 0 : value !== OPEN[field];
    if (field !== 'allow' && isSet) throw notForProtocol(`access.${field}`, protocol);
  }
}

function notForProtocol(field: string, protocol: Protocol): ApiError {
  return new ApiError(withValues(API_ERRORS.notForProtocol, { field, protocol }));
}

const NO_WILDCARD: Clause = {
  code: 'no_wildcard',
  text: 'stands for many hosts, which "wildcard": false excludes',
};

/** @throws ApiError */
function readHosts({
  domain: given,
  wildcard: asked,
}: Pick<CreateTunnelBody, 'domain' | 'wildcard'>): Pick<WantedTunnel, 'domain' | 'wildcard'> {
  const domain = isNotGiven(given) ? '' : readGivenDomain(given);
  const isWildcard = isWildcardDomain(domain);
  if (isWildcard && asked === false)
    throw new ApiError(withValues(API_ERRORS.invalidDomain, { problem: NO_WILDCARD }));
  return { domain, wildcard: asked ?? isWildcard };
}

/**
 * Reads the body of an extend request.
 *
 * @returns seconds; `undefined` for the tunnel's own `ttl`
 * @throws ApiError
 */
export function readExtendTunnel(body: unknown, limits: TtlLimits): number | undefined {
  return readGivenTtl(check(extendTunnelBody(limits), body).ttl, limits.maxTtl);
}

export function isNotGiven(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/* Parts that several requests of the REST interface share. */

/**
 * Reads a `ttl` string.
 *
 * @param text duration string
 * @param maxTtl the longest accepted, in seconds
 * @returns whole seconds, or the entry of the error catalogue that refuses the text
 */
function readTtl(text: string, maxTtl: number): number | ApiErrorEntry {
  const seconds = parseDuration(text);
  if (seconds === undefined || seconds < TTL_MIN_SECONDS) return API_ERRORS.invalidTtl;
  return seconds > maxTtl ? withValues(API_ERRORS.ttlTooLong, { duration: formatDuration(maxTtl) }) : seconds;
}

/** yup keeps the entry with the text, so that {@link check} knows its status. */
export function refuse(context: yup.TestContext, entry: ApiErrorEntry): yup.ValidationError {
  return context.createError({ message: entry.text, params: { entry } });
}

/** The field `ttl` of a request. */
export function ttl(maxTtl: number, description: string, byDefault?: number): OptionalField<string | null> {
  return optional({
    schema: givenDuration(description, byDefault),
    accepts: yup
      .mixed()
      .nullable()
      .test('ttl', (value: unknown, context) => {
        if (value === undefined || value === null) return true;
        if (typeof value !== 'string') return refuse(context, API_ERRORS.invalidTtl);
        const seconds = readTtl(value, maxTtl);
        return typeof seconds === 'number' ? true : refuse(context, seconds);
      }),
  });
}

/**
 * @param maxTtl the longest accepted, in seconds
 * @returns seconds; `undefined` if the request has none
 * @throws ApiError
 */
export function readGivenTtl(text: string | null | undefined, maxTtl: number): number | undefined {
  if (text === undefined || text === null) return undefined;
  const seconds = readTtl(text, maxTtl);
  if (typeof seconds !== 'number') throw new ApiError(seconds);
  return seconds;
}

/**
 * @param body parsed JSON
 * @throws ApiError for the first field, in the order of the schema, that breaks a rule
 */
export function check<O extends ObjectField<Fields>>({ accepts, fields }: O, body: unknown): TypeOf<O> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError(API_ERRORS.invalidBody);
  try {
    accepts.validateSync(body, { abortEarly: false });
    return body as TypeOf<O>;
  } catch (error) {
    if (!(error instanceof yup.ValidationError)) throw error;
    // yup reports fields in the order they fail; protocol.md section 3.2 has one order.
    const order = Object.keys(fields);
    const [first] = error.inner.toSorted((a, b) => order.indexOf(a.path ?? '') - order.indexOf(b.path ?? ''));
    throw new ApiError((first?.params?.['entry'] as ApiErrorEntry | undefined) ?? API_ERRORS.invalidBody);
  }
}
