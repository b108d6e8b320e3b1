/** Routes of `/v1/admin`, for keys for administration (protocol.md section 14): the rows of admin actions that have one. */
import { API_ERRORS, ApiError, withValues } from '../../shared/errors.ts';
import { orRateLimited } from '../accounts/team.ts';
import { ACCOUNT_ACTIONS } from '../administration/account-actions.ts';
import type { AdminAction, Method } from '../administration/action.ts';
import { Administration, NotThereError } from '../administration/administration.ts';
import { Given, type OwnNames } from '../administration/given.ts';
import { INVITE_ACTIONS, KEY_ACTIONS } from '../administration/key-actions.ts';
import { RELAY_ACTIONS, TUNNEL_ACTIONS } from '../administration/tunnel-actions.ts';
import type { Clock } from '../clock.ts';
import { ConflictError, orUnavailable } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import type { ApiContext } from './guards.ts';
import { type ApiDeps, type ErrorName, idOf, partsOf, type Route } from './route.ts';

const ROWS = [ACCOUNT_ACTIONS, KEY_ACTIONS, TUNNEL_ACTIONS, INVITE_ACTIONS, RELAY_ACTIONS];

/** What each method returns, and the errors that all its calls have. */
const METHODS: Readonly<Record<Method, readonly [number, string, ...ErrorName[]]>> = {
  get: [200, 'The list.'],
  post: [201, 'What was created.', 'invalidAdminRequest', 'rateLimited'],
  put: [200, 'The changed object.', 'invalidAdminRequest', 'rateLimited', 'noSuch'],
  delete: [200, 'The deleted object.', 'noSuch', 'rateLimited'],
};

export function adminRoutes(deps: ApiDeps): Route[] {
  return ROWS.flatMap((rows) => Object.values(rows)).flatMap((row) => routeOf(row, deps) ?? []);
}

function routeOf(row: AdminAction, { admin, clock, addresses }: ApiDeps): Route | undefined {
  if (row.route === undefined) return undefined;
  const [call, id, shows, { summary = row.summary, query, takes, errors = [] } = {}] = row.route;
  const [method, path] = partsOf(call);
  const [status, description, ...implied] = METHODS[method];
  return {
    call: `${method} /v1/admin${path}`,
    id,
    tag: 'Administration',
    summary,
    ...(query !== undefined && { query }),
    caller: 'administrator',
    ...(takes !== undefined && { body: { schema: takes, required: true } }),
    results: { [status]: [description, shows] },
    errors: [...implied, ...errors],
    async handle(ctx: ApiContext): Promise<object> {
      const { store, nameHold, own } = admin;
      const by = { actor: `key:${ctx.state.caller.keyId}`, accountId: ctx.state.account.id };
      const request = new GivenRequest(ctx, own);
      const act = 'act' in row ? row.act : row.read(request);
      const isAccount = row.about === 'name' || row.about === 'account';
      const outcome = await orRefused(
        (async () =>
          await act({
            admin: new Administration({ store, clock, nameHold, by }),
            subject: isAccount ? await nameOf(store, idOf(ctx)) : idOf(ctx),
            origin: () => Promise.resolve(addresses.publicUrl.origin),
          }))(),
        clock,
      );
      ctx.set('Cache-Control', 'no-store');
      return outcome.json;
    },
  };
}

/** The name of the account with an id: actions use names. */
async function nameOf(store: Store, id: string): Promise<string> {
  const [account] = await store.findAccounts([id]);
  if (account === undefined) throw new NotThereError('account', id);
  return account.name;
}

/** The fields of a body, or the parameters of the query. Refuses values with ApiError 400. */
class GivenRequest extends Given {
  readonly command = undefined;
  readonly own: OwnNames;
  protected readonly isText: boolean;
  readonly #fields: Readonly<Record<string, unknown>>;

  constructor(ctx: ApiContext, own: OwnNames) {
    super();
    const { body } = ctx.request;
    if (body !== undefined && (typeof body !== 'object' || body === null || Array.isArray(body)))
      throw new ApiError(API_ERRORS.invalidBody);
    this.own = own;
    this.isText = body === undefined;
    this.#fields = body === undefined ? ctx.query : { ...body };
  }

  protected value(field: string): unknown {
    return this.#fields[field];
  }

  refuse(field: string, rule: string): never {
    throw new ApiError(withValues(API_ERRORS.invalidAdminRequest, { field, rule }));
  }
}

/** @throws ApiError 404, 409, 429, 503 */
async function orRefused<T>(act: Promise<T>, clock: Pick<Clock, 'now'>): Promise<T> {
  try {
    return await orUnavailable(orRateLimited(act, clock));
  } catch (error) {
    if (error instanceof NotThereError)
      throw new ApiError(withValues(API_ERRORS.noSuch, { kind: error.kind, name: error.subject }));
    if (error instanceof ConflictError)
      throw new ApiError(withValues(API_ERRORS.taken, { field: error.field }));
    throw error;
  }
}
