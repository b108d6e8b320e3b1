/**
 * The people of an account: an owner invites and revokes them, and sees what they have done (protocol.md section 15).
 * Invitations are addresses that give their recipient a key of the account, so that no key has to be sent (section 13).
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { API_ERRORS, ApiError, withValues } from '../../shared/errors.ts';
import { INVITATION_TOKEN } from '../../shared/team.ts';
import { quoted } from '../../shared/unprintable.ts';
import type { Clock } from '../clock.ts';
import type { Limit } from '../rate-limiter.ts';
import type { Log } from '../log.ts';
import type {
  AccountRecord,
  AuditRecord,
  InvitationRecord,
  KeyListing,
  KeyOwner,
  OpenInvitation,
} from '../store/records.ts';
import { FullError, orUnavailable } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { type IssuedKey, newKey } from './accounts.ts';
import { hashKey } from './api-keys.ts';
import { CredentialLookups } from './credential-lookups.ts';

/** Maximum number of times per minute that an IP address may open or accept an invitation that is not valid. */
export const INVITE_TRIES_PER_MINUTE = 30;

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
        detail: `invite:${id} for ${quoted(label)}`,
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
      detail: `${what} of ${quoted(label)}`,
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
  throw new ApiError(withValues(API_ERRORS.noSuch, { kind: 'key', name: id }));
}

type TeamAct = Pick<AuditRecord, 'action' | 'subject' | 'detail'>;

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
    detail: `${detail}, by ${quoted(label)}`,
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

/** Bytes: too many to guess, and an address with them fits into one line of a mail. */
const TOKEN_BYTES = 24;

/** An invitation that is not stored yet. The token is known only here. */
export interface NewInvitation {
  readonly token: string;
  readonly record: InvitationRecord;
}

/** @param ttl seconds */
export function newInvitation(
  clock: Pick<Clock, 'now'>,
  account: AccountRecord,
  { ttl, label = '' }: { readonly ttl: number; readonly label?: string },
): NewInvitation {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const createdAt = clock.now();
  const times = { createdAt, expiresAt: createdAt + ttl * 1000 };
  return {
    token,
    record: { id: randomUUID(), accountId: account.id, hash: hashKey(token), label, ...times },
  };
}

/** A key created by accepting an invitation. */
interface TakenInvitation extends IssuedKey {
  readonly account: AccountRecord;
}

interface InvitationsOptions {
  readonly store: Pick<Store, 'findInvitation' | 'takeInvitation'>;
  readonly clock: Clock;
  readonly log: Log;
  /** counts wrong ones at all relays that share the database */
  readonly limit: Limit;
}

export class Invitations {
  readonly #options: InvitationsOptions;
  readonly #lookups: CredentialLookups;

  constructor(options: InvitationsOptions) {
    this.#options = options;
    this.#lookups = new CredentialLookups({
      clock: options.clock,
      perMinute: INVITE_TRIES_PER_MINUTE,
      limit: options.limit,
      kind: 'invitation',
      wrong: () => new ApiError(API_ERRORS.invitationNotFound),
      tooMany: API_ERRORS.rateLimited,
    });
  }

  /**
   * Looks up an invitation without changing it.
   *
   * @param address whose attempts are counted, if any
   * @throws ApiError 404 for an unknown, accepted or expired one; 429; 503
   */
  async find(token: string, address: string | undefined): Promise<OpenInvitation> {
    const { store, clock } = this.#options;
    if (!INVITATION_TOKEN.test(token)) throw new ApiError(API_ERRORS.invitationNotFound);
    return await this.#lookups.find(address, () =>
      orUnavailable(store.findInvitation(hashKey(token), clock.now())),
    );
  }

  /**
   * Exchanges an invitation for a new key of its account. It is stored when this is fulfilled.
   *
   * @param machine the key's label, if the invitation has none
   * @throws ApiError as {@link find} does
   */
  async take(token: string, machine: string, address: string | undefined): Promise<TakenInvitation> {
    const { store, clock, log } = this.#options;
    const { id, account, label: given } = await this.find(token, address);
    const label = given === '' ? machine : given;
    const issued = newKey(clock, account, { label });
    const act = {
      id: randomUUID(),
      at: clock.now(),
      actor: `invite:${id}`,
      action: 'invite.take',
      subject: account.name,
      detail: `key ${issued.record.hint}…, ${quoted(label)}`,
      accountId: null,
    };
    const isTaken = await orUnavailable(store.takeInvitation(id, { key: issued.record, act }, clock.now()));
    if (!isTaken) throw new ApiError(API_ERRORS.invitationNotFound);
    log('invitation taken', { account: account.id, invitation: id });
    return { ...issued, account };
  }
}
