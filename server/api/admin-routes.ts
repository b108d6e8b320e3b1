/** Routes of `/v1/admin`, for keys for administration (protocol.md section 14). */
import { API_ERRORS, ApiError, invalidAdminRequest, noSuch, taken } from '../../shared/errors.ts';
import {
  described,
  type Field,
  type JsonObject,
  listOf,
  object,
  objectSchema,
  onlyValue,
  optional,
  UUID,
  withDefault,
} from '../../shared/fields.ts';
import { API_KEY } from '../../shared/team.ts';
import { type Plan, PLANS } from '../../shared/tunnel.ts';
import { orRateLimited } from '../accounts/team.ts';
import * as rules from '../administration/admin-actions.ts';
import {
  ACCOUNT_NAME_RULE,
  Administration,
  INVITE_DEFAULT_TTL_SECONDS,
  INVITE_TTL_CEILING_SECONDS,
  INVITES_AT_ONCE_MAX,
  isAccountName,
  isReserved,
  isSubdomain,
  KEY_LABEL_MAX_LENGTH,
  KEY_TTL_CEILING_SECONDS,
  NotThereError,
  type OwnNames,
  REASON_MAX_LENGTH,
  SUBDOMAIN_RULE,
} from '../administration/admin-actions.ts';
import {
  ADMIN_ACCOUNT,
  ADMIN_ACT,
  ADMIN_INVITE,
  ADMIN_KEY,
  ADMIN_NEW_INVITE,
  ADMIN_SUSPENDED_NAME,
  ADMIN_TUNNEL,
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
import { AUDIT_MAX, type KeyScope } from '../store/records.ts';
import { ConflictError, orUnavailable } from '../store/store-errors.ts';
import type { ApiContext } from './guards.ts';
import { type ApiDeps, type ErrorName, idOf, type Route } from './route.ts';

/** What a request asks for. */
interface Asked {
  /** the body; `{}` without one */
  readonly fields: Fields;
  /** parameters of the query */
  readonly query: Fields;
  /** the id in the path, as it was sent */
  readonly id: string;
}

interface AdminRoute {
  readonly id: string;
  readonly summary: string;
  readonly query?: Readonly<Record<string, string>>;
  /** schema of the body */
  readonly takes?: JsonObject;
  /** schema of the response */
  readonly shows: JsonObject;
  readonly errors?: readonly ErrorName[];
  /**
   * @param by who acts
   * @returns the body of the response
   * @throws ApiError 400, NotThereError, ConflictError, StoreError
   */
  readonly act: (by: Administration, asked: Asked) => Promise<object>;
}

export function adminRoutes({ admin, clock, addresses }: ApiDeps): Route[] {
  const { store, nameHold, own } = admin;

  /** The name of the account with an id: actions use names. */
  async function nameOf(id: string): Promise<string> {
    const [account] = await store.findAccounts([id]);
    if (account === undefined) throw new NotThereError('account', id);
    return account.name;
  }

  function route(
    method: Route['method'],
    path: string,
    [status, description]: readonly [status: number, description: string],
    { takes, shows, act, ...row }: AdminRoute,
  ): Route {
    return {
      ...row,
      method,
      path: `/v1/admin${path}`,
      tag: 'Administration',
      caller: 'administrator',
      ...(takes !== undefined && { body: { schema: takes, required: true } }),
      results: { [status]: [description, shows] },
      async handle(ctx: ApiContext): Promise<object> {
        const by = new Administration({
          store,
          clock,
          nameHold,
          by: { actor: `key:${ctx.state.caller.keyId}`, accountId: ctx.state.account.id },
        });
        const fields = ctx.request.body === undefined ? {} : readFields(ctx.request.body);
        const shown = await orRefused(act(by, { fields, query: ctx.query, id: idOf(ctx) }), clock);
        ctx.set('Cache-Control', 'no-store');
        return shown;
      },
    };
  }

  const CHANGING = ['invalidAdminRequest', 'rateLimited'] as const;

  function get(path: string, row: AdminRoute): Route {
    return route('get', path, [200, 'The list.'], row);
  }
  function post(path: string, row: AdminRoute): Route {
    return route('post', path, [201, 'What was created.'], {
      ...row,
      errors: [...CHANGING, ...(row.errors ?? [])],
    });
  }
  function put(path: string, row: AdminRoute): Route {
    return route('put', path, [200, 'The changed object.'], {
      ...row,
      errors: [...CHANGING, 'noSuch', ...(row.errors ?? [])],
    });
  }
  function remove(path: string, row: AdminRoute): Route {
    return route('delete', path, [200, 'The deleted object.'], { ...row, errors: ['noSuch', 'rateLimited'] });
  }

  return [
    get('/accounts', {
      id: 'adminListAccounts',
      summary: 'List all accounts',
      shows: listed('AdminAccountList', 'accounts', ADMIN_ACCOUNT),
      act: async (by) => ({ accounts: (await by.listAccounts()).map(viewAccount) }),
    }),
    post('/accounts', {
      id: 'adminCreateAccount',
      summary: 'Create an account',
      takes: objectSchema(
        {
          name: { type: 'string', description: '1-100 characters' },
          'plan?': NEW_PLAN,
          'subdomain?': SUBDOMAIN,
          'with_key?': {
            type: ['boolean', 'null'],
            description: withDefault('whether to create a key as well', 'false'),
          },
        },
        'AdminCreateAccount',
      ),
      shows: object(
        {
          ...ADMIN_ACCOUNT.fields,
          key: optional(described(API_KEY, 'with `with_key`; shown only in this response')),
        },
        'AdminNewAccount',
      ).schema,
      errors: ['taken'],
      async act(by, { fields }) {
        const names = [readName(fields, 'name')];
        const plan = readNewPlan(fields);
        const subdomain = readSubdomain({ subdomain: fields['subdomain'] ?? null }, own);
        const withKeys = readSwitch(fields, 'with_key');
        const [made] = await by.createAccounts({ names, plan, subdomain, withKeys });
        if (made === undefined) throw new Error('no account was made');
        const view = viewAccount(made.account);
        return made.key === undefined ? view : { ...view, key: made.key };
      },
    }),
    get('/accounts/{id}', {
      id: 'adminGetAccount',
      summary: 'Get an account',
      shows: ADMIN_ACCOUNT.schema,
      errors: ['noSuch'],
      act: async (by, { id }) => viewAccount(await by.account(await nameOf(id))),
    }),
    remove('/accounts/{id}', {
      id: 'adminRemoveAccount',
      summary: 'Delete an account together with its keys and tunnels',
      shows: ADMIN_ACCOUNT.schema,
      act: async (by, { id }) => viewAccount(await by.removeAccount(await nameOf(id))),
    }),
    put('/accounts/{id}/plan', {
      id: 'adminSetPlan',
      summary: "Change an account's plan",
      takes: objectSchema({ plan: { type: 'string', enum: PLANS } }, 'AdminSetPlan'),
      shows: ADMIN_ACCOUNT.schema,
      async act(by, { fields, id }) {
        const plan = readPlan(fields);
        return viewAccount(await by.setPlan(await nameOf(id), plan));
      },
    }),
    put('/accounts/{id}/subdomain', {
      id: 'adminSetSubdomain',
      summary: "Change or remove an account's subdomain",
      takes: objectSchema({ subdomain: SUBDOMAIN }, 'AdminSetSubdomain'),
      shows: ADMIN_ACCOUNT.schema,
      errors: ['taken'],
      async act(by, { fields, id }) {
        const subdomain = readSubdomain(fields, own);
        return viewAccount(await by.setSubdomain(await nameOf(id), subdomain));
      },
    }),
    put('/accounts/{id}/suspension', {
      id: 'adminSuspendAccount',
      summary: 'Suspend or resume an account',
      takes: SUSPEND,
      shows: ADMIN_ACCOUNT.schema,
      async act(by, { fields, id }) {
        const reason = readReason(fields);
        return viewAccount(await by.suspendAccount(await nameOf(id), reason));
      },
    }),
    post('/accounts/{id}/keys', {
      id: 'adminCreateKey',
      summary: 'Create a key',
      takes: objectSchema(
        {
          'label?': { type: ['string', 'null'], maxLength: KEY_LABEL_MAX_LENGTH },
          'expires?': {
            type: ['string', 'null'],
            description: 'how long the key is valid; without this field, it is valid until it is revoked',
          },
          'name?': { type: ['string', 'null'], description: 'limits the key to the tunnel with this name' },
          'owner?': {
            type: ['boolean', 'null'],
            description: withDefault(
              'whether the key may also invite people to the account and revoke their keys',
              'false',
            ),
          },
          'agent?': {
            type: ['boolean', 'null'],
            description: withDefault(
              "whether the key is an agent's: its tunnels end after at most 1 h, need an access policy, and have names below a prefix",
              'false',
            ),
          },
          'prefix?': {
            type: ['string', 'null'],
            description: withDefault(
              "prefix of the names of an agent's tunnels; a hyphen follows it",
              rules.AGENT_PREFIX_DEFAULT,
            ),
          },
        },
        'AdminCreateKey',
      ),
      shows: object(
        { ...ADMIN_KEY.fields, key: described(API_KEY, 'the key, which is not shown again') },
        'AdminNewKey',
      ).schema,
      errors: ['noSuch'],
      async act(by, { fields, id }) {
        const wanted = {
          label: readLabel(fields),
          ttl: readTtl(fields, 'expires', KEY_TTL_CEILING_SECONDS),
          scope: readScope(fields),
        };
        const { key, record, account } = await by.createKey(await nameOf(id), wanted);
        return { ...viewKey({ ...record, account: account.name, lastUsedAt: null }), key };
      },
    }),
    get('/keys', {
      id: 'adminListKeys',
      summary: 'List valid keys',
      query: OF_ACCOUNT,
      shows: listed('AdminKeyList', 'keys', ADMIN_KEY),
      errors: ['noSuch', 'invalidAdminRequest'],
      async act(by, { query }) {
        const keys = await by.listKeys(readAccountFilter(query));
        return { keys: keys.map(viewKey) };
      },
    }),
    remove('/keys/{id}', {
      id: 'adminRevokeKey',
      summary: 'Revoke a key',
      shows: ADMIN_KEY.schema,
      act: async (by, { id }) => viewKey(await by.revokeKey(id)),
    }),
    get('/tunnels', {
      id: 'adminListTunnels',
      summary: 'List live tunnels',
      query: OF_ACCOUNT,
      shows: object(
        {
          tunnels: listOf(ADMIN_TUNNEL, 'oldest first'),
          suspended_names: listOf(
            ADMIN_SUSPENDED_NAME,
            'the addresses of tunnels that ended while they were suspended, sorted by slug',
          ),
        },
        'AdminTunnelList',
      ).schema,
      errors: ['noSuch', 'invalidAdminRequest'],
      async act(by, { query }) {
        const account = readAccountFilter(query);
        const tunnels = await by.listTunnels(account);
        const names = await by.listSuspendedNames(account);
        return { tunnels: tunnels.map(viewTunnel), suspended_names: names.map(viewSuspendedName) };
      },
    }),
    remove('/tunnels/{id}', {
      id: 'adminCloseTunnel',
      summary: 'Close a tunnel',
      shows: ADMIN_TUNNEL.schema,
      act: async (by, { id }) => viewTunnel(await by.closeTunnel(id)),
    }),
    put('/tunnels/{id}/suspension', {
      id: 'adminSuspendTunnel',
      summary: 'Suspend or resume a tunnel',
      takes: SUSPEND,
      shows: { title: 'AdminTunnelSuspension', anyOf: [ADMIN_TUNNEL.schema, ADMIN_SUSPENDED_NAME.schema] },
      async act(by, { fields, id }) {
        const reason = readReason(fields);
        return reason === null
          ? viewResumed(await by.resumeTunnel(id))
          : viewTunnel(await by.suspendTunnel(id, reason));
      },
    }),
    get('/invites', {
      id: 'adminListInvites',
      summary: 'List open invitations',
      shows: listed('AdminInviteList', 'invites', ADMIN_INVITE),
      act: async (by) => ({ invites: (await by.listInvitations()).map(viewInvitation) }),
    }),
    post('/invites', {
      id: 'adminInvite',
      summary: 'Create invitations',
      takes: objectSchema(
        {
          account: {
            type: 'string',
            description: 'the name of the account, which is created if it does not exist',
          },
          'plan?': { ...NEW_PLAN, description: withDefault('the plan, if the account is new', 'dev') },
          'ttl?': { type: ['string', 'null'], description: withDefault('a duration', '24h') },
          'count?': {
            type: ['integer', 'null'],
            minimum: 1,
            maximum: INVITES_AT_ONCE_MAX,
            description: withDefault('how many', '1'),
          },
          'label?': {
            type: ['string', 'null'],
            maxLength: KEY_LABEL_MAX_LENGTH,
            description: "whom the invitations are for; the label becomes the key's label",
          },
        },
        'AdminInvite',
      ),
      shows: listed('AdminNewInviteList', 'invites', ADMIN_NEW_INVITE),
      async act(by, { fields }) {
        const account = readName(fields, 'account');
        const made = await by.invite(account, {
          plan: readNewPlan(fields),
          ttl: readTtl(fields, 'ttl', INVITE_TTL_CEILING_SECONDS) ?? INVITE_DEFAULT_TTL_SECONDS,
          count: readCount(fields, INVITES_AT_ONCE_MAX),
          label: readLabel(fields),
        });
        const { origin } = addresses.publicUrl;
        return { invites: made.map((invitation) => viewNewInvitation(invitation, account, origin)) };
      },
    }),
    remove('/invites/{id}', {
      id: 'adminRevokeInvite',
      summary: 'Revoke an invitation',
      shows: objectSchema({ id: UUID.schema, status: onlyValue('revoked') }, 'AdminRevokedInvite'),
      async act(by, { id }) {
        await by.revokeInvitation(id);
        return { id, status: 'revoked' };
      },
    }),
    get('/audit', {
      id: 'adminAudit',
      summary: 'List the audit log',
      query: { count: `how many actions to return, from 1 to ${AUDIT_MAX}; the default is all of them` },
      shows: listed('AdminAudit', 'acts', ADMIN_ACT),
      errors: ['invalidAdminRequest'],
      async act(by, { query }) {
        const acts = await by.audit(readListCount(query, AUDIT_MAX));
        return { acts: acts.map(viewAct) };
      },
    }),
  ];
}

const OF_ACCOUNT = { account: "the account's name; the default is all accounts" };
const NEW_PLAN = {
  type: ['string', 'null'],
  enum: [...PLANS, null],
  description: withDefault('the plan', 'dev'),
};
const SUBDOMAIN = { type: ['string', 'null'], description: 'null if there is no subdomain' };
const SUSPEND = objectSchema(
  {
    reason: {
      type: ['string', 'null'],
      maxLength: REASON_MAX_LENGTH,
      description: 'the reason for the suspension; null ends the suspension',
    },
  },
  'AdminSuspend',
);

function listed(title: string, name: string, item: Field<object>): JsonObject {
  return object({ [name]: listOf(item, 'oldest first') }, title).schema;
}

/** @throws ApiError 404, 409, 429, 503 */
async function orRefused<T>(act: Promise<T>, clock: Pick<Clock, 'now'>): Promise<T> {
  try {
    return await orUnavailable(orRateLimited(act, clock));
  } catch (error) {
    if (error instanceof NotThereError) throw new ApiError(noSuch(error.kind, error.subject));
    if (error instanceof ConflictError) throw new ApiError(taken(error.field));
    throw error;
  }
}

/* Fields of administrative requests (protocol.md section 14). Each reader throws ApiError 400 for an invalid value. */

type Fields = Readonly<Record<string, unknown>>;

function readFields(body: unknown): Fields {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError(API_ERRORS.invalidBody);
  return body as Fields;
}

/** @param field name of the field with the name of an account */
function readName(fields: Fields, field: string): string {
  const name = fields[field];
  return isAccountName(name) ? name : refuse(field, ACCOUNT_NAME_RULE);
}

function readPlan({ plan }: Fields): Plan {
  return PLANS.find((known) => known === plan) ?? refuse('plan', `one of ${PLANS.join(', ')}`);
}

/** The plan of a new account, `dev` by default. */
function readNewPlan({ plan }: Fields): Plan {
  return readPlan({ plan: plan ?? 'dev' });
}

/** `null` removes the subdomain. The field is required, so that an empty body by mistake removes nothing. */
function readSubdomain({ subdomain }: Fields, own: OwnNames): string | null {
  if (subdomain === null) return null;
  if (isSubdomain(subdomain) && !isReserved(subdomain, own)) return subdomain;
  return refuse('subdomain', `${SUBDOMAIN_RULE}, and not reserved; or null`);
}

/** `null` ends a suspension. The field is required, as above. */
function readReason({ reason }: Fields): string | null {
  if (reason === null) return null;
  return rules.readReason(reason) ?? refuse('reason', `${rules.REASON_RULE}; or null`);
}

function readLabel({ label }: Fields): string {
  if (label === undefined || label === null) return '';
  return rules.isLabel(label) ? label : refuse('label', rules.LABEL_RULE);
}

/** The scope of a new key: the whole account, with or without its people, the tunnel with one name, or an agent's. */
function readScope(fields: Fields): KeyScope {
  const { name } = fields;
  const isOwner = readSwitch(fields, 'owner');
  const prefix = fields['prefix'] ?? undefined;
  if (readSwitch(fields, 'agent')) {
    if (isOwner) refuse('owner', "false for an agent's key");
    if (name !== undefined && name !== null) refuse('name', "missing for an agent's key, which has a prefix");
    const given = prefix ?? rules.AGENT_PREFIX_DEFAULT;
    return rules.isAgentPrefix(given)
      ? { kind: 'agent', prefix: given }
      : refuse('prefix', rules.AGENT_PREFIX_RULE);
  }
  if (prefix !== undefined) refuse('agent', 'true for a key with a prefix');
  if (name === undefined || name === null) return { kind: isOwner ? 'owner' : 'all' };
  if (isOwner) refuse('owner', 'false for a key that is limited to a tunnel');
  return rules.isScopeName(name) ? { kind: 'tunnel', name } : refuse('name', rules.SCOPE_NAME_RULE);
}

/** @returns seconds */
function readTtl(fields: Fields, field: string, max: number): number | undefined {
  const given = fields[field];
  if (given === undefined || given === null) return undefined;
  return rules.readTtl(given, max) ?? refuse(field, rules.ttlRule(max));
}

function readCount(fields: Fields, max: number): number {
  const count = fields['count'] ?? 1;
  if (typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= max) return count;
  return refuse('count', countRule(max));
}

function readSwitch(fields: Fields, field: string): boolean {
  const given = fields[field] ?? false;
  return typeof given === 'boolean' ? given : refuse(field, 'true or false');
}

/** The account whose keys or tunnels to list; `undefined` for all accounts. */
function readAccountFilter({ account }: Fields): string | undefined {
  return account === undefined ? undefined : readName({ account }, 'account');
}

/** How many items to list. */
function readListCount({ count }: Fields, max: number): number {
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
