/** What a client reads of a relay's responses, and what it asks of the relay (protocol.md sections 3 and 11). */
import * as yup from 'yup';
import type { Access, AccessToken, AccessView } from '../../../shared/access.ts';
import { type Fields, isWebAddress, type ObjectField, type TypeOf } from '../../../shared/fields.ts';
import { LINK_PARAMETER, NEW_LINK, type NewLink } from '../../../shared/links.ts';
import { TUNNEL, TUNNEL_LIST, type Tunnel } from '../../../shared/tunnel.ts';
import { toMessage } from '../messages.ts';
import { RelayUnreachable } from './errors.ts';

/**
 * Checks an object of a response, so that the rest of the client can trust its type.
 *
 * @throws RelayUnreachable, which names the field, if the value is not such an object
 */
export function read<O extends ObjectField<Fields>>(object: O, value: unknown): TypeOf<O> {
  try {
    object.accepts.validateSync(value);
    return complete(object, value as TypeOf<O>);
  } catch (error) {
    if (!(error instanceof yup.ValidationError)) throw error;
    const { path = '' } = error;
    throw new RelayUnreachable(
      path === '' ? toMessage('relay.notUnderstood') : toMessage('relay.badField', { field: path }),
    );
  }
}

/** Adds what the relay leaves out. */
function complete<O extends ObjectField<Fields>>({ fields }: O, value: TypeOf<O>): TypeOf<O> {
  const left = Object.entries(fields).filter(
    ([name, { missing }]) => missing !== undefined && !Object.hasOwn(value, name),
  );
  return { ...value, ...Object.fromEntries(left.map(([name, { missing }]) => [name, missing])) };
}

/** @throws RelayUnreachable */
export function readTunnel(value: unknown): Tunnel {
  return read(TUNNEL, value);
}

/** @throws RelayUnreachable */
export function readTunnelList(value: unknown): Tunnel[] {
  return read(TUNNEL_LIST, value).tunnels.map((tunnel) => complete(TUNNEL, tunnel));
}

/** The one parameter that a relay adds, without characters that mean something to a shell. */
const TOKEN = new RegExp(String.raw`[?&]${LINK_PARAMETER}=[\w.~-]+$`);

/**
 * @param path that was asked for
 * @throws RelayUnreachable when the value is not a link to there
 */
export function readNewLink(value: unknown, path = '/'): NewLink {
  const made = read(NEW_LINK, value);
  const address = made.url.replace(TOKEN, '');
  // It is printed, copied and opened in a browser: the relay must not choose another path.
  const base = address.endsWith(path) ? address.slice(0, -path.length) : '';
  if (address !== made.url && isWebAddress(base)) return made;
  throw new RelayUnreachable(toMessage('relay.linkElsewhere'));
}

/** The body of a request for a link. The relay chooses what is missing. */
export interface LinkRequest {
  /** how long it is valid, a duration string */
  readonly ttl?: string;
  /** who it is for */
  readonly note?: string;
  /** target path below the tunnel's address, starting with `/` */
  readonly path?: string;
  /** whether it admits only the first browser that opens it */
  readonly once?: boolean;
}

/** Whether the relay applies everything that was asked for: one without a feature ignores its field. */
export function asksVisitorsFor(asked: Access, shown: AccessView): boolean {
  return (
    (asked.allow.length === 0 || (shown.allow?.length ?? 0) > 0) &&
    asked.basic.every(({ user }) => shown.basic?.includes(user)) &&
    (asked.password === undefined || shown.password === true) &&
    (!asked.links || shown.links === true) &&
    (!asked.knock || shown.knock === true) &&
    asked.tokens.every(({ name }) => shown.tokens?.some((token) => token.name === name)) &&
    asked.sign_in.every((rule) => shown.sign_in?.includes(rule)) &&
    (!asked.oauth || shown.oauth === true)
  );
}

type AccessTokenView = NonNullable<AccessView['tokens']>[number];

/** A new token. The relay shows it only once. */
export type MadeToken = AccessToken & { readonly token: string };

/** The tokens that the relay has made for a request, from its response. */
export function madeTokens({ tokens = [] }: AccessView): MadeToken[] {
  return tokens.flatMap(({ name, token }) => (token === undefined ? [] : [{ name, token }]));
}

/** A tunnel as the relay shows it from then on, to be kept and shown to others. */
export function withoutTokens(tunnel: Tunnel): Tunnel {
  const { tokens } = tunnel.access;
  if (tokens === undefined) return tunnel;
  return { ...tunnel, access: { ...tunnel.access, tokens: tokens.map(withoutToken) } };
}

function withoutToken({ name, last_used_at }: AccessTokenView): AccessTokenView {
  return { name, ...(last_used_at !== undefined && { last_used_at }) };
}

/** The `access` of a request: only what is set. */
export function accessRequest(access: Access): object {
  const { allow, basic, password, links, knock, tokens, sign_in, oauth } = access;
  return {
    ...(allow.length === 0 ? {} : { allow }),
    ...(basic.length === 0 ? {} : { basic }),
    ...(password === undefined ? {} : { password }),
    ...(links ? { links } : {}),
    ...(knock ? { knock } : {}),
    ...(tokens.length === 0 ? {} : { tokens }),
    ...(sign_in.length === 0 ? {} : { sign_in }),
    ...(oauth ? { oauth } : {}),
  };
}
