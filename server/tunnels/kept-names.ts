/** Operations on the names that accounts keep (protocol.md section 16): they update the store first, then the relay. */
import { randomUUID } from 'node:crypto';
import { API_ERRORS, ApiError, withValues } from '../../shared/errors.ts';
import type { NameChanges } from '../../shared/names.ts';
import { PLAN_RULES } from '../accounts/accounts.ts';
import { type Caller, orRateLimited, teamAct } from '../accounts/team.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import { type AccountRecord, awayOf, type KeptName } from '../store/records.ts';
import { ConflictError, FullError, orUnavailable } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import type { TunnelRegistry } from './registry.ts';
import type { TunnelService } from './tunnel-service.ts';

interface KeptNamesDeps {
  readonly store: Pick<Store, 'keepName' | 'keptNames' | 'changeName' | 'act'>;
  readonly tunnels: Pick<TunnelService, 'coordination'>;
  readonly registry: Pick<TunnelRegistry, 'bySlug' | 'isReserved'>;
  readonly clock: Clock;
  readonly log: Log;
  /** how long the name of an ended tunnel is reserved for its account, in seconds */
  readonly nameHold: number;
}

/** A kept name, and the account's live tunnel that has it. */
export interface NameWithTunnel {
  readonly kept: KeptName;
  /** `null`: there is none */
  readonly tunnelId: string | null;
}

export class KeptNames {
  readonly #deps: KeptNamesDeps;

  constructor(deps: KeptNamesDeps) {
    this.#deps = deps;
  }

  /** @returns the account's kept names, oldest first @throws ApiError 503 */
  async list(account: AccountRecord): Promise<NameWithTunnel[]> {
    const { store, tunnels } = this.#deps;
    await tunnels.coordination.followAccount(account);
    const names = await orUnavailable(store.keptNames(account.id));
    return names.map((kept) => this.#withTunnel(account, kept));
  }

  /**
   * Keeps a name until it is let go.
   *
   * @returns with `isNew` false if the account keeps it already
   * @throws ApiError 403 by the plan; 409 for a name that is reserved, or another account's in any way; 503
   */
  async keep(account: AccountRecord, name: string): Promise<NameWithTunnel & { readonly isNew: boolean }> {
    const { store, registry, tunnels, clock, log, nameHold } = this.#deps;
    if (registry.isReserved(name)) throw new ApiError(API_ERRORS.nameReserved);
    const createdAt = clock.now();
    const links = { linkScope: randomUUID(), linksSince: createdAt };
    const wanted: KeptName = { name, accountId: account.id, createdAt, away: null, until: null, ...links };
    const { title, maxNames } = PLAN_RULES[account.plan];
    const rules = { maxNames, nameHold: nameHold * 1000 };
    let kept: KeptName | undefined;
    try {
      kept = await orUnavailable(store.keepName(wanted, rules));
    } catch (error) {
      if (error instanceof FullError) {
        const refusal = withValues(API_ERRORS.tooManyNames, { plan: title, number: maxNames });
        throw new ApiError(refusal);
      }
      throw error instanceof ConflictError ? new ApiError(API_ERRORS.nameTaken) : error;
    }
    await tunnels.coordination.followAccount(account);
    if (kept === undefined) {
      const earlier = (await this.list(account)).find((one) => one.kept.name === name);
      if (earlier === undefined) throw new ApiError(API_ERRORS.unavailable, { 'Retry-After': '1' });
      return { ...earlier, isNew: false };
    }
    tunnels.coordination.nameChanged(name);
    log('name kept', { slug: name, account: account.id });
    return { ...this.#withTunnel(account, kept), isNew: true };
  }

  /** @throws ApiError 404; 503 */
  async change(account: AccountRecord, name: string, changes: NameChanges): Promise<NameWithTunnel> {
    const { store } = this.#deps;
    const kept = await orUnavailable(store.changeName({ name, accountId: account.id }, changes));
    if (kept === undefined) throw new ApiError(API_ERRORS.nameNotFound);
    await this.#follow(account, name, kept);
    return this.#withTunnel(account, kept);
  }

  /** Lets a name go. @throws ApiError 404; 503 */
  async release(account: AccountRecord, name: string, caller: Caller): Promise<void> {
    const { store, clock, log } = this.#deps;
    const entry = teamAct(clock, account, caller, {
      action: 'team.release-name',
      subject: name,
      detail: 'kept',
    });
    const released = store.act('releaseName', [{ name, accountId: account.id }, clock.now()], [entry]);
    if (!(await orUnavailable(orRateLimited(released, clock)))) throw new ApiError(API_ERRORS.nameNotFound);
    await this.#follow(account, name, undefined);
    log('name released', { slug: name, account: account.id });
  }

  /** What visitors read counts for a tunnel whose client is away, at every relay. */
  async #follow(account: AccountRecord, name: string, kept: KeptName | undefined): Promise<void> {
    const { coordination } = this.#deps.tunnels;
    coordination.nameChanged(name);
    await coordination.followAccount(account);
    const tunnel = this.#deps.registry.bySlug(name);
    if (tunnel?.account.id !== account.id) return;
    tunnel.away = awayOf(kept);
    coordination.tell({ kind: 'access', id: tunnel.id });
  }

  #withTunnel(account: AccountRecord, kept: KeptName): NameWithTunnel {
    const tunnel = this.#deps.registry.bySlug(kept.name);
    return { kept, tunnelId: tunnel?.account.id === account.id ? tunnel.id : null };
  }
}
