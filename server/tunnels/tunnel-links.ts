/** Operations on the signed links of tunnels (protocol.md section 11.2): the store is updated first. */
import { randomBytes } from 'node:crypto';
import { API_ERRORS, ApiError, tooManyLinks } from '../../shared/errors.ts';
import type { CreateLink } from '../../shared/links.ts';
import type { LinkTokens } from '../access/passes.ts';
import type { Clock } from '../clock.ts';
import { LINKS_MAX, REVOKED_LINKS_MAX } from '../limits.ts';
import type { Log } from '../log.ts';
import type { AccountRecord, LinkRecord } from '../store/records.ts';
import { FullError, orUnavailable } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { type LiveTunnel, tunnelFields } from './live-tunnel.ts';
import type { TunnelService } from './tunnel-service.ts';

const RULES = { maxLinks: LINKS_MAX, maxRevoked: REVOKED_LINKS_MAX };
/** Too many to guess, though the id alone gives no access. */
const ID_BYTES = 8;

interface TunnelLinksDeps {
  readonly tunnels: Pick<TunnelService, 'get' | 'coordination'>;
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
    const tunnel = await this.#get(account, tunnelId);
    if (tunnel.access?.takesLinks !== true) throw new ApiError(API_ERRORS.linksOff);
    const createdAt = clock.now();
    const link = {
      id: randomBytes(ID_BYTES).toString('hex'),
      tunnelId,
      note: wanted.note,
      path: wanted.path ?? null,
      createdAt,
      // Passes end at whole seconds.
      expiresAt: Math.ceil(createdAt / 1000 + wanted.ttl) * 1000,
    };
    const isStored = await orUnavailable(store.insertLink(link, RULES)).catch(refuseFull);
    if (!isStored) throw new ApiError(API_ERRORS.tunnelNotFound);
    const expires_at = new Date(link.expiresAt).toISOString();
    log('link created', { ...tunnelFields(tunnel), link: link.id, expires_at });
    const token = tokens.make(tunnelId, {
      id: link.id,
      note: link.note,
      end: link.expiresAt / 1000,
    });
    return { tunnel, link, token };
  }

  /**
   * @returns links that have neither ended nor been revoked, newest first
   * @throws ApiError 404; 503
   */
  async list(account: AccountRecord, tunnelId: string): Promise<LinkRecord[]> {
    const { store, clock } = this.#deps;
    const tunnel = await this.#get(account, tunnelId);
    return await orUnavailable(store.linksOf(tunnel.id, clock.now()));
  }

  /**
   * Revokes a link, and the access of visitors who have used it.
   *
   * @throws ApiError 404, also for one that has ended; 503
   */
  async revoke(account: AccountRecord, tunnelId: string, id: string): Promise<void> {
    const { store, clock, log, tunnels } = this.#deps;
    const tunnel = await this.#get(account, tunnelId);
    const revocation = await orUnavailable(store.revokeLink(tunnel.id, id, clock.now()));
    if (revocation === undefined) throw new ApiError(API_ERRORS.tunnelNotFound);
    const { coordination } = tunnels;
    // An earlier attempt may have done it, but lost the answer.
    coordination.lifecycle.revokeLinks(tunnel, revocation.revoked);
    coordination.tell({ kind: 'access', id: tunnel.id });
    if (!revocation.isFirst) throw new ApiError(API_ERRORS.linkNotFound);
    log('link revoked', { ...tunnelFields(tunnel), link: id });
  }

  async #get(account: AccountRecord, tunnelId: string): Promise<LiveTunnel> {
    const { tunnels } = this.#deps;
    await tunnels.coordination.followTunnel(tunnelId);
    return tunnels.get(account, tunnelId);
  }
}

function refuseFull(error: unknown): never {
  if (!(error instanceof FullError)) throw error;
  const next = new Date(error.nextEnd).toISOString();
  throw new ApiError(tooManyLinks(LINKS_MAX, REVOKED_LINKS_MAX, next));
}
