/** Guards of routes: each passes a request on or throws the ApiError that refuses it. */
import type { RouterContext, RouterMiddleware } from '@koa/router';
import bodyParser from 'koa-bodyparser';
import { type Access, invalidAccess } from '../../shared/access.ts';
import { API_ERRORS, ApiError, withValues } from '../../shared/errors.ts';
import { mustSuitRaw, readCreateTunnel } from '../../shared/tunnel-requests.ts';
import type { TtlLimits, WantedTunnel } from '../../shared/tunnel.ts';
import { isGuarded, type PreparedAccess, prepareAccess } from '../access/access-policy.ts';
import type { PasswordHashes } from '../access/password-hashes.ts';
import type { SignIn } from '../access/sign-in.ts';
import { PLAN_RULES, ttlLimitsOf } from '../accounts/accounts.ts';
import { ACCOUNT_SCOPES, isAgentName, mustReach, namePrefix, outOfScope } from '../accounts/api-keys.ts';
import { ACCESS_POLL_MS, type Authenticator } from '../accounts/authenticator.ts';
import type { Caller } from '../accounts/team.ts';
import type { Clock } from '../clock.ts';
import type { CreateLimiter } from '../rate-limiter.ts';
import type { AccountRecord, KeyScope } from '../store/records.ts';
import type { TunnelService } from '../tunnels/tunnel-service.ts';
import { mapBusyError } from '../turnstile.ts';
import type { RequestScheduler } from './scheduler.ts';

/**
 * Maximum size of a request body (protocol.md section 2.2: 413 above). A create request needs a few hundred
 * bytes.
 */
export const BODY_MAX_BYTES = 16 * 1024;

export const TUNNEL_SCOPES: readonly KeyScope['kind'][] = [...ACCOUNT_SCOPES, 'tunnel', 'agent'];
export const ANY_SCOPE: readonly KeyScope['kind'][] = [...TUNNEL_SCOPES, 'admin'];

/**
 * 401 without a valid key, 403 for a key of another scope; leaves `state.account` and `state.caller`.
 *
 * @param kinds accepted scopes; by default only keys for the whole account
 */
export function authenticate(
  authenticator: Authenticator,
  kinds: readonly KeyScope['kind'][] = ACCOUNT_SCOPES,
): ApiMiddleware {
  return async function requireKey(ctx, next) {
    // The edge sets x-forwarded-for to the client address of the request.
    const { authorization, 'x-forwarded-for': address } = ctx.req.headers;
    const owner = await authenticator.authenticate(authorization, address?.toString());
    const { account, keyId, label, scope } = owner;
    if (!kinds.includes(scope.kind)) throw outOfScope(scope);
    const caller: Caller = { keyId, label, scope };
    Object.assign(ctx.state, { account, caller });
    await next();
  };
}

/** 404 for a key that is not for administration, as if the path did not exist. */
export function administrate(authenticator: Authenticator): ApiMiddleware {
  const anyKey = authenticate(authenticator, ANY_SCOPE);
  return async function requireAdministrator(ctx, next) {
    await anyKey(ctx, () => {
      if (ctx.state.caller.scope.kind !== 'admin') throw new ApiError(API_ERRORS.notFound);
      return next();
    });
  };
}

/** 404 if the key is for other tunnels. */
export function reachTunnel(tunnels: TunnelService): ApiMiddleware {
  return async function requireReach(ctx, next) {
    const { account, caller } = ctx.state;
    if (!ACCOUNT_SCOPES.includes(caller.scope.kind)) {
      const [id = ''] = ctx.captures ?? [];
      await tunnels.coordination.followTunnel(id);
      mustReach(caller, tunnels.get(account, id));
    }
    await next();
  };
}

/** Waits for the account's turn: the bodies of many requests may end at the same moment. */
export function waitForTurn(turns: Pick<RequestScheduler, 'next'>): ApiMiddleware {
  return async function takeTurn(ctx, next) {
    await turns.next(ctx.state.account.id);
    await next();
  };
}

/**
 * 400 for a field that breaks a rule; leaves `state.wanted`. The plan and the key may have a shorter maximum ttl than the
 * relay.
 */
export function readCreate(limits: TtlLimits): ApiMiddleware {
  return async function readWantedTunnel(ctx, next) {
    const { account, caller } = ctx.state;
    ctx.state.wanted = readCreateTunnel(ctx.request.body, ttlLimitsOf(account.plan, limits, caller.scope));
    await next();
  };
}

/**
 * Hashes the passwords and tokens of an `access`; leaves `state.access`. Hashing is slow, so it happens before the write
 * gets a slot.
 *
 * @param read gets the `access` from the request
 */
export function hashPasswords(
  hashes: Pick<PasswordHashes, 'hash'>,
  read: (ctx: ApiContext) => Access,
): ApiMiddleware {
  return async function hashGivenPasswords(ctx, next) {
    ctx.state.access = await mapBusyError(prepareAccess(read(ctx), hashes, ctx.state.account.id));
    await next();
  };
}

/** 403 for a name outside the key's scope, or for a name or a wildcard on a plan without names. */
export function allowName(): ApiMiddleware {
  return async function requirePlanForName(ctx, next) {
    const { account, caller, wanted } = ctx.state;
    if (caller.scope.kind === 'tunnel' && caller.scope.name !== wanted.name) throw outOfScope(caller.scope);
    if (!PLAN_RULES[account.plan].customNames && (wanted.name !== '' || wanted.wildcard))
      throw new ApiError(wanted.name === '' ? API_ERRORS.planTooLowForWildcard : API_ERRORS.planTooLow);
    await next();
  };
}

/** 403 for a tunnel outside the bounds of an agent's key (protocol.md section 2.1), except for its ttl and its access. */
export function boundAgent(): ApiMiddleware {
  return async function requireBounds(ctx, next) {
    const { wanted } = ctx.state;
    const { scope } = ctx.state.caller;
    if (scope.kind === 'agent') {
      const { name, domain, wildcard, idleTtl } = wanted;
      if (name !== '' && !isAgentName(scope, name))
        throw new ApiError(withValues(API_ERRORS.agentName, { prefix: namePrefix(scope) }));
      if (domain !== '' || wildcard) throw new ApiError(API_ERRORS.agentHosts);
      if (idleTtl) throw new ApiError(API_ERRORS.agentIdle);
    }
    await next();
  };
}

/**
 * 403 for an agent's key with an access policy that does not keep strangers out.
 *
 * @param read gets the `access` from the request
 */
export function requireAccess(read: (ctx: ApiContext) => Access): ApiMiddleware {
  return async function requireAgentsAccess(ctx, next) {
    if (ctx.state.caller.scope.kind === 'agent' && !isGuarded(read(ctx)))
      throw new ApiError(API_ERRORS.agentAccess);
    await next();
  };
}

/**
 * 400 for a tunnel that people are to sign in to, at a relay without an identity provider.
 *
 * @param read gets the `access` from the request
 */
export function requireProvider(
  signIn: Pick<SignIn, 'offered'>,
  read: (ctx: ApiContext) => Access,
): ApiMiddleware {
  return async function requireSignIn(ctx, next) {
    if (signIn.offered === undefined && read(ctx).sign_in.length > 0)
      throw invalidAccess('no_provider', 'sign_in needs an identity provider, and this relay has none');
    await next();
  };
}

/**
 * 400 for an access policy of a TLS or TCP tunnel with more than `allow`.
 *
 * @param read gets the `access` from the request
 */
export function suitProtocol(tunnels: TunnelService, read: (ctx: ApiContext) => Access): ApiMiddleware {
  return async function requireSuitableAccess(ctx, next) {
    const [id = ''] = ctx.captures ?? [];
    await tunnels.coordination.followTunnel(id);
    const { protocol } = tunnels.get(ctx.state.account, id);
    if (protocol !== 'http') mustSuitRaw(read(ctx), protocol);
    await next();
  };
}

/** 403 for more tunnels than the plan allows; a tunnel that is taken over already counts. */
export function limitTunnels(tunnels: TunnelService): ApiMiddleware {
  return async function requireRoom(ctx, next) {
    const { account, caller, wanted } = ctx.state;
    await tunnels.coordination.followAccount(account);
    if (tunnels.findExisting(account, { ...wanted, caller }) === undefined)
      tunnels.assertCapacity(account, wanted.protocol);
    await next();
  };
}

/** 429 if the account has recently created too many tunnels, or the key has if the plan counts for each key. */
export function limitRate(creates: CreateLimiter): ApiMiddleware {
  return async function takeToken(ctx, next) {
    const { account, caller } = ctx.state;
    const id = PLAN_RULES[account.plan].ratePerKey ? `key:${caller.keyId}` : account.id;
    const wait = await creates.take(id);
    if (wait > 0) throw new ApiError(API_ERRORS.rateLimited, { 'Retry-After': String(wait) });
    try {
      await next();
    } catch (error) {
      // Another create has taken the plan's last slot in the meantime. A 403 does not count towards the rate limit.
      if (error instanceof ApiError && error.status === 403) await creates.giveBack(id);
      throw error;
    }
  };
}

/* Request bodies are read as JSON, whatever their Content-Type (protocol.md section 3.1). */

/**
 * Puts the parsed body into `ctx.request.body`; `{}` for an empty one.
 *
 * @returns middleware that throws ApiError 400 for anything but a JSON object or array, 413 for one that is too large
 */
export function readBody(): ApiMiddleware {
  const options = {
    detectJSON: () => true,
    jsonLimit: `${BODY_MAX_BYTES}b`,
    // Ignored, as any unknown field.
    onProtoPoisoning: 'remove',
  };
  return readBodyAs(options);
}

/** @returns middleware that throws ApiError 400 for a body that the options do not accept, 413 for one that is too large */
export function readBodyAs(options: bodyParser.Options): ApiMiddleware {
  const parse = bodyParser({ ...options, onerror: refuseBody }) as ApiMiddleware;
  return async function readAll(ctx, next) {
    // The parser would decompress it, and wait forever if it ends early.
    if (!['', 'identity'].includes(ctx.get('content-encoding'))) throw new ApiError(API_ERRORS.invalidBody);
    await parse(ctx, next);
  };
}

/**
 * Checks the key again after a slow step, because it may have been revoked while the body arrived or passwords were
 * hashed.
 *
 * @param slow the slow step
 * @param requireKey the guard that has checked the key before
 */
export function lookAgainAfter(
  slow: ApiMiddleware,
  requireKey: ApiMiddleware,
  clock: Pick<Clock, 'monotonic'>,
): ApiMiddleware {
  return async function lookAgain(ctx, next) {
    const since = clock.monotonic();
    await slow(ctx, async () => {
      if (clock.monotonic() - since < ACCESS_POLL_MS) await next();
      else await requireKey(ctx, next);
    });
  };
}

/** Refuses the empty body that {@link readBody} lets pass. */
export function requireBody(): ApiMiddleware {
  return async function refuseEmptyBody(ctx, next) {
    if (isEmpty(ctx)) throw new ApiError(API_ERRORS.invalidBody);
    await next();
  };
}

function isEmpty(ctx: ApiContext): boolean {
  return ctx.request.rawBody === '';
}

function refuseBody(error: Error): never {
  const status = 'status' in error ? error.status : undefined;
  throw new ApiError(status === 413 ? API_ERRORS.bodyTooLarge : API_ERRORS.invalidBody);
}

/* State that guards leave for later steps of the route. */

export interface ApiState {
  /** UUID, the response's `X-Request-Id` */
  requestId: string;
  /** after `authenticate()` */
  account: AccountRecord;
  /** after `authenticate()` */
  caller: Caller;
  /** after `readCreate()` */
  wanted: WantedTunnel;
  /** after `hashPasswords()`: who may visit */
  access: PreparedAccess;
}

export type ApiContext = RouterContext<ApiState>;
export type ApiMiddleware = RouterMiddleware<ApiState>;
