/** The routes of the REST interface, each a list of guards and what is done once all have let the request pass. */
import { Router } from '@koa/router';
import { type Access, readAccess } from '../../shared/access.ts';
import { type Domain, readAddDomain } from '../../shared/domains.ts';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import { isHostName } from '../../shared/host.ts';
import { readKnockAnswer } from '../../shared/knocks.ts';
import { readCreateLink } from '../../shared/links.ts';
import { readExtendTunnel } from '../../shared/tunnel-requests.ts';
import type { TtlLimits, Tunnel } from '../../shared/tunnel.ts';
import type { PasswordHashes } from '../access/password-hashes.ts';
import { ttlLimitsOf } from '../accounts/accounts.ts';
import { reachesTunnel } from '../accounts/api-keys.ts';
import type { Authenticator } from '../accounts/authenticator.ts';
import type { Invitations } from '../accounts/invitations.ts';
import { batches } from '../batches.ts';
import type { Hub } from '../clients/hub.ts';
import type { Clock, Timer } from '../clock.ts';
import type { DomainService } from '../domains/domain-service.ts';
import { LIST_BATCH, READY_TIMEOUT_MS, STORE_RETRY_AFTER_SECONDS } from '../limits.ts';
import type { CreateLimiter } from '../rate-limiter.ts';
import type { DomainRecord } from '../store/records.ts';
import { orUnavailable } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import type { Addresses, LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { TunnelApprovals } from '../tunnels/tunnel-approvals.ts';
import type { TunnelLinks } from '../tunnels/tunnel-links.ts';
import type { TunnelService } from '../tunnels/tunnel-service.ts';
import { addAdminRoutes, type AdminRoutesOptions } from './admin-routes.ts';
import {
  allowName,
  type ApiContext,
  type ApiMiddleware,
  type ApiState,
  authenticate,
  hashPasswords,
  limitRate,
  limitTunnels,
  reachTunnel,
  readCreate,
  requireDomain,
  waitForTurn,
} from './guards.ts';
import { addInviteRoutes } from './invite-routes.ts';
import { openApiDocument } from './openapi/document.ts';
import { lookAgainAfter, readBodyWith, requireBody } from './request-body.ts';
import {
  ACCOUNT,
  CHECKED_DOMAIN,
  CLOSED,
  DOMAIN,
  HEALTHY,
  KNOCK,
  READY,
  REMOVED,
  REVOKED,
  SERVED,
  viewLink,
  viewNewLink,
  viewTunnel,
} from './resources.ts';
import type { RequestScheduler, Writes } from './scheduler.ts';

export interface ApiDeps {
  readonly authenticator: Authenticator;
  readonly tunnels: TunnelService;
  readonly links: TunnelLinks;
  readonly knocks: Pick<TunnelApprovals, 'list' | 'answer'>;
  readonly domains: DomainService;
  readonly creates: CreateLimiter;
  /** knows whose client is there */
  readonly clients: Pick<Hub, 'online'>;
  readonly turns: Pick<RequestScheduler, 'next'>;
  readonly writes: Writes;
  /** makes hashes of passwords */
  readonly hashes: Pick<PasswordHashes, 'hash'>;
  readonly store: Pick<Store, 'ping'>;
  readonly ttl: TtlLimits;
  readonly addresses: Addresses;
  readonly invitations: Pick<Invitations, 'find' | 'take'>;
  /** what `/v1/admin` works with */
  readonly admin: Pick<AdminRoutesOptions, 'store' | 'nameHold' | 'own'>;
  /** address of a link for complaints */
  readonly contact: string | undefined;
  /** address of the page from which people get Culvert */
  readonly downloadPage: string | undefined;
  readonly clock: Clock;
  /** whether the relay is shutting down and takes no new work */
  readonly isDraining: () => boolean;
  /** whether a host is served here */
  readonly mayHave: (host: string) => boolean | Promise<boolean>;
}

/** @returns a router that matches its paths exactly: case, trailing slash and encoding matter */
export function createRouter(deps: ApiDeps): Router<ApiState> {
  const { authenticator, tunnels, clients, links, knocks, domains } = deps;
  const { creates, turns, writes, store, hashes } = deps;
  const { ttl, addresses, clock, isDraining, invitations, contact, downloadPage, mayHave, admin } = deps;
  const router = new Router<ApiState>({ strict: true, sensitive: true });
  const accountKey = authenticate(authenticator);
  const anyKey = authenticate(authenticator, ['all', 'tunnel', 'admin']);
  const tunnelKey = authenticate(authenticator, ['all', 'tunnel']);
  const reach = reachTunnel(tunnels);
  const json = readBodyWith(tunnelKey, clock);
  const accountJson = readBodyWith(accountKey, clock);
  const anotherTurn = waitForTurn(turns);
  /** One after `read`, with the key looked at again. */
  const hash = (read: (ctx: ApiContext) => Access): ApiMiddleware =>
    lookAgainAfter(hashPasswords(hashes, read), tunnelKey, clock);
  const document = openApiDocument(addresses.publicUrl, ttl);

  async function view(tunnel: LiveTunnel): Promise<Tunnel> {
    return viewTunnel(tunnel, addresses, await clients.online([tunnel]));
  }

  async function create(ctx: ApiContext): Promise<void> {
    const { account, access } = ctx.state;
    const wanted = { ...ctx.state.wanted, access };
    const meant = tunnels.findExisting(account, wanted);
    if (meant !== undefined && (await writes.run(account.id, () => tunnels.takeOver(meant, wanted)))) {
      ctx.body = await view(meant);
      return;
    }
    const tunnel = await writes.run(account.id, () => tunnels.create(account, wanted));
    ctx.status = 201;
    ctx.set('Location', `/v1/tunnels/${tunnel.id}`);
    ctx.body = await view(tunnel);
  }

  async function list(ctx: ApiContext): Promise<void> {
    const { account, scope } = ctx.state;
    await tunnels.coordination.followAccount(account);
    const parts: string[] = [];
    const shown = tunnels.list(account).filter(({ name }) => reachesTunnel(scope, name));
    for (const batch of batches(shown, LIST_BATCH)) {
      // A thousand of them occupy the event loop for as long as some ten requests.
      if (parts.length > 0) await turns.next(account.id);
      const online = await clients.online(batch);
      for (const tunnel of batch) parts.push(JSON.stringify(viewTunnel(tunnel, addresses, online)));
    }
    ctx.type = 'json';
    ctx.body = `{"tunnels":[${parts.join(',')}]}`;
  }

  async function get(ctx: ApiContext): Promise<void> {
    await tunnels.coordination.followTunnel(idOf(ctx));
    ctx.body = await view(tunnels.get(ctx.state.account, idOf(ctx)));
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
    ctx.body = await view(tunnel);
  }

  async function setAccess(ctx: ApiContext): Promise<void> {
    const { account, access } = ctx.state;
    const tunnel = await writes.run(account.id, () => tunnels.setAccess(account, idOf(ctx), access));
    ctx.body = await view(tunnel);
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

  /** @param claim of the account */
  async function show(claim: DomainRecord) {
    return { claim, records: await domains.recordsOf(claim) };
  }

  async function addDomain(ctx: ApiContext): Promise<void> {
    const { account } = ctx.state;
    const domain = readAddDomain(ctx.request.body);
    const claim = await domains.add(account, domain);
    ctx.status = 201;
    ctx.set('Location', `/v1/domains/${claim.id}`);
    ctx.body = DOMAIN.view(await show(claim));
  }

  async function listDomains(ctx: ApiContext): Promise<void> {
    const shown: Domain[] = [];
    for (const claim of await domains.list(ctx.state.account)) shown.push(DOMAIN.view(await show(claim)));
    ctx.body = { domains: shown };
  }

  async function getDomain(ctx: ApiContext): Promise<void> {
    ctx.body = DOMAIN.view(await show(await domains.get(ctx.state.account, idOf(ctx))));
  }

  async function verifyDomain(ctx: ApiContext): Promise<void> {
    // Not one of the account's writes: the DNS may take its time.
    const { claim, look } = await domains.verify(ctx.state.account, idOf(ctx));
    ctx.body = CHECKED_DOMAIN.view({ ...(await show(claim)), look });
  }

  async function removeDomain(ctx: ApiContext): Promise<void> {
    const { account } = ctx.state;
    await writes.run(account.id, () => domains.remove(account, idOf(ctx)));
    ctx.body = REMOVED.body;
  }

  function describe(ctx: ApiContext): void {
    ctx.body = document;
  }

  function showAccount(ctx: ApiContext): void {
    ctx.body = ACCOUNT.view({ account: ctx.state.account, ttl });
  }

  /** For proxies that order certificates on demand: nobody else is to find out so cheaply which names there are. */
  async function ask(ctx: ApiContext): Promise<void> {
    // The edge adds it for everybody but this machine and trusted proxies.
    if (ctx.req.headers['x-forwarded-for'] !== undefined) throw new ApiError(API_ERRORS.notFound);
    const { domain } = ctx.query;
    if (typeof domain !== 'string' || !isHostName(domain)) throw new ApiError(API_ERRORS.notFound);
    if (!(await orUnavailable(Promise.resolve(mayHave(domain))))) throw new ApiError(API_ERRORS.notFound);
    ctx.body = SERVED.body;
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
    tunnelKey,
    json,
    anotherTurn,
    requireBody(),
    readCreate(ttl),
    allowName(),
    limitTunnels(tunnels),
    limitRate(creates),
    requireDomain(domains),
    hash((ctx) => ctx.state.wanted.access),
    create,
  );
  router.get('/v1/tunnels', tunnelKey, list);
  router.get('/v1/tunnels/:id', tunnelKey, reach, get);
  router.delete('/v1/tunnels/:id', tunnelKey, reach, close);
  router.put('/v1/tunnels/:id/extend', tunnelKey, reach, json, anotherTurn, extend);
  router.put(
    '/v1/tunnels/:id/access',
    tunnelKey,
    reach,
    json,
    anotherTurn,
    requireBody(),
    hash((ctx) => readAccess(ctx.request.body)),
    setAccess,
  );
  router.post('/v1/tunnels/:id/links', tunnelKey, reach, json, anotherTurn, createLink);
  router.get('/v1/tunnels/:id/links', tunnelKey, reach, listLinks);
  router.delete('/v1/tunnels/:id/links/:link_id', tunnelKey, reach, revokeLink);
  router.get('/v1/tunnels/:id/knocks', tunnelKey, reach, listKnocks);
  router.put(
    '/v1/tunnels/:id/knocks/:knock_id',
    tunnelKey,
    reach,
    json,
    anotherTurn,
    requireBody(),
    answerKnock,
  );
  router.post('/v1/domains', accountKey, accountJson, anotherTurn, requireBody(), addDomain);
  router.get('/v1/domains', accountKey, listDomains);
  router.get('/v1/domains/:id', accountKey, getDomain);
  router.post('/v1/domains/:id/verify', accountKey, verifyDomain);
  router.delete('/v1/domains/:id', accountKey, removeDomain);
  router.get('/v1/account', anyKey, showAccount);
  addAdminRoutes(router, { ...admin, authenticator, clock, publicUrl: addresses.publicUrl });
  addInviteRoutes(router, { invitations, publicUrl: addresses.publicUrl, contact, downloadPage });
  router.get('/v1/ask', ask);
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
