/** Operations on the signed links of tunnels and on approval requests at them (protocol.md sections 11.2 and 11.3): the store is updated first. */
import { randomBytes } from 'node:crypto';
import { KNOCK_AGENT_MAX_LENGTH, type KnockClient } from '../../shared/control.ts';
import { API_ERRORS, ApiError, withValues } from '../../shared/errors.ts';
import type { KnockAnswer } from '../../shared/knocks.ts';
import type { CreateLink } from '../../shared/links.ts';
import { replaceUnprintable } from '../../shared/unprintable.ts';
import { type ApprovalRequests, endOf } from '../access/approval-requests.ts';
import type { LinkTokens } from '../access/passes.ts';
import type { Clock, Timer } from '../clock.ts';
import type { Log } from '../log.ts';
import type { AccountRecord, LinkRecord, StoredKnock } from '../store/records.ts';
import { FullError, orUnavailable, STORE_RETRY_AFTER_SECONDS } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { type LiveTunnel, tunnelFields } from './live-tunnel.ts';
import type { TunnelService } from './tunnel-service.ts';

/**
 * Maximum number of signed links that a tunnel may have at the same time.
 * @limit owner: Signed links of a tunnel | 409 `too-many-links`
 */
export const LINKS_MAX = 256;
/**
 * Maximum number of a tunnel's signed links that were revoked before they expired: every relay knows them until
 * then; about 50 KB.
 */
export const REVOKED_LINKS_MAX = 1024;
/**
 * Maximum number of visitors that may be approved for a tunnel at the same time.
 * @limit owner: Approved visitors of a tunnel | 409 `too-many-admitted`
 */
export const APPROVED_MAX = 100;
/** Number of attempts to store a change to an approval request when another relay stores one first. */
export const KNOCK_WRITE_ATTEMPTS = 5;

const RULES = { maxLinks: LINKS_MAX, maxRevoked: REVOKED_LINKS_MAX };
/** Too many to guess, though an id alone gives no access. */
const ID_BYTES = 8;

type Tunnels = Pick<TunnelService, 'get' | 'coordination'>;

/** Finds a live tunnel of the account, as the store has it. @throws ApiError 404; 503 */
export async function findTunnel(tunnels: Tunnels, account: AccountRecord, id: string): Promise<LiveTunnel> {
  await tunnels.coordination.followTunnel(id);
  return tunnels.get(account, id);
}

interface TunnelLinksDeps {
  readonly tunnels: Tunnels;
  readonly store: Pick<Store, 'insertLink' | 'linksOf' | 'revokeLink'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly tokens: LinkTokens;
}

/** A new link. */
export interface MadeLink {
  readonly tunnel: LiveTunnel;
  readonly link: LinkRecord;
  /** for the query of its address */
  readonly token: string;
}

export class TunnelLinks {
  readonly #deps: TunnelLinksDeps;

  constructor(deps: TunnelLinksDeps) {
    this.#deps = deps;
  }

  /** @throws ApiError 404; 409 if the tunnel allows no links, or there are too many; 503 */
  async create(account: AccountRecord, tunnelId: string, wanted: CreateLink): Promise<MadeLink> {
    const { store, clock, log, tokens } = this.#deps;
    const tunnel = await findTunnel(this.#deps.tunnels, account, tunnelId);
    if (tunnel.access?.takesLinks !== true) throw new ApiError(API_ERRORS.linksOff);
    const createdAt = clock.now();
    const link = {
      id: randomBytes(ID_BYTES).toString('hex'),
      linkScope: tunnel.linkScope,
      note: wanted.note,
      path: wanted.path ?? null,
      once: wanted.once === true,
      usedAt: null,
      usedBy: null,
      createdAt,
      // Passes end at whole seconds.
      expiresAt: Math.ceil(createdAt / 1000 + wanted.ttl) * 1000,
      revokedAt: null,
    };
    const isStored = await orUnavailable(store.insertLink(link, RULES)).catch(refuseFull);
    if (!isStored) throw new ApiError(API_ERRORS.tunnelNotFound);
    const expires_at = new Date(link.expiresAt).toISOString();
    log('link created', { ...tunnelFields(tunnel), link: link.id, expires_at });
    const token = tokens.make(tunnel.linkScope, {
      id: link.id,
      note: link.note,
      end: link.expiresAt / 1000,
      once: link.once,
    });
    return { tunnel, link, token };
  }

  /**
   * @returns links that have neither ended nor been revoked, newest first
   * @throws ApiError 404; 503
   */
  async list(account: AccountRecord, tunnelId: string): Promise<LinkRecord[]> {
    const { store, clock } = this.#deps;
    const tunnel = await findTunnel(this.#deps.tunnels, account, tunnelId);
    return await orUnavailable(store.linksOf(tunnel.linkScope, clock.now()));
  }

  /**
   * Revokes a link, and the access of visitors who have used it.
   *
   * @throws ApiError 404, also for one that has ended; 503
   */
  async revoke(account: AccountRecord, tunnelId: string, id: string): Promise<void> {
    const { store, clock, log, tunnels } = this.#deps;
    const tunnel = await findTunnel(this.#deps.tunnels, account, tunnelId);
    const revocation = await orUnavailable(store.revokeLink(tunnel.linkScope, id, clock.now()));
    if (revocation === undefined) throw new ApiError(API_ERRORS.tunnelNotFound);
    const { coordination } = tunnels;
    // An earlier attempt may have done it, but lost the answer.
    coordination.lifecycle.revokeLinks(tunnel, revocation.revoked);
    coordination.tell({ kind: 'access', id: tunnel.id });
    if (!revocation.isFirst) throw new ApiError(API_ERRORS.linkNotFound);
    log('link revoked', { ...tunnelFields(tunnel), link: id });
  }
}

function refuseFull(error: unknown): never {
  if (!(error instanceof FullError)) throw error;
  const time = new Date(error.nextEnd).toISOString();
  throw new ApiError(
    withValues(API_ERRORS.tooManyLinks, { number: LINKS_MAX, more: REVOKED_LINKS_MAX, time }),
  );
}

interface TunnelApprovalsDeps {
  readonly tunnels: Tunnels;
  readonly store: Pick<Store, 'setKnocks' | 'findTunnel'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Fulfilled when the other processes of this relay follow what was stored. */
  readonly heard?: () => Promise<void>;
}

/** The maximum number of approval requests is reached. */
export class TooManyApprovalRequestsError extends Error {
  /** until one more may be accepted */
  readonly ms: number;

  constructor(ms: number) {
    super('too many visitors knock');
    this.name = 'TooManyKnocksError';
    this.ms = ms;
  }
}

/** Returns what to store instead of the tunnel's present requests; refuses the change by throwing. */
type Change = (knocks: ApprovalRequests, now: number) => StoredKnock;

export class TunnelApprovals {
  readonly #deps: TunnelApprovalsDeps;
  /** the last write of a tunnel that is in progress */
  readonly #writes = new WeakMap<LiveTunnel, Promise<unknown>>();
  /** addresses of requests that are being stored */
  readonly #arriving = new WeakMap<LiveTunnel, string[]>();

  constructor(deps: TunnelApprovalsDeps) {
    this.#deps = deps;
  }

  /**
   * A visitor asks for approval. If too many already wait, the store is not queried.
   *
   * @param agent the visitor's `User-Agent`
   * @param client the agent that the visitor asks for, if it is for one
   * @throws TooManyApprovalRequestsError; ApiError 404 if the tunnel is gone, 503
   */
  async knock(
    tunnel: LiveTunnel,
    address: string,
    agent: string,
    client?: KnockClient,
  ): Promise<StoredKnock> {
    const { clock, log, heard } = this.#deps;
    const arriving = this.#arriving.get(tunnel) ?? [];
    const must = (knocks: ApprovalRequests, others: readonly string[], now: number): void => {
      const ms = knocks.wait(address, others, now);
      if (ms > 0) throw new TooManyApprovalRequestsError(ms);
    };
    must(tunnel.knocks, arriving, clock.now());
    arriving.push(address);
    this.#arriving.set(tunnel, arriving);
    const id = randomBytes(ID_BYTES).toString('hex');
    const said = replaceUnprintable(agent, '').slice(0, KNOCK_AGENT_MAX_LENGTH);
    try {
      const knock = await this.#write(tunnel, (knocks, now) => {
        must(knocks, [], now);
        return { id, address, agent: said, at: now, answer: null, ...(client !== undefined && { client }) };
      });
      log('visitor knocked', { ...tunnelFields(tunnel), knock: id });
      // The visitor may wait at another of them.
      await heard?.();
      return knock;
    } finally {
      arriving.splice(arriving.indexOf(address), 1);
    }
  }

  /**
   * @returns waiting, approved and recently denied visitors, oldest first
   * @throws ApiError 404; 503
   */
  async list(account: AccountRecord, tunnelId: string): Promise<StoredKnock[]> {
    const tunnel = await findTunnel(this.#deps.tunnels, account, tunnelId);
    return tunnel.knocks.current(this.#deps.clock.now());
  }

  /**
   * Approves or denies a visitor, or revokes an earlier approval.
   *
   * @throws ApiError 404, also for an expired request; 409 if too many visitors are approved; 503
   */
  async answer(
    account: AccountRecord,
    tunnelId: string,
    id: string,
    answer: KnockAnswer,
  ): Promise<StoredKnock> {
    const tunnel = await findTunnel(this.#deps.tunnels, account, tunnelId);
    const answered = await this.#write(tunnel, (knocks, now) => {
      const knock = knocks.find(id, now);
      if (knock === undefined) throw new ApiError(API_ERRORS.knockNotFound);
      if (!answer.admit) return { ...knock, answer: false };
      assertCapacity(knocks, knock, now);
      return { ...knock, answer: now + answer.seconds * 1000 };
    });
    this.#deps.log('knock answered', { ...tunnelFields(tunnel), knock: id, admitted: answer.admit });
    return answered;
  }

  /**
   * Ends an approval that is used up: an agent is approved once.
   *
   * @throws ApiError 404 if there is none, also for one that was used up before; 503
   */
  async useUp(tunnel: LiveTunnel, id: string): Promise<void> {
    await this.#write(tunnel, (knocks, now) => {
      const knock = knocks.isApproved(id, now) ? knocks.find(id, now) : undefined;
      if (knock === undefined) throw new ApiError(API_ERRORS.knockNotFound);
      return { ...knock, answer: now };
    });
  }

  /** One after the other: each starts with the result of the previous one. */
  async #write(tunnel: LiveTunnel, change: Change): Promise<StoredKnock> {
    const write = (): Promise<StoredKnock> => this.#writeNow(tunnel, change);
    const written = (this.#writes.get(tunnel) ?? Promise.resolve()).then(write, write);
    this.#writes.set(tunnel, written);
    return await written;
  }

  async #writeNow(tunnel: LiveTunnel, change: Change): Promise<StoredKnock> {
    const { tunnels, store, clock } = this.#deps;
    const { lifecycle } = tunnels.coordination;
    for (let attempt = 0; attempt < KNOCK_WRITE_ATTEMPTS; attempt += 1) {
      const { id, access, knocks, revisions } = tunnel;
      const now = clock.now();
      const changed = change(knocks, now);
      const stored = { version: access?.version ?? '', knocks: knocks.with(changed, now) };
      const revision = await orUnavailable(store.setKnocks(id, stored, revisions));
      if (revision !== undefined) {
        lifecycle.setKnocks(tunnel, stored, revision);
        tunnels.coordination.tell({ kind: 'access', id });
        return changed;
      }
      // Another relay was faster, or a previous write has taken effect although its answer was lost.
      const owned = await orUnavailable(store.findTunnel(id));
      if (owned === undefined) throw new ApiError(API_ERRORS.tunnelNotFound);
      lifecycle.follow(tunnel, owned);
    }
    throw new ApiError(API_ERRORS.unavailable, { 'Retry-After': String(STORE_RETRY_AFTER_SECONDS) });
  }
}

function assertCapacity(knocks: ApprovalRequests, { id }: StoredKnock, now: number): void {
  const others = knocks.approved(now).filter((knock) => knock.id !== id);
  const [first] = others;
  if (first === undefined || others.length < APPROVED_MAX) return;
  const time = new Date(endOf(first)).toISOString();
  throw new ApiError(withValues(API_ERRORS.tooManyAdmitted, { number: APPROVED_MAX, time }));
}

/* Reports when a visitor's approval ends, so that the visitor's WebSockets can be closed. */

export class ApprovalExpiry {
  readonly #clock: Clock;
  readonly #onEnd: (tunnel: LiveTunnel) => void;
  /** by the tunnel's id: tunnels with approved visitors */
  readonly #timers = new Map<string, Timer>();

  /** @param onEnd called when an approval ends */
  constructor(clock: Clock, onEnd: (tunnel: LiveTunnel) => void) {
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  /** The approved visitors may have changed. */
  watch(tunnel: LiveTunnel): void {
    this.forget(tunnel);
    const now = this.#clock.now();
    const [first] = tunnel.knocks.approved(now);
    if (first === undefined) return;
    this.#timers.set(
      tunnel.id,
      this.#clock.setTimeout(
        () => {
          this.watch(tunnel);
          this.#onEnd(tunnel);
        },
        endOf(first) - now,
      ),
    );
  }

  /** The tunnel has ended. */
  forget({ id }: LiveTunnel): void {
    this.#timers.get(id)?.cancel();
    this.#timers.delete(id);
  }
}
