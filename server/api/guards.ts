/** Guards of routes: each lets a request pass or throws the ApiError that refuses it. */
import type { RouterContext, RouterMiddleware } from '@koa/router';
import type { Access } from '../../shared/access.ts';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import { readCreateTunnel } from '../../shared/tunnel-requests.ts';
import type { TtlLimits, WantedTunnel } from '../../shared/tunnel.ts';
import { storedAccess } from '../access/access-policy.ts';
import { mapBusyError, type PasswordHashes } from '../access/password-hashes.ts';
import { PLAN_RULES, ttlLimitsOf } from '../accounts/accounts.ts';
import { mustReach, outOfScope, reachesTunnel } from '../accounts/api-keys.ts';
import type { Authenticator } from '../accounts/authenticator.ts';
import type { DomainService } from '../domains/domain-service.ts';
import type { CreateLimiter } from '../rate-limiter.ts';
import type { AccountRecord, KeyScope, StoredAccess } from '../store/records.ts';
import type { TunnelService } from '../tunnels/tunnel-service.ts';
import type { RequestScheduler } from './scheduler.ts';

/**
 * 401 unless the request carries a key, 403 if that is for something else; leaves `state.account` and `state.scope`.
 *
 * @param kinds scopes of keys that may be used; only those for everything of an account unless given
 */
export function authenticate(
  authenticator: Authenticator,
  kinds: readonly KeyScope['kind'][] = ['all'],
): ApiMiddleware {
  return async function requireKey(ctx, next) {
    // The edge makes sure that the latter is where the request comes from.
    const { authorization, 'x-forwarded-for': address } = ctx.req.headers;
    const owner = await authenticator.authenticate(authorization, address?.toString());
    const { account, keyId, scope } = owner;
    if (!kinds.includes(scope.kind)) throw outOfScope(scope);
    Object.assign(ctx.state, { account, keyId, scope });
    await next();
  };
}

/** 404 for every key but one for administration: for all others there is no such path. */
export function administrate(authenticator: Authenticator): ApiMiddleware {
  const anyKey = authenticate(authenticator, ['all', 'tunnel', 'admin']);
  return async function requireAdministrator(ctx, next) {
    await anyKey(ctx, () => {
      if (ctx.state.scope.kind !== 'admin') throw new ApiError(API_ERRORS.notFound);
      return next();
    });
  };
}

/** 404 for a tunnel that the key is not for: one for a single tunnel knows of no other. */
export function reachTunnel(tunnels: TunnelService): ApiMiddleware {
  return async function requireReach(ctx, next) {
    const { account, scope } = ctx.state;
    if (scope.kind === 'tunnel') {
      const [id = ''] = ctx.captures ?? [];
      await tunnels.coordination.followTunnel(id);
      mustReach(scope, tunnels.get(account, id).name);
    }
    await next();
  };
}

/** Lets a request continue in its account's turn: many bodies that were held back may all end at once. */
export function waitForTurn(turns: Pick<RequestScheduler, 'next'>): ApiMiddleware {
  return async function takeTurn(ctx, next) {
    await turns.next(ctx.state.account.id);
    await next();
  };
}

/**
 * 400 for a field that breaks a rule; leaves `state.wanted`. The longest ttl is that of the plan, which may be shorter than
 * the relay's.
 */
export function readCreate(limits: TtlLimits): ApiMiddleware {
  return async function readWantedTunnel(ctx, next) {
    ctx.state.wanted = readCreateTunnel(ctx.request.body, ttlLimitsOf(ctx.state.account.plan, limits));
    await next();
  };
}

/**
 * Hashes the passwords of an `access`; leaves `state.access`. Runs before a write takes its place, because hashing is slow.
 *
 * @param read what of the request it is
 */
export function hashPasswords(
  hashes: Pick<PasswordHashes, 'hash'>,
  read: (ctx: ApiContext) => Access,
): ApiMiddleware {
  return async function hashGivenPasswords(ctx, next) {
    ctx.state.access = await mapBusyError(storedAccess(read(ctx), hashes, ctx.state.account.id));
    await next();
  };
}

/** 403 for a name that the key is not for, or on a plan that does not allow names. */
export function allowName(): ApiMiddleware {
  return async function requirePlanForName(ctx, next) {
    const { account, scope, wanted } = ctx.state;
    if (!reachesTunnel(scope, wanted.name)) throw outOfScope(scope);
    if (wanted.name !== '' && !PLAN_RULES[account.plan].customNames)
      throw new ApiError(API_ERRORS.planTooLow);
    await next();
  };
}

/** 404 or 409 for a domain that a tunnel of the account cannot have. */
export function requireDomain(domains: Pick<DomainService, 'mustBeVerified'>): ApiMiddleware {
  return async function requireVerifiedDomain(ctx, next) {
    const { account, wanted } = ctx.state;
    if (wanted.domain !== '') await domains.mustBeVerified(account, wanted.domain);
    await next();
  };
}

/** 403 for more tunnels at a time than the plan allows; one that is taken over has its place. */
export function limitTunnels(tunnels: TunnelService): ApiMiddleware {
  return async function requireRoom(ctx, next) {
    const { account, wanted } = ctx.state;
    await tunnels.coordination.followAccount(account);
    if (tunnels.findExisting(account, wanted) === undefined) tunnels.assertCapacity(account);
    await next();
  };
}

/** 429 if the account has created too many tunnels lately. */
export function limitRate(creates: CreateLimiter): ApiMiddleware {
  return async function takeToken(ctx, next) {
    const { id } = ctx.state.account;
    const wait = await creates.take(id);
    if (wait > 0) throw new ApiError(API_ERRORS.rateLimited, { 'Retry-After': String(wait) });
    try {
      await next();
    } catch (error) {
      // Another create has taken the plan's last place meanwhile. A 403 comes before the rate limit and costs nothing.
      if (error instanceof ApiError && error.status === 403) await creates.giveBack(id);
      throw error;
    }
  };
}

/* What the guards of a route leave for those after them. */

export interface ApiState {
  /** UUID, the response's `X-Request-Id` */
  requestId: string;
  /** after `authenticate()` */
  account: AccountRecord;
  /** the same: id of its key */
  keyId: string;
  /** the same: what its key may be used for */
  scope: KeyScope;
  /** after `readCreate()` */
  wanted: WantedTunnel;
  /** after `hashPasswords()`: who may come in; `null` for everybody */
  access: StoredAccess | null;
}

export type ApiContext = RouterContext<ApiState>;
export type ApiMiddleware = RouterMiddleware<ApiState>;
