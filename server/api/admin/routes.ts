/** Routes of `/v1/admin`, for keys that were made to administer (docs/protocol.md section 14). */
import type { Router } from '@koa/router';
import { API_ERRORS, ApiError, noSuch, taken } from '../../../shared/errors.ts';
import type { Authenticator } from '../../accounts/authenticator.ts';
import { Administration, NotThereError } from '../../administration/administration.ts';
import type { Clock } from '../../clock.ts';
import { ConflictError, FullError, orUnavailable } from '../../store/store-errors.ts';
import type { Store } from '../../store/store.ts';
import { administrate } from '../guards.ts';
import { readBodyWith } from '../request-body.ts';
import type { ApiContext, ApiState } from '../state.ts';
import { type Act, type ActsOptions, adminActs } from './acts.ts';
import { readFields } from './requests.ts';

export interface AdminRoutesOptions extends ActsOptions {
  readonly authenticator: Authenticator;
  readonly store: Store;
  readonly clock: Clock;
  /** seconds */
  readonly nameHold: number;
}

export function addAdminRoutes(router: Router<ApiState>, options: AdminRoutesOptions): void {
  const { authenticator, store, clock, nameHold } = options;
  const administrator = administrate(authenticator);
  const json = readBodyWith(administrator, clock);
  const acts = adminActs(options);

  function respond(act: Act, status = 200) {
    return async function administer(ctx: ApiContext): Promise<void> {
      const by = new Administration({
        store,
        clock,
        nameHold,
        by: { actor: `key:${ctx.state.keyId}`, accountId: ctx.state.account.id },
      });
      const fields = ctx.request.body === undefined ? {} : readFields(ctx.request.body);
      ctx.body = await orRefused(act(by, { fields, query: ctx.query, id: ctx.captures?.[0] ?? '' }), clock);
      ctx.status = status;
      ctx.set('Cache-Control', 'no-store');
    };
  }

  function get(path: string, act: Act): void {
    router.get(path, administrator, respond(act));
  }
  function post(path: string, act: Act): void {
    router.post(path, administrator, json, respond(act, 201));
  }
  function put(path: string, act: Act): void {
    router.put(path, administrator, json, respond(act));
  }
  function remove(path: string, act: Act): void {
    router.delete(path, administrator, respond(act));
  }

  get('/v1/admin/accounts', acts.listAccounts);
  post('/v1/admin/accounts', acts.createAccount);
  get('/v1/admin/accounts/:id', acts.getAccount);
  remove('/v1/admin/accounts/:id', acts.removeAccount);
  put('/v1/admin/accounts/:id/plan', acts.setPlan);
  put('/v1/admin/accounts/:id/subdomain', acts.setSubdomain);
  put('/v1/admin/accounts/:id/suspension', acts.suspendAccount);
  post('/v1/admin/accounts/:id/keys', acts.createKey);
  get('/v1/admin/keys', acts.listKeys);
  remove('/v1/admin/keys/:id', acts.revokeKey);
  get('/v1/admin/tunnels', acts.listTunnels);
  remove('/v1/admin/tunnels/:id', acts.closeTunnel);
  put('/v1/admin/tunnels/:id/suspension', acts.suspendTunnel);
  get('/v1/admin/invites', acts.listInvites);
  post('/v1/admin/invites', acts.invite);
  remove('/v1/admin/invites/:id', acts.revokeInvite);
  get('/v1/admin/audit', acts.audit);
}

/** @throws ApiError 404, 409, 429, 503 */
async function orRefused<T>(act: Promise<T>, clock: Pick<Clock, 'now'>): Promise<T> {
  try {
    return await orUnavailable(act);
  } catch (error) {
    if (error instanceof NotThereError) throw new ApiError(noSuch(error.kind, error.subject));
    if (error instanceof ConflictError) throw new ApiError(taken(error.field));
    if (error instanceof FullError) {
      const seconds = Math.max(1, Math.ceil((error.nextEnd - clock.now()) / 1000));
      throw new ApiError(API_ERRORS.rateLimited, { 'Retry-After': String(seconds) });
    }
    throw error;
  }
}
