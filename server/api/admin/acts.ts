/** What each administrative call does, and what it responds with (docs/protocol.md section 14). */
import { type Administration, NotThereError } from '../../administration/administration.ts';
import { INVITE_DEFAULT_TTL_SECONDS } from '../../administration/rules.ts';
import type { OwnNames } from '../../administration/names.ts';
import {
  viewAccount,
  viewAct,
  viewInvitation,
  viewKey,
  viewNewInvitation,
  viewResumed,
  viewSuspendedName,
  viewTunnel,
} from '../../administration/views.ts';
import {
  AUDIT_MAX,
  INVITE_TTL_CEILING_SECONDS,
  INVITES_AT_ONCE_MAX,
  KEY_TTL_CEILING_SECONDS,
} from '../../limits.ts';
import type { Store } from '../../store/store.ts';
import * as requests from './requests.ts';

/** What is asked for. */
export interface Asked {
  /** the body; `{}` without one */
  readonly fields: requests.Fields;
  /** parameters of the query */
  readonly query: requests.Fields;
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
      const names = [requests.readName(fields, 'name')];
      const plan = requests.readNewPlan(fields);
      const subdomain = requests.readSubdomain({ subdomain: fields['subdomain'] ?? null }, own);
      const withKeys = requests.readSwitch(fields, 'with_key');
      const [made] = await by.createAccounts({ names, plan, subdomain, withKeys });
      if (made === undefined) throw new Error('no account was made');
      const view = viewAccount(made.account);
      return made.key === undefined ? view : { ...view, key: made.key };
    },
    setPlan: async (by, { fields, id }) => {
      const plan = requests.readPlan(fields);
      return viewAccount(await by.setPlan(await nameOf(id), plan));
    },
    setSubdomain: async (by, { fields, id }) => {
      const subdomain = requests.readSubdomain(fields, own);
      return viewAccount(await by.setSubdomain(await nameOf(id), subdomain));
    },
    suspendAccount: async (by, { fields, id }) => {
      const reason = requests.readReason(fields);
      return viewAccount(await by.suspendAccount(await nameOf(id), reason));
    },
    removeAccount: async (by, { id }) => viewAccount(await by.removeAccount(await nameOf(id))),
    createKey: async (by, { fields, id }) => {
      const wanted = {
        label: requests.readLabel(fields),
        ttl: requests.readTtl(fields, 'expires', KEY_TTL_CEILING_SECONDS),
        scope: requests.readScope(fields),
      };
      const { key, record, account } = await by.createKey(await nameOf(id), wanted);
      return { ...viewKey({ ...record, account: account.name, lastUsedAt: null }), key };
    },
    listKeys: async (by, { query }) => {
      const keys = await by.listKeys(requests.readAccountFilter(query));
      return { keys: keys.map(viewKey) };
    },
    revokeKey: async (by, { id }) => viewKey(await by.revokeKey(id)),
    listTunnels: async (by, { query }) => {
      const account = requests.readAccountFilter(query);
      const tunnels = await by.listTunnels(account);
      const names = await by.listSuspendedNames(account);
      return { tunnels: tunnels.map(viewTunnel), suspended_names: names.map(viewSuspendedName) };
    },
    closeTunnel: async (by, { id }) => viewTunnel(await by.closeTunnel(id)),
    suspendTunnel: async (by, { fields, id }) => {
      const reason = requests.readReason(fields);
      return reason === null
        ? viewResumed(await by.resumeTunnel(id))
        : viewTunnel(await by.suspendTunnel(id, reason));
    },
    invite: async (by, { fields }) => {
      const account = requests.readName(fields, 'account');
      const made = await by.invite(account, {
        plan: requests.readNewPlan(fields),
        ttl: requests.readTtl(fields, 'ttl', INVITE_TTL_CEILING_SECONDS) ?? INVITE_DEFAULT_TTL_SECONDS,
        count: requests.readCount(fields, INVITES_AT_ONCE_MAX),
      });
      return { invites: made.map((invitation) => viewNewInvitation(invitation, account, publicUrl.origin)) };
    },
    listInvites: async (by) => ({ invites: (await by.listInvitations()).map(viewInvitation) }),
    revokeInvite: async (by, { id }) => {
      await by.revokeInvitation(id);
      return { id, status: 'revoked' };
    },
    audit: async (by, { query }) => {
      const acts = await by.audit(requests.readListCount(query, AUDIT_MAX));
      return { acts: acts.map(viewAct) };
    },
  } satisfies Record<string, Act>;
}
