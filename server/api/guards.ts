/** Guards of routes: each lets a request pass or throws the ApiError that refuses it. */
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import type { TtlLimits } from '../../shared/tunnel.ts';
import { readCreateTunnel } from '../../shared/tunnel-requests.ts';
import type { Authenticator } from '../accounts/authenticator.ts';
import { PLAN_RULES, ttlLimitsOf } from '../accounts/plans.ts';
import type { CreateLimiter } from '../rate-limiter.ts';
import type { TunnelService } from '../tunnels/tunnel-service.ts';
import type { ApiMiddleware } from './state.ts';
import type { Turns } from './turns/turns.ts';

/** 401 unless the request carries a key; leaves `state.account`. */
export function authenticate(authenticator: Authenticator): ApiMiddleware {
  return async function requireKey(ctx, next) {
    // The edge makes sure that the latter is where the request comes from.
    const { authorization, 'x-forwarded-for': address } = ctx.req.headers;
    ({ account: ctx.state.account } = await authenticator.authenticate(authorization, address?.toString()));
    await next();
  };
}

/** Lets a request continue in its account's turn: many bodies that were held back may all end at once. */
export function waitForTurn(turns: Pick<Turns, 'next'>): ApiMiddleware {
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

/** 403 for a name on a plan that does not allow names. */
export function allowName(): ApiMiddleware {
  return async function requirePlanForName(ctx, next) {
    const { account, wanted } = ctx.state;
    if (wanted.name !== '' && !PLAN_RULES[account.plan].customNames)
      throw new ApiError(API_ERRORS.planTooLow);
    await next();
  };
}

/** 403 for more tunnels at a time than the plan allows. */
export function limitTunnels(tunnels: TunnelService): ApiMiddleware {
  return async function requireRoom(ctx, next) {
    await tunnels.coordination.followAccount(ctx.state.account);
    tunnels.mustHaveRoom(ctx.state.account);
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
