/**
 * Who may come in (docs/decisions/0017-gate.md): decided from a request's head, the visitor's address, the tunnel's `access` and
 * the time, and from nothing else.
 */
import { hash, randomBytes } from 'node:crypto';
import { hostname } from '../../shared/host.ts';
import { cookieValues, type Field, fieldValue } from '../../shared/http1/fields.ts';
import type { RequestHead } from '../../shared/http1/head.ts';
import { PASSED_PASSWORDS_MAX } from '../limits.ts';
import { TenantCache } from '../tenant-cache.ts';
import type { AccessPolicy } from './access-policy.ts';
import type { LinkTokens, Passes, PassScope, SignedLink } from './passes.ts';

/** A request at the gate. */
export interface Arrival {
  readonly head: RequestHead;
  /** Whether it brings a body, of whatever length. */
  readonly hasBody: boolean;
  /** Whether it offers a WebSocket. */
  readonly upgrade: boolean;
  readonly way: Way;
  /** of the visitor */
  readonly address: string;
  readonly tunnelId: string;
  /** wall time in ms at which the tunnel was made */
  readonly createdAt: number;
  /** id of the account that the tunnel belongs to */
  readonly account: string;
  /** `/t/{slug}` in the path form, else empty */
  readonly prefix: string;
  /** what the parameter of a signed link says; `undefined` where it is not there */
  readonly link: string | undefined;
  /** wall time in ms */
  readonly now: number;
}

/** What of a request was meant for the gate, and never reaches the local service. */
export interface Kept {
  /** `Authorization` */
  readonly authorization: boolean;
}

export type Verdict =
  /**
   * the visitor has access; `visitor`: who it is, if it had to say; `until`: wall time in ms at which the right ends,
   * if it has an end of its own
   */
  | {
      readonly kind: 'pass';
      readonly visitor: string | undefined;
      readonly until?: number;
      readonly kept: Kept;
    }
  /** a preflight without credentials passes; only the status and the fields that answer it are passed on */
  | { readonly kind: 'preflight'; readonly kept: Kept }
  /** he comes in with a signed link */
  | { readonly kind: 'link'; readonly link: SignedLink; readonly visitor: string; readonly kept: Kept }
  /** he comes in if the password is right, which takes time to find out */
  | { readonly kind: 'check'; readonly credentials: Credentials; readonly hash: string | undefined }
  /** he is asked for what he has not shown; `knock` is the id of the knock for which he waits, or has waited */
  | { readonly kind: 'ask'; readonly knock: string | undefined }
  /** not from there, whatever he shows */
  | { readonly kind: 'address' };

export interface AccessCheckOptions {
  readonly passes: Passes;
  /** those of who has come with a link or has knocked, which live longer */
  readonly lastingPasses: Passes;
  readonly links: LinkTokens;
  /** name of the cookie that carries a pass, for the form of the address */
  readonly cookieName: (form: PassScope['form']) => string;
  /** Whether a pass of that visitor is still good, beyond its own end: links and admissions can be revoked. */
  readonly isGood: (tunnelId: string, visitor: string) => boolean;
}

const NOTHING: Kept = { authorization: false };

export class AccessCheck {
  readonly #options: AccessCheckOptions;

  constructor(options: AccessCheckOptions) {
    this.#options = options;
  }

  decide(access: AccessPolicy, arrival: Arrival): Verdict {
    const { fields } = arrival.head;
    if (!access.allows(arrival.address)) return { kind: 'address' };
    if (!access.asks) return { kind: 'pass', visitor: undefined, kept: NOTHING };
    const credentials = accessCredentials(fields, access);
    const kept = { authorization: credentials !== undefined && access.hasUser(credentials.user) };
    // A browser adds cookies and passwords by itself, also to the WebSocket of another origin's page.
    const counts = !arrival.upgrade || !isFromElsewhere(arrival.head, arrival.way);
    const { pass, knock } = counts ? this.#bearer(access, arrival) : {};
    // Before links: another person's link must not replace the identity of a visitor who has access.
    if (pass !== undefined) return { kind: 'pass', ...pass, kept };
    const link = this.#link(access, arrival);
    if (link !== undefined) return { kind: 'link', link, visitor: visitorByLink(link), kept };
    if (credentials !== undefined && counts)
      return { kind: 'check', credentials, hash: access.hashOf(credentials.user) };
    // No browser sends credentials with it; the request that follows has to bring them.
    if (access.hasUsers && credentials === undefined && isPreflight(arrival.head, arrival.hasBody))
      return { kind: 'preflight', kept };
    return { kind: 'ask', knock };
  }

  /** Whether a pass of that visitor is still good, beyond its own end. */
  isGood(tunnelId: string, visitor: string): boolean {
    return this.#options.isGood(tunnelId, visitor);
  }

  /** The link that is followed, if it is good. */
  #link(access: AccessPolicy, arrival: Arrival): SignedLink | undefined {
    const { head, hasBody, tunnelId, createdAt, link: token, now } = arrival;
    // The request that follows a preflight is asked for its own.
    if (token === undefined || !access.takesLinks || isPreflight(head, hasBody)) return undefined;
    const { links, isGood } = this.#options;
    const link = links.read(token, { id: tunnelId, createdAt }, now);
    return link !== undefined && isGood(tunnelId, visitorByLink(link)) ? link : undefined;
  }

  /** Who has a pass that is good; or who has knocked, and is not in. */
  #bearer(
    access: AccessPolicy,
    { head, tunnelId, account, prefix, now }: Arrival,
  ): {
    readonly pass?: { readonly visitor: string; readonly until?: number };
    readonly knock?: string | undefined;
  } {
    const { passes, lastingPasses, cookieName, isGood } = this.#options;
    const form = prefix === '' ? 'host' : 'path';
    const scope = { tunnelId, version: access.version, form } as const;
    let knock: string | undefined;
    for (const value of cookieValues(head.fields, cookieName(form))) {
      const found = passes.read(value, scope, now, account) ?? lastingPasses.read(value, scope, now, account);
      if (found === undefined) continue;
      const { who: visitor, end } = found;
      // A password stays valid after its pass has ended; a link ends with its pass.
      if (isGood(tunnelId, visitor))
        return { pass: { visitor, ...(linkIdOf(visitor) !== undefined && { until: end }) } };
      knock ??= approvalIdOf(visitor);
    }
    return { knock };
  }
}

/*
 * What the gate learns from a request apart from its cookies: credentials of the Basic scheme (RFC 7617), whether it is a CORS
 * preflight, and which page sends it.
 */

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

const BASIC = /^basic +([\w+/=-]+) *$/i;

/** @returns those that a request carries, where the gate asks for any; `undefined` for none, or for another scheme's */
export function accessCredentials(fields: readonly Field[], access: AccessPolicy): Credentials | undefined {
  if (!access.hasUsers) return undefined;
  const [, encoded] = BASIC.exec(fieldValue(fields, 'authorization') ?? '') ?? [];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString();
  const colon = text.indexOf(':');
  return colon === -1 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Fields that make frameworks treat a request as one of another method, also in the spellings that they fold. */
const METHOD_OVERRIDE = /^x[^a-z\d](?:http[^a-z\d])?method(?:[^a-z\d]override)?$/;

/**
 * Whether a request is what browsers send ahead of another one (Fetch Standard section 4.8), without credentials. It has no
 * body, and no field that would make a framework take it for a request of another method.
 */
export function isPreflight({ method, fields }: RequestHead, hasBody: boolean): boolean {
  return (
    method === 'OPTIONS' &&
    !hasBody &&
    fieldValue(fields, 'origin') !== undefined &&
    fieldValue(fields, 'access-control-request-method') !== undefined &&
    !fields.some(({ lower }) => METHOD_OVERRIDE.test(lower))
  );
}

/** How a visitor's request reaches the relay. */
export interface Way {
  /** Whether it comes through a proxy whose `X-Forwarded-Host` is believed. */
  readonly trusted: boolean;
  /** Whether tunnels are visited with https. */
  readonly secure: boolean;
}

/**
 * Whether a page of another origin than the one that was asked for sends a request (RFC 6454 section 7). A browser adds
 * cookies and passwords of the host to the WebSockets of any page of the same site, and lets that page read them. Other
 * programs send no `Origin`. Ports are compared only if `Host` has one, because some proxies leave it out.
 *
 * @returns false without `Origin`
 */
export function isFromElsewhere({ fields }: RequestHead, { trusted, secure }: Way): boolean {
  const origins = fields.filter((field) => field.is('origin'));
  if (origins.length === 0) return false;
  const names = fields.filter((field) => field.is('host') || (trusted && field.is('x-forwarded-host')));
  const hosts = names.flatMap(({ value }) => value.split(',')).map((host) => host.trim().toLowerCase());
  return !origins.every(({ value }) => {
    const [, scheme, authority] = ORIGIN.exec(value.toLowerCase()) ?? [];
    if (scheme === undefined || authority === undefined || (secure && scheme !== 'https')) return false;
    return hosts.some((host) => isSameHost(authority, host, scheme === 'https' ? '443' : '80'));
  });
}

/**
 * Whether a form of the relay was sent from a page of the same host. A page of another host must not act in the name of its
 * visitor.
 */
export function isSentFromHere({ fields }: RequestHead): boolean {
  const site = fieldValue(fields, 'sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  // Browsers that say nothing of the site name the page, unless it says nothing of itself, as the door's does not.
  const origin = fieldValue(fields, 'origin');
  const host = fieldValue(fields, 'host')?.toLowerCase();
  return (
    origin === undefined || origin === 'null' || origin.replace(/^https?:\/\//i, '').toLowerCase() === host
  );
}

const ORIGIN = /^(https?):\/\/([^/?#@\s]+)$/;

/** @param port of the origin where it names none */
function isSameHost(origin: string, host: string, port: string): boolean {
  if (hostname(origin) !== hostname(host)) return false;
  const asked = portOf(host);
  return asked === '' || asked === (portOf(origin) || port);
}

/** @returns an empty string without a port */
function portOf(host: string): string {
  return /:(\d+)$/.exec(host)?.[1] ?? '';
}

/** Who has come in, as passes say it: by the id of a link or a knock, too, which nobody else is told. */

const LINK = /^link:([\da-f]{16}):(.*)$/s;

/** Who has come with a link. */
export function visitorByLink({ id, note }: { readonly id: string; readonly note: string }): string {
  return `link:${id}:${note}`;
}

/** @returns id of the link that a visitor has come with; `undefined` for anybody else */
export function linkIdOf(visitor: string): string | undefined {
  return LINK.exec(visitor)?.[1];
}

const KNOCK = /^knock:([\da-f]{16})$/;

/** Who has knocked: he is in once its owner has let him in. */
export function approvedVisitor(id: string): string {
  return `knock:${id}`;
}

/** @returns id of the knock of a visitor; `undefined` for anybody else */
export function approvalIdOf(visitor: string): string | undefined {
  return KNOCK.exec(visitor)?.[1];
}

/** @returns who it is as the local service is told (docs/protocol.md section 11.1) */
export function shownVisitor(visitor: string): string {
  const [, , note] = LINK.exec(visitor) ?? [];
  if (note === undefined) return KNOCK.test(visitor) ? 'knock' : visitor;
  return note === '' ? 'link' : `link:${note}`;
}

/* Credentials that were found to be right lately: a hash takes 50 ms, and a browser sends them with every request. */

export class PassedPasswords {
  /** of this process: what is remembered says nothing about passwords to whoever reads it elsewhere */
  readonly #key = randomBytes(32).toString('base64url');
  readonly #known = new TenantCache<true>(PASSED_PASSWORDS_MAX);

  /**
   * @param account whose tunnel it is
   * @param version of the `access` that they were right for
   */
  add(account: string, version: string, credentials: Credentials): void {
    this.#known.set(account, this.#digest(version, credentials), true);
  }

  has(version: string, credentials: Credentials): boolean {
    return this.#known.size > 0 && this.#known.get(this.#digest(version, credentials)) === true;
  }

  #digest(version: string, { user, password }: Credentials): string {
    return hash('sha256', JSON.stringify([this.#key, version, user, password]), 'base64url');
  }
}
