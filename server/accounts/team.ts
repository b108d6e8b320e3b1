/** The people of an account: an owner invites and revokes them, and sees what they have done (protocol.md section 15). */
import { randomUUID } from 'node:crypto';
import { API_ERRORS, ApiError, noSuch } from '../../shared/errors.ts';
import type { Clock } from '../clock.ts';
import type { AccountRecord, AuditRecord, KeyListing, KeyOwner, OpenInvitation } from '../store/records.ts';
import { FullError, orUnavailable } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { newInvitation, type NewInvitation } from './invitations.ts';

/** The key that a request was made with. Its label may be empty. */
export type Caller = Pick<KeyOwner, 'keyId' | 'label' | 'scope'>;

interface TeamOptions {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
}

/** Each method works within one account. It throws ApiError 503 if the store fails, and 429 if nothing can be recorded. */
export class Team {
  readonly #store: Store;
  readonly #clock: Pick<Clock, 'now'>;

  constructor({ store, clock }: TeamOptions) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Valid keys and open invitations, oldest first. The operator's own keys are not among them. */
  async list(
    account: AccountRecord,
  ): Promise<{ readonly keys: KeyListing[]; readonly invitations: OpenInvitation[] }> {
    const now = this.#clock.now();
    const keys = await orUnavailable(this.#store.listKeys(now, account.name));
    const invitations = await orUnavailable(this.#store.listInvitations(now, account.id));
    return { keys: keys.filter(({ scope }) => scope.kind !== 'admin'), invitations };
  }

  /**
   * Makes an invitation for each label.
   *
   * @param ttl seconds that they are valid
   */
  async invite(
    account: AccountRecord,
    caller: Caller,
    { labels, ttl }: { readonly labels: readonly string[]; readonly ttl: number },
  ): Promise<NewInvitation[]> {
    const invitations = labels.map((label) => newInvitation(this.#clock, account, { ttl, label }));
    const records = invitations.map(({ record }) => record);
    const entries = records.map(({ id, label }) =>
      this.#entry(account, caller, {
        action: 'team.invite',
        subject: account.name,
        detail: `invite:${id} for "${label}"`,
      }),
    );
    await this.#act(this.#store.act('insertInvitations', [records, this.#clock.now()], entries));
    return invitations;
  }

  /**
   * Revokes a key or an open invitation of the account.
   *
   * @throws ApiError 404
   */
  async revoke(account: AccountRecord, caller: Caller, id: string): Promise<void> {
    const { keys, invitations } = await this.list(account);
    const key = keys.find((known) => known.id === id);
    const invitation = invitations.find((known) => known.id === id);
    const { label } = key ?? invitation ?? refuse(id);
    const what = key === undefined ? 'the invitation' : `the key ${key.hint}…`;
    const entry = this.#entry(account, caller, {
      action: 'team.revoke',
      subject: id,
      detail: `${what} of "${label}"`,
    });
    const now = this.#clock.now();
    const revoked = await this.#act<unknown>(
      key === undefined
        ? this.#store.act('revokeInvitation', [id, now, account.id], [entry])
        : this.#store.act('revokeKey', [id, now], [entry]),
    );
    // Another request was first.
    if (revoked === undefined || revoked === false) refuse(id);
  }

  /** What the account's keys and the operator have done to it, oldest first. */
  async audit(account: AccountRecord, limit: number): Promise<AuditRecord[]> {
    return await orUnavailable(this.#store.listTeamAudit(account, limit));
  }

  #entry(account: AccountRecord, caller: Caller, act: TeamAct): AuditRecord {
    return teamAct(this.#clock, account, caller, act);
  }

  async #act<T>(work: Promise<T>): Promise<T> {
    return await orUnavailable(orRateLimited(work, this.#clock));
  }
}

function refuse(id: string): never {
  throw new ApiError(noSuch('key', id));
}

export type TeamAct = Pick<AuditRecord, 'action' | 'subject' | 'detail'>;

/** The entry in the audit log for what a key has done within its account. */
export function teamAct(
  clock: Pick<Clock, 'now'>,
  account: AccountRecord,
  { keyId, label }: Caller,
  { action, subject, detail }: TeamAct,
): AuditRecord {
  return {
    id: randomUUID(),
    at: clock.now(),
    actor: `key:${keyId}`,
    action,
    subject,
    detail: `${detail}, by "${label}"`,
    accountId: account.id,
  };
}

/** @throws ApiError 429 if the audit log has no room for the account's actions now */
export async function orRateLimited<T>(work: Promise<T>, clock: Pick<Clock, 'now'>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof FullError)) throw error;
    const seconds = Math.max(1, Math.ceil((error.nextEnd - clock.now()) / 1000));
    throw new ApiError(API_ERRORS.rateLimited, { 'Retry-After': String(seconds) });
  }
}
