/**
 * Who may stay when there are more connections than the relay can hold. A request to a tunnel takes a seat, and keeps it
 * while its connection waits for the next one, as long as nobody else needs it.
 */
import { ACCOUNT_SHARE } from '../../limits.ts';

/** How many connections there may be. Those given away to `link` are no longer among them. */
export interface SeatLimits {
  /** connections with a seat */
  readonly visitors: number;
  /** connections without one: new ones, and those to which only the relay itself has responded; the oldest gives way */
  readonly newcomers: number;
}

/** A connection, as seen by whoever gives out seats. */
export interface Occupant {
  /** It waits for a request, and somebody else needs its seat: it is to end (RFC 9112 section 9.3). */
  giveWay(): void;
  /** Cuts the connection. */
  destroy(): void;
}

/** Why there is no seat. `full`: all are busy. `share`: the remaining ones are for the tunnels of others. */
export type NoSeat = 'full' | 'share';

export class Seats {
  readonly limits: SeatLimits;
  /** places whose connections wait for a next request, longest first */
  readonly idle = new Set<Place>();
  /** places without a seat, in the order in which their connections last did something */
  readonly newcomers = new Set<Place>();
  /** seats of requests that are under way */
  busy = 0;
  /** how many of them requests to an account's tunnels hold, by the account's id; never 0 */
  readonly byAccount = new Map<string, number>();

  constructor(limits: SeatLimits) {
    this.limits = limits;
  }
}

/** What one connection has: a seat or none. */
export class Place {
  readonly #seats: Seats;
  readonly #occupant: Occupant;
  #state: 'newcomer' | 'busy' | 'idle' | 'left' = 'newcomer';
  #account: string | undefined;

  constructor(seats: Seats, occupant: Occupant) {
    this.#seats = seats;
    this.#occupant = occupant;
    this.#enter();
  }

  /**
   * Takes a seat for a request; if none is free, from the connection that has waited longest for its next request.
   *
   * @param account id of the account of the tunnel that the request goes to, if that is already known
   * @returns why there is none; nothing has changed then
   */
  take(account: string | undefined): NoSeat | undefined {
    const { limits, idle, newcomers, busy, byAccount } = this.#seats;
    const hasRoom = this.#state === 'idle' || busy + idle.size < limits.visitors;
    if (!hasRoom && idle.size === 0) return 'full';
    const held = account === undefined ? 0 : (byAccount.get(account) ?? 0);
    // Whatever its plan: the more seats an account holds, the more must be left for others.
    if (held >= ACCOUNT_SHARE * (limits.visitors - busy)) return 'share';
    if (!hasRoom) this.#displace();
    if (this.#state === 'idle') idle.delete(this);
    else newcomers.delete(this);
    this.#state = 'busy';
    this.#seats.busy += 1;
    this.#account = account;
    if (account !== undefined) byAccount.set(account, held + 1);
    return undefined;
  }

  /** A tunnel has responded to its request, and the connection waits for the next one. */
  rest(): void {
    if (this.#state !== 'busy') return;
    this.#release();
    this.#state = 'idle';
    this.#seats.idle.add(this);
  }

  /** The relay itself responds, which takes no seat: one that the connection has is free for others. */
  stand(): void {
    this.#leave();
    this.#enter();
  }

  /** The connection is gone. */
  leave(): void {
    this.#leave();
    this.#state = 'left';
  }

  #enter(): void {
    const { limits, newcomers } = this.#seats;
    this.#state = 'newcomer';
    newcomers.add(this);
    if (newcomers.size <= limits.newcomers) return;
    const [oldest] = newcomers;
    if (oldest === undefined) return;
    oldest.leave();
    oldest.#occupant.destroy();
  }

  #displace(): void {
    const [longest] = this.#seats.idle;
    if (longest === undefined) return;
    longest.stand();
    longest.#occupant.giveWay();
  }

  #leave(): void {
    if (this.#state === 'newcomer') this.#seats.newcomers.delete(this);
    else if (this.#state === 'idle') this.#seats.idle.delete(this);
    else if (this.#state === 'busy') this.#release();
  }

  #release(): void {
    const { byAccount } = this.#seats;
    this.#seats.busy -= 1;
    if (this.#account === undefined) return;
    const left = (byAccount.get(this.#account) ?? 0) - 1;
    if (left > 0) byAccount.set(this.#account, left);
    else byAccount.delete(this.#account);
  }
}
