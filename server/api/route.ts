/** A route of the REST interface; the router and the OpenAPI document are built from these. */
import { Router } from '@koa/router';
import type { API_ERRORS } from '../../shared/errors.ts';
import { type JsonObject, objectSchema, onlyValue } from '../../shared/fields.ts';
import type { TtlLimits } from '../../shared/tunnel.ts';
import type { PasswordHashes } from '../access/password-hashes.ts';
import type { SignIn } from '../access/sign-in.ts';
import type { Authenticator } from '../accounts/authenticator.ts';
import type { Logins } from '../accounts/logins.ts';
import type { Invitations } from '../accounts/team.ts';
import type { Method } from '../administration/action.ts';
import type { OwnNames } from '../administration/given.ts';
import type { Hub } from '../clients/hub.ts';
import type { Clock } from '../clock.ts';
import type { DomainService } from '../domains/domain-service.ts';
import type { Downloads } from '../downloads/downloads.ts';
import type { CreateLimiter } from '../rate-limiter.ts';
import type { OAuthDeps } from '../oauth/oauth-routes.ts';
import type { Store } from '../store/store.ts';
import type { KeptNames } from '../tunnels/kept-names.ts';
import type { Addresses } from '../tunnels/live-tunnel.ts';
import type { TunnelApprovals, TunnelLinks } from '../tunnels/links-and-approvals.ts';
import type { TunnelAgents } from '../tunnels/tunnel-agents.ts';
import type { TunnelService } from '../tunnels/tunnel-service.ts';
import type { Turnstile } from '../turnstile.ts';
import {
  administrate,
  ANY_SCOPE,
  type ApiContext,
  type ApiMiddleware,
  type ApiState,
  authenticate,
  lookAgainAfter,
  reachTunnel,
  readBody,
  requireBody,
  TUNNEL_SCOPES,
  waitForTurn,
} from './guards.ts';
import type { RequestScheduler } from './scheduler.ts';

export interface Route {
  /** the path as OpenAPI writes it, such as `get /v1/tunnels/{id}` */
  readonly call: `${Method} /${string}`;
  readonly id: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  /** query parameters, all optional */
  readonly query?: Readonly<Record<string, string>>;
  readonly caller: Caller;
  readonly body?: { readonly schema: JsonObject; readonly required: boolean };
  /** by status; if there are several, `handle` chooses */
  readonly results: Readonly<Record<number, Result>>;
  /** those that neither the caller nor the body implies */
  readonly errors?: readonly ErrorName[];
  /** what a request has to pass after its body was read */
  readonly guards?: readonly ApiMiddleware[];
  /** @returns the body of the response */
  readonly handle: (ctx: ApiContext) => unknown;
}

/** A response: what it is, the schema of its body, and the header fields that it always has. */
export type Result = readonly [description: string, schema?: JsonObject, ...headers: string[]];
export type ErrorName = keyof typeof API_ERRORS;

export const TAGS = {
  Tunnels: 'Create, list, extend and close the tunnels of an account.',
  Access: 'Access policies, signed links, approval requests and agents.',
  Domains: 'Claim, verify and remove the domains of an account.',
  Names: 'Names that an account keeps while they have no tunnel.',
  Account: 'The account that an API key belongs to.',
  Team: "The people of an account. These calls need an owner's key.",
  Invitations: 'Invitations to an account. These calls need no key.',
  Administration:
    'For operators. These calls need an administration key; with any other key, the relay responds as if the paths did not exist.',
  Relay: 'The relay itself. No key is needed.',
  WebSockets: 'Sockets through which clients serve tunnels.',
} as const;
export type Tag = keyof typeof TAGS;

export const ANY_KEY_ERRORS = ['missingKey', 'invalidKey', 'accountSuspended', 'tooManyWrongKeys'] as const;
const KEY_ERRORS = [...ANY_KEY_ERRORS, 'keyOutOfScope', 'unavailable'] as const;

/** Who may call a route, and how others are refused. */
export const CALLERS = {
  anybody: [],
  /** with a key for anything */
  anyKey: [...ANY_KEY_ERRORS, 'unavailable'],
  /** with a key for everything of its account */
  accountKey: KEY_ERRORS,
  /** with a key of an owner of its account */
  ownerKey: KEY_ERRORS,
  /** with a key for everything of its account, or with one for a tunnel */
  tunnelKey: KEY_ERRORS,
  /** the same; the tunnel in the path has to be one that the key is for */
  tunnelOwner: [...KEY_ERRORS, 'tunnelNotFound'],
  administrator: [...ANY_KEY_ERRORS, 'notFound', 'unavailable'],
} as const satisfies Record<string, readonly ErrorName[]>;
export type Caller = keyof typeof CALLERS;

export interface ApiDeps {
  readonly authenticator: Authenticator;
  readonly tunnels: TunnelService;
  readonly links: TunnelLinks;
  readonly knocks: Pick<TunnelApprovals, 'list' | 'answer'>;
  readonly agents: Pick<TunnelAgents, 'list' | 'revoke'>;
  readonly domains: DomainService;
  readonly names: KeptNames;
  readonly creates: CreateLimiter;
  /** knows which clients are connected */
  readonly clients: Pick<Hub, 'online'>;
  readonly turns: Pick<RequestScheduler, 'next'>;
  readonly writes: Turnstile;
  /** Fulfilled when all processes of this relay follow what this one has changed. */
  readonly heard: () => Promise<void>;
  /** hashes passwords */
  readonly hashes: Pick<PasswordHashes, 'hash'>;
  readonly signIn: SignIn;
  readonly oauth: OAuthDeps;
  readonly logins: Logins;
  readonly store: Pick<Store, 'ping'>;
  readonly ttl: TtlLimits;
  readonly addresses: Addresses;
  readonly invitations: Pick<Invitations, 'find' | 'take'>;
  /** what `/v1/admin` works with */
  readonly admin: { readonly store: Store; readonly nameHold: number; readonly own: OwnNames };
  /** address of a link for complaints */
  readonly contact: string | undefined;
  /** address of Culvert's download page */
  readonly downloadPage: string | undefined;
  /** programs that the relay hands out, if it does */
  readonly downloads: Downloads | undefined;
  readonly clock: Clock;
  /** whether the relay is shutting down and takes no new work */
  readonly isDraining: () => boolean;
  /** whether a host is served here */
  readonly isNamed: (host: string) => boolean | Promise<boolean>;
}

/** The method and the path of a call. */
export function partsOf(call: Route['call']): readonly [Method, path: string] {
  return call.split(' ') as [Method, string];
}

/** @returns a router that matches its paths exactly: case, trailing slash and encoding matter */
export function routerOf(
  routes: readonly Route[],
  { authenticator, tunnels, clock, turns }: Pick<ApiDeps, 'authenticator' | 'tunnels' | 'clock' | 'turns'>,
): Router<ApiState> {
  const tunnelKey = authenticate(authenticator, TUNNEL_SCOPES);
  const keys: Readonly<Record<Caller, ApiMiddleware | undefined>> = {
    anybody: undefined,
    anyKey: authenticate(authenticator, ANY_SCOPE),
    accountKey: authenticate(authenticator),
    ownerKey: authenticate(authenticator, ['owner']),
    tunnelKey,
    tunnelOwner: tunnelKey,
    administrator: administrate(authenticator),
  };
  const reach = reachTunnel(tunnels);
  const anotherTurn = waitForTurn(turns);
  const router = new Router<ApiState>({ strict: true, sensitive: true });
  for (const { call, caller, body, results, guards = [], handle } of routes) {
    const steps: ApiMiddleware[] = [];
    const key = keys[caller];
    if (key !== undefined) steps.push(key);
    if (caller === 'tunnelOwner') steps.push(reach);
    if (body !== undefined) {
      steps.push(key === undefined ? readBody() : lookAgainAfter(readBody(), key, clock));
      if (key !== undefined && caller !== 'administrator') {
        steps.push(anotherTurn);
        if (body.required) steps.push(requireBody());
      }
    }
    const [status = ''] = Object.keys(results);
    steps.push(...guards, async function respond(ctx) {
      ctx.status = Number(status);
      ctx.body = await handle(ctx);
    });
    const [method, path] = partsOf(call);
    router[method](path.replaceAll(/\{(\w+)\}/g, ':$1'), ...steps);
  }
  return router;
}

/** The id as it was sent: `ctx.params` would decode it, and a percent-encoded letter is another path. */
export function idOf(ctx: ApiContext): string {
  return ctx.captures?.[0] ?? '';
}

/** The id of an object of the tunnel, in the same way. */
export function partOf(ctx: ApiContext): string {
  return ctx.captures?.[1] ?? '';
}

/** A response of one word. */
export function statusOf(word: string, title: string) {
  return { schema: objectSchema({ status: onlyValue(word) }, title), body: { status: word } };
}
