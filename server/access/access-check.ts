/**
 * Decides who has access to a tunnel (docs/decisions/0017-gate.md) from the request head, the visitor's address, the
 * tunnel's access policy and the time only.
 */
import { hash, randomBytes } from 'node:crypto';
import { ACCESS_TOKEN_PREFIX } from '../../shared/agents.ts';
import { cookieValues, type Field, fieldValue } from '../../shared/http1/fields.ts';
import type { RequestHead } from '../../shared/http1/head.ts';
import { hostname } from '../../shared/networks.ts';
import { TenantCache } from '../tenant-cache.ts';
import type { StoredToken } from '../store/records.ts';
import type { AccessPolicy } from './access-policy.ts';
import {
  type LinkTokens,
  type Pass,
  type Passes,
  type PassScope,
  passScope,
  personScope,
  type SignedLink,
} from './passes.ts';
import type { LinkScope } from '../store/records.ts';
import { signedInOf } from './people.ts';

/** Maximum number of correct passwords that the relay caches; about 1 MB. Others are hashed again. */
export const PASSED_PASSWORDS_MAX = 10_000;

/** A request whose access is checked. */
interface Arrival extends LinkScope {
  readonly head: RequestHead;
  /** Whether it has a body, of whatever length. */
  readonly hasBody: boolean;
  /** Whether it offers a WebSocket. */
  readonly upgrade: boolean;
  readonly way: Way;
  /** of the visitor */
  readonly address: string;
  readonly tunnelId: string;
  /** id of the account that the tunnel belongs to */
  readonly account: string;
  /** `/t/{slug}` in the path form, else empty */
  readonly prefix: string;
  /** of a wildcard tunnel, in lower case */
  readonly host?: string | undefined;
  /** the value of a signed link's parameter; `undefined` if it is missing */
  readonly link: string | undefined;
  /** wall time in ms */
  readonly now: number;
}

/** Parts of a request that are meant for the access check and are never passed to the local service. */
export interface Kept {
  /** `Authorization` */
  readonly authorization: boolean;
}

export type Verdict =
  /**
   * the visitor has access; `visitor`: the identity, if one was required; `until`: when the right ends, wall time in
   * ms, if it has an end of its own
   */
  | {
      readonly kind: 'pass';
      readonly visitor: string | undefined;
      readonly until?: number;
      readonly kept: Kept;
    }
  /** a preflight without credentials passes; only the status and the fields that answer it are passed on */
  | { readonly kind: 'preflight'; readonly kept: Kept }
  /** the visitor has access by a signed link */
  | { readonly kind: 'link'; readonly link: SignedLink; readonly visitor: string; readonly kept: Kept }
  /** the visitor has sent a token; `undefined`: the tunnel does not have it */
  | { readonly kind: 'token'; readonly token: StoredToken | undefined }
  /** an agent has sent a token of OAuth; `undefined`: with other credentials that services may take for it */
  | { readonly kind: 'agent'; readonly token: string | undefined }
  /** the visitor has access if the password is correct; the check needs time */
  | { readonly kind: 'check'; readonly credentials: Credentials; readonly hash: string | undefined }
  /**
   * the visitor is asked for credentials; `knock` is the id of the visitor's approval request that is or was waiting,
   * `refused` the identity of one who has signed in, but whom the rules of `sign_in` do not admit
   */
  | { readonly kind: 'ask'; readonly knock: string | undefined; readonly refused?: string | undefined }
  /** the address is not allowed, regardless of credentials */
  | { readonly kind: 'address' };

interface AccessCheckOptions {
  readonly passes: Passes;
  /** of visitors who used a link or asked for approval; they are valid for longer */
  readonly lastingPasses: Passes;
  /** of visitors who have signed in */
  readonly personPasses: Passes;
  readonly links: LinkTokens;
  /** name of the access cookie, for the form of the address */
  readonly cookieName: (form: PassScope['form']) => string;
  /** Whether the visitor's pass is still valid, apart from its own end: links and approvals can be revoked. */
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
    const { isGiven, token, isAny, agent } = bearerToken(fields, access);
    const kept = {
      authorization:
        isAny || agent !== undefined || (credentials !== undefined && access.hasUser(credentials.user)),
    };
    // A browser adds cookies and passwords by itself, even to a WebSocket that a page of another origin opens.
    const counts = !arrival.upgrade || !isFromElsewhere(arrival.head, arrival.way);
    const { pass, knock, refused } = counts ? this.#bearer(access, arrival) : {};
    // Before links: another person's link must not replace the identity of a visitor who has access.
    if (pass !== undefined) return { kind: 'pass', ...pass, kept };
    const link = this.#link(access, arrival);
    if (link !== undefined) return { kind: 'link', link, visitor: visitorByLink(link), kept };
    if (credentials !== undefined && counts)
      return { kind: 'check', credentials, hash: access.hashOf(credentials.user) };
    // Unlike cookies and passwords, browsers never add a token by themselves.
    if (token === undefined && agent !== undefined) return { kind: 'agent', token: agent.token };
    if (isGiven) return { kind: 'token', token };
    // Browsers send no credentials with a preflight; the request that follows has to bring them.
    const isFollowed = access.hasUsers || access.hasTokens || access.takesAgents;
    if (isFollowed && credentials === undefined && isPreflight(arrival.head, arrival.hasBody))
      return { kind: 'preflight', kept };
    return { kind: 'ask', knock, refused };
  }

  /** Whether the visitor's pass is still valid, apart from its own end. */
  isGood(tunnelId: string, visitor: string): boolean {
    return this.#options.isGood(tunnelId, visitor);
  }

  /** The signed link of the request, if it is valid. */
  #link(access: AccessPolicy, arrival: Arrival): SignedLink | undefined {
    const { head, hasBody, tunnelId, link: token, now } = arrival;
    // A preflight needs no link: the request that follows it is checked by itself.
    if (token === undefined || !access.takesLinks || isPreflight(head, hasBody)) return undefined;
    const { links, isGood } = this.#options;
    const link = links.read(token, arrival, now);
    return link !== undefined && isGood(tunnelId, visitorByLink(link)) ? link : undefined;
  }

  /** The visitor with a valid pass, or the approval request of a visitor who has no access yet. */
  #bearer(
    access: AccessPolicy,
    arrival: Arrival,
  ): {
    readonly pass?: { readonly visitor: string; readonly until?: number };
    readonly knock?: string | undefined;
    readonly refused?: string | undefined;
  } {
    const { passes, lastingPasses, cookieName, isGood } = this.#options;
    const { head, tunnelId, account, prefix, host, now } = arrival;
    const scope = passScope(tunnelId, access.version, { prefix, host });
    let knock: string | undefined;
    let refused: string | undefined;
    for (const value of cookieValues(head.fields, cookieName(scope.form))) {
      const found = passes.read(value, scope, now, account) ?? lastingPasses.read(value, scope, now, account);
      if (found === undefined) {
        const person = this.#person(access, arrival, value);
        if (person === undefined) continue;
        // Nothing that was opened with a pass outlives it.
        if (isAdmitted(access, person.who)) return { pass: { visitor: person.who, until: person.end } };
        refused ??= person.who;
        continue;
      }
      const { who: visitor, end } = found;
      // A password stays valid after its pass has ended; a link ends with its pass.
      if (isGood(tunnelId, visitor))
        return { pass: { visitor, ...(linkIdOf(visitor) !== undefined && { until: end }) } };
      knock ??= approvalIdOf(visitor);
    }
    return { knock, refused };
  }

  /** The pass of a visitor who has signed in, whatever the rules say by now. */
  #person(
    access: AccessPolicy,
    { head, tunnelId, account, prefix, now }: Arrival,
    value: string,
  ): Pass | undefined {
    if (access.signIn.isEmpty) return undefined;
    const scope = personScope(tunnelId, { prefix, host: hostOf(head) });
    return this.#options.personPasses.read(value, scope, now, account);
  }
}

/** The name that a request was sent to, in lower case and without a port. */
export function hostOf({ fields }: RequestHead): string {
  return hostname(fieldValue(fields, 'host') ?? '');
}

/** Whether the rules of now let a visitor in who has signed in. */
export function isAdmitted(access: AccessPolicy, visitor: string): boolean {
  const person = signedInOf(visitor);
  return person !== undefined && access.signIn.admits(person);
}

/*
 * What the access check reads from a request apart from its cookies: credentials of the Basic scheme (RFC 7617),
 * whether it is a CORS preflight, and which page sends it.
 */

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

const BASIC = /^basic +([\w+/=-]+) *$/i;

/** @returns the request's Basic credentials; `undefined` if there are none or the access policy has no users */
function accessCredentials(fields: readonly Field[], access: AccessPolicy): Credentials | undefined {
  if (!access.hasUsers) return undefined;
  const [, encoded] = BASIC.exec(fieldValue(fields, 'authorization') ?? '') ?? [];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString();
  const colon = text.indexOf(':');
  return colon === -1 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** RFC 6750 section 2.1. */
const BEARER = /^bearer +(\S.*)$/i;

/** The token of a request, as far as the access policy has tokens. */
interface BearerToken {
  /** Whether the request has any. */
  readonly isGiven: boolean;
  /** the one that gives access; a request with several `Authorization` fields has none, as services differ on which counts */
  readonly token: StoredToken | undefined;
  /** Whether any of its `Authorization` fields has a token of the tunnel. */
  readonly isAny: boolean;
  /** an agent's token of OAuth: the text, if it is the only `Authorization` field */
  readonly agent?: { readonly token: string | undefined } | undefined;
}

function bearerToken(fields: readonly Field[], access: AccessPolicy): BearerToken {
  if (!access.hasTokens && !access.takesAgents) return { isGiven: false, token: undefined, isAny: false };
  const sent = fields.filter((field) => field.is('authorization'));
  const given = sent.flatMap(({ value }) => BEARER.exec(value.trim())?.[1] ?? []);
  const found = given.map((text) => access.findToken(text)).find((token) => token !== undefined);
  const token = sent.length === 1 ? found : undefined;
  const isGiven = access.hasTokens && given.length > 0;
  const agents = given.find((text) => access.takesAgents && text.startsWith(ACCESS_TOKEN_PREFIX));
  const agent = agents === undefined ? undefined : { token: sent.length === 1 ? agents : undefined };
  return { isGiven, token, isAny: found !== undefined, agent };
}

/** Fields that make frameworks treat a request as one of another method, including spellings that they normalize. */
const METHOD_OVERRIDE = /^x[^a-z\d](?:http[^a-z\d])?method(?:[^a-z\d]override)?$/;

/**
 * Whether a request is one that browsers send ahead of another one (Fetch Standard section 4.8), without credentials.
 * It has no body, and no field that would make a framework treat it as a request of another method.
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
  /** Whether it comes through a proxy whose `X-Forwarded-Host` is trusted. */
  readonly trusted: boolean;
  /** Whether tunnels are visited with https. */
  readonly secure: boolean;
}

/**
 * Whether a request is sent by a page of another origin than the requested one (RFC 6454 section 7). A browser adds
 * cookies and passwords of the host to the WebSockets of any page of the same site, and lets that page read them.
 * Other programs send no `Origin`. Ports are compared only if `Host` has one, because some proxies leave it out.
 *
 * @returns false without `Origin`
 */
function isFromElsewhere({ fields }: RequestHead, { trusted, secure }: Way): boolean {
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
 * Whether a form of the relay was sent from a page of the same host. A page of another host must not act in the name
 * of its visitor.
 */
export function isSentFromHere({ fields }: RequestHead): boolean {
  const site = fieldValue(fields, 'sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  // Browsers without `Sec-Fetch-Site` send the origin of the page, unless the page hides it, as the access page does.
  const origin = fieldValue(fields, 'origin');
  const host = fieldValue(fields, 'host')?.toLowerCase();
  return (
    origin === undefined || origin === 'null' || origin.replace(/^https?:\/\//i, '').toLowerCase() === host
  );
}

const ORIGIN = /^(https?):\/\/([^/?#@\s]+)$/;

/** @param port of an origin that names none */
function isSameHost(origin: string, host: string, port: string): boolean {
  if (hostname(origin) !== hostname(host)) return false;
  const asked = portOf(host);
  return asked === '' || asked === (portOf(origin) || port);
}

/** @returns an empty string without a port */
function portOf(host: string): string {
  return /:(\d+)$/.exec(host)?.[1] ?? '';
}

/** Identities of visitors in passes. Links and approval requests are named by an id that nobody else is told. */

const LINK = /^link:([\da-f]{16}):(.*)$/s;

/** The identity of a visitor who used a link. */
export function visitorByLink({ id, note }: { readonly id: string; readonly note: string }): string {
  return `link:${id}:${note}`;
}

/** @returns id of the link that gave a visitor access; `undefined` for other visitors */
export function linkIdOf(visitor: string): string | undefined {
  return LINK.exec(visitor)?.[1];
}

const KNOCK = /^knock:([\da-f]{16})$/;

/** The identity of a visitor who asked for approval and has access once the owner approves. */
export function approvedVisitor(id: string): string {
  return `knock:${id}`;
}

/** @returns id of a visitor's approval request; `undefined` for other visitors */
export function approvalIdOf(visitor: string): string | undefined {
  return KNOCK.exec(visitor)?.[1];
}

/** Whether the rules of now let an agent in: they may refuse the person who has approved it. */
export function isAgentAdmitted(access: AccessPolicy, { visitor }: { readonly visitor: string }): boolean {
  const approver = AGENT.exec(visitor)?.[3];
  return approver === undefined || access.signIn.isEmpty || isAdmitted(access, approver);
}

const AGENT = /^agent:([\da-f]{16}):([^;]*)(?:;(.*))?$/s;

/**
 * The identity of an agent.
 *
 * @param agent with the identity of the person who has signed in to approve it, or `null`
 */
export function visitorByAgent(agent: {
  readonly id: string;
  readonly host: string;
  readonly person: string | null;
}): string {
  const { id, host, person } = agent;
  return `agent:${id}:${host}${person === null ? '' : `;${person}`}`;
}

/** @returns the identity as shown to the local service (protocol.md section 11.1) */
export function shownVisitor(visitor: string): string {
  const [agent, , host = '', approver] = AGENT.exec(visitor) ?? [];
  if (agent !== undefined)
    return `agent:${host}${approver === undefined ? '' : `;${shownVisitor(approver)}`}`;
  const person = signedInOf(visitor);
  if (person !== undefined) return `user:${person.name}`;
  const [, , note] = LINK.exec(visitor) ?? [];
  if (note === undefined) return KNOCK.test(visitor) ? 'knock' : visitor;
  return note === '' ? 'link' : `link:${note}`;
}

/*
 * Credentials that were recently found to be correct: a hash takes 50 ms, and a browser sends them with every request.
 */

export class PassedPasswords {
  /** of this process only, so that a copy of the cache reveals nothing about passwords */
  readonly #key = randomBytes(32).toString('base64url');
  readonly #known = new TenantCache<true>(PASSED_PASSWORDS_MAX);

  /**
   * @param account owner of the tunnel
   * @param version of the `access` that they were correct for
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
