/** What a relay says about who may come into a tunnel (docs/protocol.md section 11). */
import * as yup from 'yup';
import { type Access, type AccessView, ALLOW_MAX, BASIC_USERS_MAX } from '../../../shared/access.ts';
import { UUID_PATTERN } from '../../../shared/control.ts';
import type { CheckedDomain, Domain } from '../../../shared/domains.ts';
import { parseDuration } from '../../../shared/duration.ts';
import type { Knock } from '../../../shared/knocks.ts';
import { type Link, LINK_PARAMETER, type NewLink } from '../../../shared/links.ts';
import type { Account, Tunnel } from '../../../shared/tunnel.ts';
import { hasUnprintable } from '../../../shared/unprintable.ts';
import { toMessage } from '../messages.ts';
import { RelayUnreachable } from './errors.ts';
import { isWebAddress } from './relay-address.ts';

/* The schemas that a relay's responses are checked with. */

/** Nothing that could move a cursor, hide text or turn it around may reach a terminal or a window, nor half a character an address. */
export const printable = yup
  .string()
  .test(
    'printable',
    (value) => typeof value !== 'string' || (value.isWellFormed() && !hasUnprintable(value)),
  );
export const text = printable.required();
/** Printed, copied and opened in a browser. */
export const addressField = yup
  .string()
  .required()
  .test('address', (value) => typeof value !== 'string' || isWebAddress(value));
/** A moment that is counted with. */
export const time = text.test('time', (value) => !Number.isNaN(Date.parse(value)));
/** A duration string (docs/protocol.md section 3.4), which timers are set by. */
export const duration = text.test('duration', (value) => Number.isFinite(parseDuration(value)));
export const count = yup.number().integer().min(0).required();

/** @throws RelayUnreachable, which names the field, when the schema does not accept the value */
export function check(schema: yup.Schema, value: unknown): unknown {
  try {
    schema.validateSync(value);
    return value;
  } catch (error) {
    if (!(error instanceof yup.ValidationError)) throw error;
    const { path = '' } = error;
    throw new RelayUnreachable(
      path === '' ? toMessage('relay.notUnderstood') : toMessage('relay.badField', { field: path }),
    );
  }
}

const isSet = yup.boolean().isTrue().optional();

/** `access` of the tunnel object; a relay that knows none leaves it out. */
export const accessView = yup
  .object({
    allow: yup.array(text).max(ALLOW_MAX).optional(),
    basic: yup.array(text).max(BASIC_USERS_MAX).optional(),
    password: isSet,
    links: isSet,
    knock: isSet,
  })
  .optional()
  .default(undefined);

/** Whether everything that was asked of visitors is asked of them: an older relay ignores what it does not know. */
export function asksVisitorsFor(asked: Access, shown: AccessView): boolean {
  return (
    (asked.allow.length === 0 || (shown.allow?.length ?? 0) > 0) &&
    asked.basic.every(({ user }) => shown.basic?.includes(user)) &&
    (asked.password === undefined || shown.password === true) &&
    (!asked.links || shown.links === true) &&
    (!asked.knock || shown.knock === true)
  );
}

/** The `access` of a request: only what is set. */
export function accessRequest({ allow, basic, password, links, knock }: Access): object {
  return {
    ...(allow.length === 0 ? {} : { allow }),
    ...(basic.length === 0 ? {} : { basic }),
    ...(password === undefined ? {} : { password }),
    ...(links ? { links } : {}),
    ...(knock ? { knock } : {}),
  };
}

/* Checks the account that a relay returns, before the rest of the client trusts its types. */

const limit = count.nullable().defined();

const accountSchema = yup
  .object({
    client_id: text,
    name: text,
    // A newer relay may have plans that this client does not know.
    plan: text,
    subdomain: printable.nullable().defined(),
    limits: yup
      .object({
        default_ttl: duration,
        max_ttl: duration,
        creates_per_minute: yup.number().min(0).required(),
        create_burst: count,
        max_tunnels: limit,
        max_connections: limit,
      })
      .required(),
  })
  .strict();

/** @throws RelayUnreachable when the value is not an account */
export function readAccount(value: unknown): Account {
  return check(accountSchema, value) as Account;
}

/* Checks the domains that a relay returns (docs/protocol.md section 12.2). */

/** Copied into a form of a DNS provider: names, addresses, and the text of a proof. */
const copied = yup
  .string()
  .matches(/^[\w.:=-]{1,300}$/)
  .required();
const timeOrNone = printable.nullable().defined();

const domainFields = yup
  .object({
    id: yup.string().matches(UUID_PATTERN).required(),
    domain: copied,
    status: yup
      .string()
      .oneOf(['pending', 'verified'] as const)
      .required(),
    records: yup
      .array(
        yup
          .object({
            type: yup
              .string()
              .oneOf(['A', 'AAAA', 'CNAME', 'TXT'] as const)
              .required(),
            name: copied,
            value: copied,
          })
          .required(),
      )
      .required(),
    created_at: text,
    verified_at: timeOrNone,
    failing_since: timeOrNone,
    ends_at: timeOrNone,
  })
  .required();

const checked = domainFields.shape({
  checks: yup
    .array(
      yup
        .object({
          what: yup
            .string()
            .oneOf(['proof', 'address'] as const)
            .required(),
          ok: yup.boolean().required(),
          found: yup.array(printable.defined()).required(),
          problem: printable.defined(),
        })
        .required(),
    )
    .required(),
});

const domainSchema = domainFields.strict();
const checkedSchema = checked.strict();
const listSchema = yup.object({ domains: yup.array(domainFields).required() }).strict();

/** @throws RelayUnreachable when the value is not a domain */
export function readDomainObject(value: unknown): Domain {
  return check(domainSchema, value) as Domain;
}

/** @throws RelayUnreachable when the value is not a domain that was looked at */
export function readCheckedDomain(value: unknown): CheckedDomain {
  return check(checkedSchema, value) as CheckedDomain;
}

/** @throws RelayUnreachable when the value is not a list of domains */
export function readDomainList(value: unknown): Domain[] {
  return (check(listSchema, value) as { domains: Domain[] }).domains;
}

/* Checks who has knocked at a tunnel, as a relay lists it (docs/protocol.md section 11.3). */

const knockSchema = yup
  .object({
    id: yup
      .string()
      .matches(/^[0-9a-f]{16}$/)
      .required(),
    status: yup
      .string()
      .oneOf(['waiting', 'admitted', 'refused'] as const)
      .required(),
    address: text,
    // As the visitor likes: what is done with it must not depend on what it says.
    agent: yup.string().defined(),
    at: text,
    ends_at: text,
  })
  .required();
const knockListSchema = yup.object({ knocks: yup.array(knockSchema).required() }).strict();

/** @throws RelayUnreachable when the value is not a list of knocks */
export function readKnockList(value: unknown): Knock[] {
  return (check(knockListSchema, value) as { knocks: Knock[] }).knocks;
}

/* Checks the signed links that a relay returns (docs/protocol.md section 11.2). */

/** The body of a request for a link; what is missing, the relay chooses. */
export interface LinkRequest {
  /** how long it is good, a duration string */
  readonly ttl?: string;
  /** who it is for */
  readonly note?: string;
  /** where it leads below the tunnel's address, from `/` on */
  readonly path?: string;
}

const link = yup
  .object({
    id: yup
      .string()
      .matches(/^[0-9a-f]{16}$/)
      .required(),
    note: printable.defined(),
    path: printable.optional(),
    created_at: time,
    expires_at: time,
  })
  .required();
const newLinkSchema = link.shape({ url: text }).strict();
const linkListSchema = yup.object({ links: yup.array(link).required() }).strict();

/** The one parameter that a relay adds, with nothing in it that means something to a shell. */
const TOKEN = new RegExp(String.raw`[?&]${LINK_PARAMETER}=[\w.~-]+$`);

/**
 * @param path that was asked for
 * @throws RelayUnreachable when the value is not a link to there
 */
export function readNewLink(value: unknown, path = '/'): NewLink {
  const made = check(newLinkSchema, value) as NewLink;
  const address = made.url.replace(TOKEN, '');
  // Printed, copied and opened in a browser: what is not the relay's to choose is what was asked for.
  const base = address.endsWith(path) ? address.slice(0, -path.length) : '';
  if (address !== made.url && isWebAddress(base)) return made;
  throw new RelayUnreachable(toMessage('relay.linkElsewhere'));
}

/** @throws RelayUnreachable when the value is not a list of links */
export function readLinkList(value: unknown): Link[] {
  return (check(linkListSchema, value) as { links: Link[] }).links;
}

/* Checks the tunnel objects that a relay returns, before the rest of the client trusts their types. */

const tunnelId = yup.string().matches(UUID_PATTERN).required();

const tunnelSchema = yup
  .object({
    id: tunnelId,
    slug: text,
    local_port: count,
    name: printable.defined(),
    ttl: duration,
    created_at: time,
    expires_at: time,
    idle_ttl: yup.boolean().required(),
    bytes_in: count,
    bytes_out: count,
    requests: count,
    online: yup.boolean(),
    access: accessView,
    public_url: addressField,
    urls: yup
      .object({
        subdomain: addressField,
        path: addressField.optional(),
        account: addressField.optional(),
        domain: addressField.optional(),
      })
      .required(),
  })
  .strict();

const tunnelListSchema = yup.object({ tunnels: yup.array(tunnelSchema.required()).required() }).strict();

/** @throws RelayUnreachable when the value is not a tunnel object */
export function readTunnel(value: unknown): Tunnel {
  return complete(check(tunnelSchema, value) as Tunnel);
}

/** @throws RelayUnreachable when the value is not a list of tunnels */
export function readTunnelList(value: unknown): Tunnel[] {
  return (check(tunnelListSchema, value) as { tunnels: Tunnel[] }).tunnels.map(complete);
}

/** Tunnels of a relay that knows no `access` are open to everybody; one that does not know `online` takes none over either. */
function complete(tunnel: Tunnel): Tunnel {
  const { access = {}, online = false } = tunnel as Partial<Tunnel>;
  return { ...tunnel, access, online };
}
