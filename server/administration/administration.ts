/**
 * Admin actions on accounts, keys and tunnels, from the command line or through the API. Each action is recorded with
 * its actor before it is acknowledged; running relays apply it within a second.
 */
import { randomUUID } from 'node:crypto';
import type { Plan } from '../../shared/tunnel.ts';
import { quoted } from '../../shared/unprintable.ts';
import { looksLikeId } from '../../shared/value-rules.ts';
import { type IssuedKey, type NewAccount, newAccount, newKey, type NewKey } from '../accounts/accounts.ts';
import { shownScope } from '../accounts/api-keys.ts';
import { newInvitation, type NewInvitation } from '../accounts/team.ts';
import type { Clock } from '../clock.ts';
import type {
  AccountRecord,
  AuditRecord,
  KeyListing,
  OpenInvitation,
  OwnedTunnel,
  SuspendedName,
} from '../store/records.ts';
import type { ActOperation, Store } from '../store/store.ts';
import { storedTunnels } from '../tunnels/coordination.ts';

/** The named object does not exist. */
export class NotThereError extends Error {
  readonly kind: 'account' | 'key' | 'tunnel' | 'invite';
  readonly subject: string;

  constructor(kind: NotThereError['kind'], subject: string) {
    super(`there is no ${kind} "${subject}"`);
    this.name = 'NotThereError';
    this.kind = kind;
    this.subject = subject;
  }
}

interface AdministrationOptions {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'setTimeout'>;
  /** seconds that the name of an ended tunnel is reserved for its account */
  readonly nameHold: number;
  /** the actor: see {@link AuditRecord} */
  readonly by: Pick<AuditRecord, 'actor' | 'accountId'>;
}

interface WantedAccounts {
  readonly names: readonly string[];
  readonly plan: Plan;
  /** of the account, if there is only one */
  readonly subdomain: string | null;
  readonly withKeys: boolean;
}

/** A new account, with its key if it got one. */
export interface MadeAccount {
  readonly account: AccountRecord;
  readonly key: string | undefined;
}

/** A key that was just created, with its account. */
interface OwnedKey extends IssuedKey {
  readonly account: AccountRecord;
}

/**
 * Every method throws StoreError, NotThereError for an unknown name or id, and FullError if the actor may add no more
 * entries to the audit log. Each action is stored in one transaction with its entry.
 */
export class Administration {
  readonly #store: Store;
  readonly #clock: AdministrationOptions['clock'];
  readonly #nameHold: number;
  readonly #by: AdministrationOptions['by'];

  constructor({ store, clock, nameHold, by }: AdministrationOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#nameHold = nameHold;
    this.#by = by;
  }

  /**
   * Creates accounts, all or none.
   *
   * @throws ConflictError if a name or the subdomain is taken
   */
  async createAccounts({ names, plan, subdomain, withKeys }: WantedAccounts): Promise<MadeAccount[]> {
    const made = names.map((name) => {
      const account = newAccount(this.#clock, { name, plan, subdomain });
      return { account, issued: withKeys ? newKey(this.#clock, account) : undefined };
    });
    const accounts = made.map(({ account }) => account);
    const keys = made.flatMap(({ issued }) => (issued === undefined ? [] : [issued.record]));
    const detail = `plan ${plan}${withKeys ? ', with a key' : ''}`;
    await this.#act(
      'insertAccounts',
      [accounts, keys],
      ...names.map((name) => ['account.create', name, detail] as const),
    );
    return made.map(({ account, issued }) => ({ account, key: issued?.key }));
  }

  listAccounts(): Promise<AccountRecord[]> {
    return this.#store.listAccounts();
  }

  async account(name: string): Promise<AccountRecord> {
    return there('account', name, await this.#store.findAccount(name));
  }

  async setPlan(name: string, plan: Plan): Promise<AccountRecord> {
    const account = await this.#act('setPlan', [name, plan], ['account.set-plan', name, plan]);
    return there('account', name, account);
  }

  /** @throws ConflictError if the subdomain is taken */
  async setSubdomain(name: string, subdomain: string | null): Promise<AccountRecord> {
    const entry = ['account.set-subdomain', name, subdomain ?? 'none'] as const;
    return there(
      'account',
      name,
      await this.#act('setSubdomain', [name, subdomain, this.#clock.now()], entry),
    );
  }

  /** @param reason `null` resumes it, with the names that were suspended with it */
  async suspendAccount(name: string, reason: string | null): Promise<AccountRecord> {
    const action = reason === null ? 'account.resume' : 'account.suspend';
    const account = await this.#act(
      'setSuspension',
      [name, reason, this.#heldUntil()],
      [action, name, reason ?? ''],
    );
    return there('account', name, account);
  }

  async removeAccount(name: string): Promise<AccountRecord> {
    const account = await this.#act('removeAccount', [name, this.#clock.now()], ['account.remove', name, '']);
    return there('account', name, account);
  }

  async createKey(name: string, wanted: NewKey): Promise<OwnedKey> {
    const account = await this.account(name);
    const issued = newKey(this.#clock, account, wanted);
    const { id, hint, label, scope } = issued.record;
    const detail = `${hint}… of ${name}, ${shownScope(scope)}, ${quoted(label)}`;
    await this.#act('insertKey', [issued.record], ['key.create', id, detail]);
    return { ...issued, account };
  }

  /** @param account name of the only account whose keys are listed */
  async listKeys(account?: string): Promise<KeyListing[]> {
    if (account !== undefined) await this.account(account);
    return await this.#store.listKeys(this.#clock.now(), account);
  }

  async revokeKey(id: string): Promise<KeyListing> {
    const keys = await this.#store.listKeys(this.#clock.now());
    const { hint, account } = there(
      'key',
      id,
      keys.find((key) => key.id === id),
    );
    const entry = ['key.revoke', id, `${hint}… of ${account}`] as const;
    return there('key', id, await this.#act('revokeKey', [id, this.#clock.now()], entry));
  }

  /**
   * Live tunnels, oldest first.
   *
   * @param account name of the only account whose tunnels are listed
   */
  async listTunnels(account?: string): Promise<OwnedTunnel[]> {
    const owner = account === undefined ? undefined : await this.account(account);
    const found =
      owner === undefined ? await all(this.#store) : await this.#store.findTunnels('accountId', [owner.id]);
    return found.filter(({ tunnel }) => tunnel.expiresAt > this.#clock.now());
  }

  /**
   * Addresses of tunnels that ended while they were suspended: they are reserved until {@link resumeTunnel}.
   *
   * @param account name of the only account whose addresses are listed
   */
  async listSuspendedNames(account?: string): Promise<SuspendedName[]> {
    const names = await this.#store.suspendedNames();
    return account === undefined ? names : names.filter((name) => name.account === account);
  }

  /** @param name id or slug of the tunnel */
  async closeTunnel(name: string): Promise<OwnedTunnel> {
    const owned = await this.#tunnel(name);
    const { id, slug, name: chosen, accountId } = owned.tunnel;
    const released = { id, slug, name: chosen, accountId, heldUntil: this.#heldUntil() };
    const entry = ['tunnel.close', slug, `of ${owned.account.name}`] as const;
    const isFirst = await this.#act('orderClose', [released, this.#clock.now()], entry);
    return there('tunnel', name, isFirst ? owned : undefined);
  }

  /** @param name id or slug of the tunnel */
  async suspendTunnel(name: string, reason: string): Promise<OwnedTunnel> {
    return await this.#setSuspension(name, await this.#tunnel(name), reason);
  }

  /**
   * Resumes a tunnel, or frees its address if the tunnel has ended.
   *
   * @param name id or slug of the tunnel
   */
  async resumeTunnel(name: string): Promise<OwnedTunnel | SuspendedName> {
    const ended = await this.#store.suspendedNames();
    const byId = ended.find(({ tunnelId }) => tunnelId === name);
    const found = byId === undefined ? await this.#find(name) : undefined;
    if (found !== undefined) return await this.#setSuspension(name, found, null);
    const held = there('tunnel', name, byId ?? ended.find(({ slug }) => slug === name));
    const entry = ['tunnel.resume', held.slug, `of ${held.account ?? 'a removed account'}, ended`] as const;
    const isHeld = await this.#act('resumeName', [held.slug, this.#heldUntil()], entry);
    return there('tunnel', name, isHeld ? held : undefined);
  }

  /**
   * Invites people to an account, which is created if it does not exist.
   *
   * @param plan of a new account
   * @param ttl seconds that the invitations are valid
   * @param label of the keys; the names of the machines if it is empty
   * @returns as many as requested
   */
  async invite(
    name: string,
    {
      plan,
      ttl,
      count,
      label,
    }: { readonly plan: Plan; readonly ttl: number; readonly count: number; readonly label: string },
  ): Promise<NewInvitation[]> {
    const known = await this.#store.findAccount(name);
    const account = known ?? newAccount(this.#clock, { name, plan, subdomain: null });
    const invitations = Array.from({ length: count }, () =>
      newInvitation(this.#clock, account, { ttl, label }),
    );
    const records = invitations.map(({ record }) => record);
    const entries = records.map(({ id }) => ['invite.create', name, `invite:${id}`] as const);
    const made = ['account.create', name, `plan ${plan}`] as const;
    await (known === undefined
      ? this.#act('insertInvitations', [records, this.#clock.now(), [account]], made, ...entries)
      : this.#act('insertInvitations', [records, this.#clock.now()], ...entries));
    return invitations;
  }

  /**
   * Invites each person to an account with their name, all of them or none. Accounts that do not exist are created. The
   * names become the labels of the keys.
   *
   * @param ttl seconds that the invitations are valid
   * @returns an invitation for each of them, in their order
   * @throws ConflictError if a subdomain is taken
   */
  async inviteEach(people: readonly NewAccount[], ttl: number): Promise<NewInvitation[]> {
    const known = new Map((await this.#store.listAccounts()).map((account) => [account.name, account]));
    const accounts = people.map((person) => known.get(person.name) ?? newAccount(this.#clock, person));
    const made = accounts.filter(({ name }) => !known.has(name));
    const invitations = accounts.map((account) =>
      newInvitation(this.#clock, account, { ttl, label: account.name }),
    );
    const records = invitations.map(({ record }) => record);
    await this.#act(
      'insertInvitations',
      [records, this.#clock.now(), made],
      ...made.map(({ name, plan }) => ['account.create', name, `plan ${plan}`] as const),
      ...records.map(({ id, label }) => ['invite.create', label, `invite:${id}`] as const),
    );
    return invitations;
  }

  /** Open invitations, oldest first. */
  listInvitations(): Promise<OpenInvitation[]> {
    return this.#store.listInvitations(this.#clock.now());
  }

  async revokeInvitation(id: string): Promise<void> {
    const wasOpen = await this.#act('revokeInvitation', [id, this.#clock.now()], ['invite.revoke', id, '']);
    there('invite', id, wasOpen || undefined);
  }

  /** The newest actions, oldest first. */
  audit(limit: number): Promise<AuditRecord[]> {
    return this.#store.listAudit(limit);
  }

  async #setSuspension(
    name: string,
    { tunnel, account }: OwnedTunnel,
    reason: string | null,
  ): Promise<OwnedTunnel> {
    const action = reason === null ? 'tunnel.resume' : 'tunnel.suspend';
    const detail = `of ${account.name}${reason === null ? '' : `: ${reason}`}`;
    const changed = await this.#act('suspendTunnel', [tunnel.id, reason], [action, tunnel.slug, detail]);
    return there('tunnel', name, changed);
  }

  /**
   * Replaces the secrets of cookies, signed links and session tickets; what they signed is no longer valid.
   *
   * @returns how many links have ended
   */
  async renewSecrets(): Promise<number> {
    return await this.#act('renewSecrets', [], ['secrets.renew', '', '']);
  }

  async #tunnel(name: string): Promise<OwnedTunnel> {
    return there('tunnel', name, await this.#find(name));
  }

  /** An id takes precedence over a slug: no tunnel can receive another's actions by being named like its id. */
  async #find(name: string): Promise<OwnedTunnel | undefined> {
    const byId = looksLikeId(name) ? await this.#store.findTunnel(name) : undefined;
    const found = byId ?? (await this.#store.findTunnels('slug', [name]))[0];
    return found === undefined || found.tunnel.expiresAt <= this.#clock.now() ? undefined : found;
  }

  /** Wall time in ms until which the name of a tunnel that ends now is reserved for its account. */
  #heldUntil(): number {
    return this.#clock.now() + this.#nameHold * 1000;
  }

  /** @param entries action, subject and detail of each entry in the audit log */
  async #act<Name extends ActOperation>(
    operation: Name,
    args: Parameters<Store[Name]>,
    ...entries: readonly (readonly [action: string, subject: string, detail: string])[]
  ): Promise<Awaited<ReturnType<Store[Name]>>> {
    const at = this.#clock.now();
    const records = entries.map(([action, subject, detail]) => {
      return { id: randomUUID(), at, ...this.#by, action, subject, detail };
    });
    return await this.#store.act(operation, args, records);
  }
}

function there<T>(kind: NotThereError['kind'], subject: string, found: T | undefined): T {
  if (found === undefined) throw new NotThereError(kind, subject);
  return found;
}

async function all(store: Store): Promise<OwnedTunnel[]> {
  const found: OwnedTunnel[] = [];
  for await (const owned of storedTunnels(store)) found.push(owned);
  return found;
}
