/** The routes of the REST interface, each a list of guards and what is done once all have let the request pass. */
import { Router } from '@koa/router';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import type { TtlLimits } from '../../shared/tunnel.ts';
import { readAccess } from '../../shared/access-requests.ts';
import { readKnockAnswer } from '../../shared/knocks.ts';
import { readCreateLink } from '../../shared/link-requests.ts';
import { readExtendTunnel } from '../../shared/tunnel-requests.ts';
import type { Authenticator } from '../accounts/authenticator.ts';
import { ttlLimitsOf } from '../accounts/plans.ts';
import type { Clock, Timer } from '../clock.ts';
import { LIST_BATCH, READY_TIMEOUT_MS, STORE_RETRY_AFTER_SECONDS } from '../limits.ts';
import { orUnavailable, type Store } from '../store/store.ts';
import { batches } from '../batches.ts';
import type { CreateLimiter } from '../rate-limiter.ts';
import type { TunnelKnocks } from '../tunnels/tunnel-knocks.ts';
import type { TunnelLinks } from '../tunnels/tunnel-links.ts';
import type { TunnelService } from '../tunnels/tunnel-service.ts';
import type { Addresses } from '../tunnels/urls.ts';
import { allowName, authenticate, limitRate, limitTunnels, readCreate, waitForTurn } from './guards.ts';
import { openApiDocument } from './openapi/document.ts';
import { readBody, requireBody } from './request-body.ts';
import { ACCOUNT } from './resources/account.ts';
import { KNOCK } from './resources/knock.ts';
import { viewLink, viewNewLink } from './resources/link.ts';
import { CLOSED, HEALTHY, READY, REVOKED } from './resources/status.ts';
import { viewTunnel } from './resources/tunnel.ts';
import type { ApiContext, ApiState } from './state.ts';
import type { Turns } from './turns/turns.ts';
import type { Writes } from './turns/writes.ts';

export interface ApiDeps {
  readonly authenticator: Authenticator;
  readonly tunnels: TunnelService;
  readonly links: TunnelLinks;
  readonly knocks: Pick<TunnelKnocks, 'list' | 'answer'>;
  readonly creates: CreateLimiter;
  readonly turns: Pick<Turns, 'next'>;
  readonly writes: Writes;
  readonly store: Pick<Store, 'ping'>;
  readonly ttl: TtlLimits;
  readonly addresses: Addresses;
  readonly clock: Clock;
  /** whether the relay is shutting down and takes no new work */
  readonly isDraining: () => boolean;
}

/** @returns a router that matches its paths exactly: case, trailing slash and encoding matter */
export function createRouter(deps: ApiDeps): Router<ApiState> {
  const { authenticator, tunnels, links, knocks, creates, turns, writes, store } = deps;
  const { ttl, addresses, clock, isDraining } = deps;
  const router = new Router<ApiState>({ strict: true, sensitive: true });
  const requireKey = authenticate(authenticator);
  const json = readBody();
  const anotherTurn = waitForTurn(turns);
  const document = openApiDocument(addresses.publicUrl, ttl);

  async function create(ctx: ApiContext): Promise<void> {
    const { account, wanted } = ctx.state;
    const tunnel = await writes.run(account.id, () => tunnels.create(account, wanted));
    ctx.status = 201;
    ctx.set('Location', `/v1/tunnels/${tunnel.id}`);
    ctx.body = viewTunnel(tunnel, addresses);
  }

  async function list(ctx: ApiContext): Promise<void> {
    const { account } = ctx.state;
    await tunnels.coordination.followAccount(account);
    const parts: string[] = [];
    for (const batch of batches(tunnels.list(account), LIST_BATCH)) {
      // A thousand of them occupy the event loop for as long as some ten requests.
      if (parts.length > 0) await turns.next(account.id);
      for (const tunnel of batch) parts.push(JSON.stringify(viewTunnel(tunnel, addresses)));
    }
    ctx.type = 'json';
    ctx.body = `{"tunnels":[${parts.join(',')}]}`;
  }

  async function get(ctx: ApiContext): Promise<void> {
    await tunnels.coordination.followTunnel(idOf(ctx));
    ctx.body = viewTunnel(tunnels.get(ctx.state.account, idOf(ctx)), addresses);
  }

  async function close(ctx: ApiContext): Promise<void> {
    const { account } = ctx.state;
    await writes.run(account.id, () => tunnels.close(account, idOf(ctx)));
    ctx.body = CLOSED.body;
  }

  async function extend(ctx: ApiContext): Promise<void> {
    const { account } = ctx.state;
    const by = readExtendTunnel(ctx.request.body, ttlLimitsOf(account.plan, ttl));
    const tunnel = await writes.run(account.id, () => tunnels.extend(account, idOf(ctx), by));
    ctx.body = viewTunnel(tunnel, addresses);
  }

  async function setAccess(ctx: ApiContext): Promise<void> {
    const { account } = ctx.state;
    const access = readAccess(ctx.request.body);
    const tunnel = await writes.run(account.id, () => tunnels.setAccess(account, idOf(ctx), access));
    ctx.body = viewTunnel(tunnel, addresses);
  }

  async function createLink(ctx: ApiContext): Promise<void> {
    const { account } = ctx.state;
    const wanted = readCreateLink(ctx.request.body);
    const made = await writes.run(account.id, () => links.create(account, idOf(ctx), wanted));
    ctx.status = 201;
    ctx.body = viewNewLink(made, addresses);
  }

  async function listLinks(ctx: ApiContext): Promise<void> {
    const found = await links.list(ctx.state.account, idOf(ctx));
    ctx.body = { links: found.map(viewLink) };
  }

  async function revokeLink(ctx: ApiContext): Promise<void> {
    const { account } = ctx.state;
    await writes.run(account.id, () => links.revoke(account, idOf(ctx), partOf(ctx)));
    ctx.body = REVOKED.body;
  }

  async function listKnocks(ctx: ApiContext): Promise<void> {
    const found = await knocks.list(ctx.state.account, idOf(ctx));
    ctx.body = { knocks: found.map((knock) => KNOCK.view(knock)) };
  }

  async function answerKnock(ctx: ApiContext): Promise<void> {
    const { account } = ctx.state;
    const answer = readKnockAnswer(ctx.request.body);
    const knock = await writes.run(account.id, () => knocks.answer(account, idOf(ctx), partOf(ctx), answer));
    ctx.body = KNOCK.view(knock);
  }

  function describe(ctx: ApiContext): void {
    ctx.body = document;
  }

  function showAccount(ctx: ApiContext): void {
    ctx.body = ACCOUNT.view({ account: ctx.state.account, ttl });
  }

  async function readiness(ctx: ApiContext): Promise<void> {
    if (isDraining()) throw notReady();
    let timer: Timer | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = clock.setTimeout(() => reject(notReady()), READY_TIMEOUT_MS);
    });
    try {
      await Promise.race([orUnavailable(store.ping()), late]);
    } finally {
      timer?.cancel();
    }
    ctx.body = READY.body;
  }

  router.post(
    '/v1/tunnels',
    requireKey,
    json,
    anotherTurn,
    requireBody(),
    readCreate(ttl),
    allowName(),
    limitTunnels(tunnels),
    limitRate(creates),
    create,
  );
  router.get('/v1/tunnels', requireKey, list);
  router.get('/v1/tunnels/:id', requireKey, get);
  router.delete('/v1/tunnels/:id', requireKey, close);
  router.put('/v1/tunnels/:id/extend', requireKey, json, anotherTurn, extend);
  router.put('/v1/tunnels/:id/access', requireKey, json, anotherTurn, requireBody(), setAccess);
  router.post('/v1/tunnels/:id/links', requireKey, json, anotherTurn, createLink);
  router.get('/v1/tunnels/:id/links', requireKey, listLinks);
  router.delete('/v1/tunnels/:id/links/:link_id', requireKey, revokeLink);
  router.get('/v1/tunnels/:id/knocks', requireKey, listKnocks);
  router.put('/v1/tunnels/:id/knocks/:knock_id', requireKey, json, anotherTurn, requireBody(), answerKnock);
  router.get('/v1/account', requireKey, showAccount);
  router.get('/v1/openapi.json', describe);
  router.get('/healthz', health);
  router.get('/readyz', readiness);
  router.get('/ws/control', requireUpgrade);
  router.get('/ws/data', requireUpgrade);
  router.get('/ws/trunk', requireUpgrade);
  return router;
}

function notReady(): ApiError {
  return new ApiError(API_ERRORS.unavailable, { 'Retry-After': String(STORE_RETRY_AFTER_SECONDS) });
}

function health(ctx: ApiContext): void {
  ctx.body = HEALTHY.body;
}

/** Real upgrades never get here (docs/protocol.md section 5.4); `Upgrade` says what is missing (RFC 9110 section 15.5.22). */
function requireUpgrade(): never {
  throw new ApiError(API_ERRORS.upgradeRequired, { Upgrade: 'websocket', Connection: 'Upgrade' });
}

/** The id as it was sent: `ctx.params` would decode it, and a percent-encoded letter is another path. */
function idOf(ctx: ApiContext): string {
  return ctx.captures?.[0] ?? '';
}

/** The id of what belongs to the tunnel, in the same way. */
function partOf(ctx: ApiContext): string {
  return ctx.captures?.[1] ?? '';
}
