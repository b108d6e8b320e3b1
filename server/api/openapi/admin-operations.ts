/** What can be done through `/v1/admin` (docs/protocol.md section 14). */
import type { JsonObject } from '../json-schema.ts';
import {
  ANY_KEY_ERRORS,
  type ErrorName,
  operation,
  type Paths,
  SERVER_ERRORS,
  success,
  tunnelId,
} from './operation.ts';
import { type AdminSchemaName, AUDIT_COUNT } from './schemas.ts';

const ERRORS: readonly ErrorName[] = [...ANY_KEY_ERRORS, 'notFound', ...SERVER_ERRORS];
const ON_ONE: readonly ErrorName[] = [...ERRORS, 'noSuch'];
const BODY: readonly ErrorName[] = ['invalidBody', 'invalidAdminRequest', 'bodyTooLarge', 'rateLimited'];
const FILTERED: readonly ErrorName[] = [...ON_ONE, 'invalidAdminRequest'];

const ofAccount = { account: 'name of the account; all without it' };

interface Look {
  readonly query?: Readonly<Record<string, string>>;
  readonly errors?: readonly ErrorName[];
}

function look(
  id: string,
  summary: string,
  shown: AdminSchemaName,
  { query = {}, errors = ERRORS }: Look = {},
): JsonObject {
  return operation({ id, summary, query, answers: { 200: success('What there is.', shown) }, errors });
}

function remove(id: string, summary: string, shown: AdminSchemaName): JsonObject {
  return operation({
    id,
    summary,
    answers: { 200: success('What it was.', shown) },
    errors: [...ON_ONE, 'rateLimited'],
  });
}

interface Change {
  readonly takes: AdminSchemaName;
  readonly shows: AdminSchemaName;
  readonly errors?: readonly ErrorName[];
}

function make(id: string, summary: string, { takes, shows, errors = ERRORS }: Change): JsonObject {
  return operation({
    id,
    summary,
    body: { schema: takes, required: true },
    answers: { 201: success('What was made.', shows) },
    errors: [...BODY, ...errors],
  });
}

function change(id: string, summary: string, { takes, shows, errors = ON_ONE }: Change): JsonObject {
  return operation({
    id,
    summary,
    body: { schema: takes, required: true },
    answers: { 200: success('What it is now.', shows) },
    errors: [...BODY, ...errors],
  });
}

const withId = { parameters: [tunnelId] as unknown as JsonObject };

export const ADMIN_PATHS: Paths = {
  '/v1/admin/accounts': {
    get: look('adminListAccounts', 'List all accounts', 'AdminAccountList'),
    post: make('adminCreateAccount', 'Make an account', {
      takes: 'AdminCreateAccount',
      shows: 'AdminNewAccount',
      errors: [...ERRORS, 'taken'],
    }),
  },
  '/v1/admin/accounts/{id}': {
    ...withId,
    get: look('adminGetAccount', 'Get an account', 'AdminAccount', { errors: ON_ONE }),
    delete: remove('adminRemoveAccount', 'Remove an account with its keys and its tunnels', 'AdminAccount'),
  },
  '/v1/admin/accounts/{id}/plan': {
    ...withId,
    put: change('adminSetPlan', 'Put an account on another plan; what is open stays open', {
      takes: 'AdminSetPlan',
      shows: 'AdminAccount',
    }),
  },
  '/v1/admin/accounts/{id}/subdomain': {
    ...withId,
    put: change('adminSetSubdomain', 'Give an account another subdomain, or none', {
      takes: 'AdminSetSubdomain',
      shows: 'AdminAccount',
      errors: [...ON_ONE, 'taken'],
    }),
  },
  '/v1/admin/accounts/{id}/suspension': {
    ...withId,
    put: change('adminSuspendAccount', 'Suspend an account, or let it go on', {
      takes: 'AdminSuspend',
      shows: 'AdminAccount',
    }),
  },
  '/v1/admin/accounts/{id}/keys': {
    ...withId,
    post: make('adminCreateKey', 'Make a key of an account', {
      takes: 'AdminCreateKey',
      shows: 'AdminNewKey',
      errors: ON_ONE,
    }),
  },
  '/v1/admin/keys': {
    get: look('adminListKeys', 'List valid keys, without the keys', 'AdminKeyList', {
      query: ofAccount,
      errors: FILTERED,
    }),
  },
  '/v1/admin/keys/{id}': { ...withId, delete: remove('adminRevokeKey', 'Revoke a key', 'AdminKey') },
  '/v1/admin/tunnels': {
    get: look('adminListTunnels', 'List live tunnels', 'AdminTunnelList', {
      query: ofAccount,
      errors: FILTERED,
    }),
  },
  '/v1/admin/tunnels/{id}': {
    ...withId,
    delete: remove('adminCloseTunnel', 'Close a tunnel', 'AdminTunnel'),
  },
  '/v1/admin/tunnels/{id}/suspension': {
    ...withId,
    put: change('adminSuspendTunnel', 'Suspend a tunnel, or let it go on', {
      takes: 'AdminSuspend',
      shows: 'AdminTunnelSuspension',
    }),
  },
  '/v1/admin/invites': {
    get: look('adminListInvites', 'List invitations that nobody has taken', 'AdminInviteList'),
    post: make('adminInvite', 'Make invitations to an account', {
      takes: 'AdminInvite',
      shows: 'AdminNewInviteList',
    }),
  },
  '/v1/admin/invites/{id}': {
    ...withId,
    delete: remove('adminRevokeInvite', 'Make an invitation good for nobody', 'AdminRevokedInvite'),
  },
  '/v1/admin/audit': {
    get: look('adminAudit', 'List who did what, and when', 'AdminAudit', {
      query: { count: AUDIT_COUNT },
      errors: [...ERRORS, 'invalidAdminRequest'],
    }),
  },
};
