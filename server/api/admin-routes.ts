/** Routes of `/v1/admin`, for keys that were made to administer (docs/protocol.md section 14). */
import type { Router } from '@koa/router';
import { API_ERRORS, ApiError, invalidAdminRequest, noSuch, taken } from '../../shared/errors.ts';
import { type Plan, PLANS } from '../../shared/tunnel.ts';
import type { Authenticator } from '../accounts/authenticator.ts';
import * as rules from '../administration/admin-actions.ts';
import {
  ACCOUNT_NAME_RULE,
  Administration,
  INVITE_DEFAULT_TTL_SECONDS,
  isAccountName,
  isReserved,
  isSubdomain,
  NotThereError,
  type OwnNames,
  SUBDOMAIN_RULE,
} from '../administration/admin-actions.ts';
import {
  viewAccount,
  viewAct,
  viewInvitation,
  viewKey,
  viewNewInvitation,
  viewResumed,
  viewSuspendedName,
  viewTunnel,
} from '../administration/views.ts';
import type { Clock } from '../clock.ts';
import {
  AUDIT_MAX,
  INVITE_TTL_CEILING_SECONDS,
  INVITES_AT_ONCE_MAX,
  KEY_TTL_CEILING_SECONDS,
} from '../limits.ts';
import type { KeyScope } from '../store/records.ts';
import { ConflictError, FullError, orUnavailable } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { administrate, type ApiContext, type ApiState } from './guards.ts';
import { readBodyWith } from './request-body.ts';

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

/* What each administrative call does, and what it responds with (docs/protocol.md section 14). */

/** What is asked for. */
export interface Asked {
  /** the body; `{}` without one */
  readonly fields: Fields;
  /** parameters of the query */
  readonly query: Fields;
  /** the id in the path, as it was sent */
  readonly id: string;
}

/**
 * One administrative act.
 *
 * @param by who acts
 * @returns the body of the response
 * @throws ApiError 400, NotThereError, ConflictError, StoreError
 */
export type Act = (by: Administration, asked: Asked) => Promise<object>;

export interface ActsOptions {
  readonly store: Pick<Store, 'findAccounts'>;
  readonly own: OwnNames;
  /** the relay's own address */
  readonly publicUrl: URL;
}

/** @returns the acts by name */
export function adminActs({ store, own, publicUrl }: ActsOptions) {
  /** The account with an id, by the name that everything else goes by. */
  async function nameOf(id: string): Promise<string> {
    const [account] = await store.findAccounts([id]);
    if (account === undefined) throw new NotThereError('account', id);
    return account.name;
  }

  return {
    listAccounts: async (by) => ({ accounts: (await by.listAccounts()).map(viewAccount) }),
    getAccount: async (by, { id }) => viewAccount(await by.account(await nameOf(id))),
    createAccount: async (by, { fields }) => {
      const names = [readName(fields, 'name')];
      const plan = readNewPlan(fields);
      const subdomain = readSubdomain({ subdomain: fields['subdomain'] ?? null }, own);
      const withKeys = readSwitch(fields, 'with_key');
      const [made] = await by.createAccounts({ names, plan, subdomain, withKeys });
      if (made === undefined) throw new Error('no account was made');
      const view = viewAccount(made.account);
      return made.key === undefined ? view : { ...view, key: made.key };
    },
    setPlan: async (by, { fields, id }) => {
      const plan = readPlan(fields);
      return viewAccount(await by.setPlan(await nameOf(id), plan));
    },
    setSubdomain: async (by, { fields, id }) => {
      const subdomain = readSubdomain(fields, own);
      return viewAccount(await by.setSubdomain(await nameOf(id), subdomain));
    },
    suspendAccount: async (by, { fields, id }) => {
      const reason = readReason(fields);
      return viewAccount(await by.suspendAccount(await nameOf(id), reason));
    },
    removeAccount: async (by, { id }) => viewAccount(await by.removeAccount(await nameOf(id))),
    createKey: async (by, { fields, id }) => {
      const wanted = {
        label: readLabel(fields),
        ttl: readTtl(fields, 'expires', KEY_TTL_CEILING_SECONDS),
        scope: readScope(fields),
      };
      const { key, record, account } = await by.createKey(await nameOf(id), wanted);
      return { ...viewKey({ ...record, account: account.name, lastUsedAt: null }), key };
    },
    listKeys: async (by, { query }) => {
      const keys = await by.listKeys(readAccountFilter(query));
      return { keys: keys.map(viewKey) };
    },
    revokeKey: async (by, { id }) => viewKey(await by.revokeKey(id)),
    listTunnels: async (by, { query }) => {
      const account = readAccountFilter(query);
      const tunnels = await by.listTunnels(account);
      const names = await by.listSuspendedNames(account);
      return { tunnels: tunnels.map(viewTunnel), suspended_names: names.map(viewSuspendedName) };
    },
    closeTunnel: async (by, { id }) => viewTunnel(await by.closeTunnel(id)),
    suspendTunnel: async (by, { fields, id }) => {
      const reason = readReason(fields);
      return reason === null
        ? viewResumed(await by.resumeTunnel(id))
        : viewTunnel(await by.suspendTunnel(id, reason));
    },
    invite: async (by, { fields }) => {
      const account = readName(fields, 'account');
      const made = await by.invite(account, {
        plan: readNewPlan(fields),
        ttl: readTtl(fields, 'ttl', INVITE_TTL_CEILING_SECONDS) ?? INVITE_DEFAULT_TTL_SECONDS,
        count: readCount(fields, INVITES_AT_ONCE_MAX),
      });
      return { invites: made.map((invitation) => viewNewInvitation(invitation, account, publicUrl.origin)) };
    },
    listInvites: async (by) => ({ invites: (await by.listInvitations()).map(viewInvitation) }),
    revokeInvite: async (by, { id }) => {
      await by.revokeInvitation(id);
      return { id, status: 'revoked' };
    },
    audit: async (by, { query }) => {
      const acts = await by.audit(readListCount(query, AUDIT_MAX));
      return { acts: acts.map(viewAct) };
    },
  } satisfies Record<string, Act>;
}

/* What administrative requests say (docs/protocol.md section 14). Each reader throws ApiError 400 for what breaks its rule. */

export type Fields = Readonly<Record<string, unknown>>;

export function readFields(body: unknown): Fields {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError(API_ERRORS.invalidBody);
  return body as Fields;
}

/** @param field has the name of an account */
export function readName(fields: Fields, field: string): string {
  const name = fields[field];
  return isAccountName(name) ? name : refuse(field, ACCOUNT_NAME_RULE);
}

export function readPlan({ plan }: Fields): Plan {
  return PLANS.find((known) => known === plan) ?? refuse('plan', `one of ${PLANS.join(', ')}`);
}

/** The plan of an account that is made, which has a default. */
export function readNewPlan({ plan }: Fields): Plan {
  return readPlan({ plan: plan ?? 'dev' });
}

/** `null` takes it away. It has to be given: an empty body is a mistake, and no wish to take something away. */
export function readSubdomain({ subdomain }: Fields, own: OwnNames): string | null {
  if (subdomain === null) return null;
  if (isSubdomain(subdomain) && !isReserved(subdomain, own)) return subdomain;
  return refuse('subdomain', `${SUBDOMAIN_RULE}, and not reserved; or null`);
}

/** `null` takes a suspension back. It has to be given, as above. */
export function readReason({ reason }: Fields): string | null {
  if (reason === null) return null;
  return rules.readReason(reason) ?? refuse('reason', `${rules.REASON_RULE}; or null`);
}

export function readLabel({ label }: Fields): string {
  if (label === undefined || label === null) return '';
  return rules.isLabel(label) ? label : refuse('label', rules.LABEL_RULE);
}

/** What a new key is for: everything of its account, or the tunnel of one name. */
export function readScope({ name }: Fields): KeyScope {
  if (name === undefined || name === null) return { kind: 'all' };
  return rules.isScopeName(name) ? { kind: 'tunnel', name } : refuse('name', rules.SCOPE_NAME_RULE);
}

/** @returns seconds */
export function readTtl(fields: Fields, field: string, max: number): number | undefined {
  const given = fields[field];
  if (given === undefined || given === null) return undefined;
  return rules.readTtl(given, max) ?? refuse(field, rules.ttlRule(max));
}

export function readCount(fields: Fields, max: number): number {
  const count = fields['count'] ?? 1;
  if (typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= max) return count;
  return refuse('count', countRule(max));
}

export function readSwitch(fields: Fields, field: string): boolean {
  const given = fields[field] ?? false;
  return typeof given === 'boolean' ? given : refuse(field, 'true or false');
}

/** The account whose keys or tunnels are wanted; those of all without it. */
export function readAccountFilter({ account }: Fields): string | undefined {
  return account === undefined ? undefined : readName({ account }, 'account');
}

/** How many of a list are wanted. */
export function readListCount({ count }: Fields, max: number): number {
  if (count === undefined) return max;
  const isNumber = typeof count === 'string' && /^\d{1,6}$/.test(count);
  return isNumber ? readCount({ count: Number(count) }, max) : refuse('count', countRule(max));
}

function countRule(max: number): string {
  return `a whole number from 1 to ${max}`;
}

function refuse(field: string, rule: string): never {
  throw new ApiError(invalidAdminRequest(field, rule));
}
