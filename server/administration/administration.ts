/**
 * What whoever runs the relay can do to accounts, keys and tunnels, whether on the command line or through the API. Each act is
 * kept with who did it before it is acknowledged; relays that serve follow within a second.
 */
import { randomUUID } from 'node:crypto';
import type { Plan } from '../../shared/tunnel.ts';
import { type IssuedKey, issueKey, newAccount, newKey, type NewKey } from '../accounts/accounts.ts';
import { newInvitation, type NewInvitation } from '../accounts/invitations.ts';
import { shownScope } from '../accounts/key-scope.ts';
import type { Clock } from '../clock.ts';
import type {
  AccountRecord,
  AuditRecord,
  KeyListing,
  OpenInvitation,
  OwnedTunnel,
} from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { storedTunnels } from '../tunnels/stored-tunnels.ts';

/** What was named is not there. */
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

export interface AdministrationOptions {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'setTimeout'>;
  /** seconds for which the name of an ended tunnel stays with its account */
  readonly nameHold: number;
  /** who acts: see {@link AuditRecord} */
  readonly actor: string;
}

export interface WantedAccounts {
  readonly names: readonly string[];
  readonly plan: Plan;
  /** of the one account, if it is one */
  readonly subdomain: string | null;
  readonly withKeys: boolean;
}

/** An account that was made, with its key if it got one. */
export interface MadeAccount {
  readonly account: AccountRecord;
  readonly key: string | undefined;
}

/** A key that was just created, with its account. */
export interface OwnedKey extends IssuedKey {
  readonly account: AccountRecord;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Every method throws StoreError, and NotThereError for what is named and not there. */
export class Administration {
  readonly #store: Store;
  readonly #clock: AdministrationOptions['clock'];
  readonly #nameHold: number;
  readonly #actor: string;

  constructor({ store, clock, nameHold, actor }: AdministrationOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#nameHold = nameHold;
    this.#actor = actor;
  }

  /**
   * Makes accounts, all or none.
   *
   * @throws ConflictError when a name or the subdomain is taken
   */
  async createAccounts({ names, plan, subdomain, withKeys }: WantedAccounts): Promise<MadeAccount[]> {
    const made = names.map((name) => {
      const account = newAccount(this.#clock, { name, plan, subdomain });
      return { account, issued: withKeys ? newKey(this.#clock, account) : undefined };
    });
    const keys = made.flatMap(({ issued }) => (issued === undefined ? [] : [issued.record]));
    await this.#store.insertAccounts(
      made.map(({ account }) => account),
      keys,
    );
    for (const { account } of made)
      await this.#keep('account.create', account.name, `plan ${plan}${withKeys ? ', with a key' : ''}`);
    return made.map(({ account, issued }) => ({ account, key: issued?.key }));
  }

  listAccounts(): Promise<AccountRecord[]> {
    return this.#store.listAccounts();
  }

  async account(name: string): Promise<AccountRecord> {
    return there('account', name, await this.#store.findAccount(name));
  }

  async setPlan(name: string, plan: Plan): Promise<AccountRecord> {
    const account = there('account', name, await this.#store.setPlan(name, plan));
    await this.#keep('account.set-plan', name, plan);
    return account;
  }

  /** @throws ConflictError when the subdomain is taken */
  async setSubdomain(name: string, subdomain: string | null): Promise<AccountRecord> {
    const now = this.#clock.now();
    const account = there('account', name, await this.#store.setSubdomain(name, subdomain, now));
    await this.#keep('account.set-subdomain', name, subdomain ?? 'none');
    return account;
  }

  /** @param reason `null` lets it go on */
  async suspendAccount(name: string, reason: string | null): Promise<AccountRecord> {
    const account = there('account', name, await this.#store.setSuspension(name, reason));
    await this.#keep(reason === null ? 'account.resume' : 'account.suspend', name, reason ?? '');
    return account;
  }

  async removeAccount(name: string): Promise<AccountRecord> {
    const account = there('account', name, await this.#store.removeAccount(name));
    await this.#keep('account.remove', name, '');
    return account;
  }

  async createKey(name: string, wanted: NewKey): Promise<OwnedKey> {
    const account = await this.account(name);
    const issued = await issueKey(this.#store, this.#clock, account, wanted);
    const { hint, label, scope } = issued.record;
    await this.#keep('key.create', issued.record.id, `${hint}… of ${name}, ${shownScope(scope)}, "${label}"`);
    return { ...issued, account };
  }

  /** @param account name of the only one whose keys are wanted */
  async listKeys(account?: string): Promise<KeyListing[]> {
    if (account !== undefined) await this.account(account);
    return await this.#store.listKeys(this.#clock.now(), account);
  }

  async revokeKey(id: string): Promise<KeyListing> {
    const key = there('key', id, await this.#store.revokeKey(id, this.#clock.now()));
    await this.#keep('key.revoke', id, `${key.hint}… of ${key.account}`);
    return key;
  }

  /**
   * Tunnels that are alive, oldest first.
   *
   * @param account name of the only one whose tunnels are wanted
   */
  async listTunnels(account?: string): Promise<OwnedTunnel[]> {
    const owner = account === undefined ? undefined : await this.account(account);
    const found = owner === undefined ? await all(this.#store) : await this.#store.tunnelsOf(owner.id);
    return found.filter(({ tunnel }) => tunnel.expiresAt > this.#clock.now());
  }

  /** @param name id or slug of the tunnel */
  async closeTunnel(name: string): Promise<OwnedTunnel> {
    const owned = await this.#tunnel(name);
    const { id, slug, accountId } = owned.tunnel;
    const now = this.#clock.now();
    const released = { id, slug, accountId, heldUntil: now + this.#nameHold * 1000 };
    if (!(await this.#store.orderClose(released, now))) throw new NotThereError('tunnel', name);
    await this.#keep('tunnel.close', slug, `of ${owned.account.name}`);
    return owned;
  }

  /**
   * @param name id or slug of the tunnel
   * @param reason `null` lets it go on
   */
  async suspendTunnel(name: string, reason: string | null): Promise<OwnedTunnel> {
    const { tunnel } = await this.#tunnel(name);
    const owned = there('tunnel', name, await this.#store.suspendTunnel(tunnel.id, reason));
    const action = reason === null ? 'tunnel.resume' : 'tunnel.suspend';
    await this.#keep(action, tunnel.slug, `of ${owned.account.name}${reason === null ? '' : `: ${reason}`}`);
    return owned;
  }

  /**
   * Invites people to an account, which is made if it is not there.
   *
   * @param plan of an account that is made
   * @param ttl seconds for which they are good
   * @returns as many as are asked for
   */
  async invite(
    name: string,
    { plan, ttl, count }: { readonly plan: Plan; readonly ttl: number; readonly count: number },
  ): Promise<NewInvitation[]> {
    const known = await this.#store.findAccount(name);
    const account = known ?? (await this.#createAccount(name, plan));
    const invitations = Array.from({ length: count }, () => newInvitation(this.#clock, account, ttl));
    await this.#store.insertInvitations(
      invitations.map(({ record }) => record),
      this.#clock.now(),
    );
    for (const { record } of invitations) await this.#keep('invite.create', name, `invite:${record.id}`);
    return invitations;
  }

  /** Invitations that nobody has taken, oldest first. */
  listInvitations(): Promise<OpenInvitation[]> {
    return this.#store.listInvitations(this.#clock.now());
  }

  async revokeInvitation(id: string): Promise<void> {
    const wasOpen = await this.#store.revokeInvitation(id, this.#clock.now());
    there('invite', id, wasOpen || undefined);
    await this.#keep('invite.revoke', id, '');
  }

  /** The newest acts, oldest first. */
  audit(limit: number): Promise<AuditRecord[]> {
    return this.#store.listAudit(limit);
  }

  async #createAccount(name: string, plan: Plan): Promise<AccountRecord> {
    const wanted = { names: [name], plan, subdomain: null, withKeys: false };
    const [made] = await this.createAccounts(wanted);
    return there('account', name, made?.account);
  }

  /**
   * Replaces the secrets of cookies, signed links and session tickets; what they signed is no longer valid.
   *
   * @returns how many links have ended
   */
  renewSecrets(): Promise<number> {
    const act = { id: randomUUID(), at: this.#clock.now(), actor: this.#actor, action: 'secrets.renew' };
    return this.#store.renewSecrets({ ...act, subject: '', detail: '' });
  }

  async #tunnel(name: string): Promise<OwnedTunnel> {
    // A slug may look like an id, so that a tunnel could be named to be out of reach.
    const [bySlug] = await this.#store.findTunnelsBySlug([name]);
    const found = bySlug ?? (UUID.test(name) ? await this.#store.findTunnel(name) : undefined);
    const isOver = found !== undefined && found.tunnel.expiresAt <= this.#clock.now();
    return there('tunnel', name, isOver ? undefined : found);
  }

  async #keep(action: string, subject: string, detail: string): Promise<void> {
    const at = this.#clock.now();
    await this.#store.insertAudit({ id: randomUUID(), at, actor: this.#actor, action, subject, detail });
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
