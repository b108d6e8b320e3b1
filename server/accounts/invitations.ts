/**
 * Invitations: addresses that give their recipient a key of an account, so that no key has to be sent
 * (protocol.md section 13).
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import { INVITATION_TOKEN } from '../../shared/team.ts';
import type { Clock } from '../clock.ts';
import { INVITE_TRIES_PER_MINUTE } from '../limits.ts';
import type { Log } from '../log.ts';
import { RateLimiter } from '../rate-limiter.ts';
import type { AccountRecord, InvitationRecord, OpenInvitation } from '../store/records.ts';
import { orUnavailable } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { type IssuedKey, newKey } from './accounts.ts';

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
  return { token, record: { id: randomUUID(), accountId: account.id, hash: hashOf(token), label, ...times } };
}

/** A key created by accepting an invitation. */
export interface TakenInvitation extends IssuedKey {
  readonly account: AccountRecord;
}

export interface InvitationsOptions {
  readonly store: Pick<Store, 'findInvitation' | 'takeInvitation'>;
  readonly clock: Clock;
  readonly log: Log;
}

export class Invitations {
  readonly #options: InvitationsOptions;
  /** by address: views and attempts that are not known to be valid, so that a whole office can accept invitations */
  readonly #tries: RateLimiter;

  constructor(options: InvitationsOptions) {
    this.#options = options;
    const rate = { perMinute: INVITE_TRIES_PER_MINUTE, burst: INVITE_TRIES_PER_MINUTE };
    this.#tries = new RateLimiter(options.clock, rate);
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
    const wait = address === undefined ? 0 : this.#tries.take(address);
    if (wait > 0) throw new ApiError(API_ERRORS.rateLimited, { 'Retry-After': String(wait) });
    const found = await orUnavailable(store.findInvitation(hashOf(token), clock.now()));
    if (found === undefined) throw new ApiError(API_ERRORS.invitationNotFound);
    if (address !== undefined) this.#tries.giveBack(address);
    return found;
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
      detail: `key ${issued.record.hint}…, "${label}"`,
      accountId: null,
    };
    const isTaken = await orUnavailable(store.takeInvitation(id, { key: issued.record, act }, clock.now()));
    if (!isTaken) throw new ApiError(API_ERRORS.invitationNotFound);
    log('invitation taken', { account: account.id, invitation: id });
    return { ...issued, account };
  }
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
