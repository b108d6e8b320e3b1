/** The inbound connections of one tunnel that wait for their data sockets, and where they are announced. */
import { type KeyEnd, PENDING_TIMEOUT_MS } from '../../shared/control.ts';
import type { Clock, Timer } from '../clock.ts';
import { CLAIM_GRACE_MS, HOLD_OVER_MS } from '../limits.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { DialFault, DialHandler } from '../tunnels/stream.ts';
import type { ControlSocket } from './control-socket.ts';
import type { Announced, Ownership } from './ownership.ts';

/** An inbound connection that waits for its data socket. */
export interface Pending {
  /** that opens its data socket; `undefined` before it has to be announced */
  id: string | undefined;
  readonly tunnel: LiveTunnel;
  readonly handler: DialHandler;
  /** since when it waits, monotonic ms */
  readonly since: number;
  timer: Timer | undefined;
  /** until when its id opens a data socket, monotonic ms */
  idEnds: number;
  /** id of the key of the control socket that it was announced on last */
  announcedTo: string | undefined;
  /** whether another relay is being asked to announce it */
  asking: boolean;
  /** fencing number of the control socket on another relay that it was announced on last; 0 for none */
  fence: number;
  /** the highest of those that have come while another relay was being asked; 0 for none */
  newestFence: number;
}

export interface WaitingVisitorsOptions {
  readonly clock: Clock;
  /** since when the client is missed, monotonic ms */
  readonly leftAt: number;
  readonly tunnelId: string;
  /** where the client may be instead of here */
  readonly presence: Ownership;
  /** with the client's control socket, if it is here */
  readonly link: { readonly control: ControlSocket | undefined };
  readonly ids: ConnectionIds;
}

/** The ids of what waits, of all tunnels. */
export interface ConnectionIds {
  /** Gives one the id that opens its data socket. */
  name(pending: Pending): string;
  /** Such an id opens nothing any more. */
  forget(id: string): void;
}

/** Of all tunnels that never had one, which are most: a set takes memory while it is empty. */
const NONE = new Set<Pending>();

const APART_TEXT =
  'The relays of this service cannot reach each other right now, and the client of this tunnel may be on another one. Try again in a moment.';

export class WaitingVisitors {
  readonly #clock: Clock;
  readonly #tunnelId: string;
  readonly #presence: Ownership;
  readonly #link: WaitingVisitorsOptions['link'];
  readonly #ids: ConnectionIds;
  #pending = NONE;
  /** Monotonic ms at which the client was last seen to leave; -Infinity for one that has never been there. */
  #leftAt: number;

  constructor({ clock, leftAt, tunnelId, presence, link, ids }: WaitingVisitorsOptions) {
    this.#clock = clock;
    this.#leftAt = leftAt;
    this.#tunnelId = tunnelId;
    this.#presence = presence;
    this.#link = link;
    this.#ids = ids;
  }

  get size(): number {
    return this.#pending.size;
  }

  has(pending: Pending): boolean {
    return this.#pending.has(pending);
  }

  add(pending: Pending): void {
    if (this.#pending === NONE) this.#pending = new Set();
    this.#pending.add(pending);
  }

  /** It waits no longer. */
  release(pending: Pending): void {
    pending.timer?.cancel();
    this.#pending.delete(pending);
    if (pending.id !== undefined) this.#ids.forget(pending.id);
  }

  /** Announces one where the client is, or lets it wait for the client where that has just left. */
  seek(pending: Pending): void {
    const control = this.#link.control;
    if (control !== undefined) return this.#announce(pending, control);
    if (!this.#presence.hasOthers) return this.failIn(this.#holdOver(), pending, 'tunnel-offline');
    this.#expectData(pending);
    pending.asking = true;
    pending.newestFence = 0;
    const announced = (result: Announced) => this.#announcedElsewhere(pending, result);
    this.#presence.announce(this.#tunnelId, { id: (pending.id ??= this.#ids.name(pending)), announced });
  }

  /** Announces all of them where the client is now. */
  seekAgain(): void {
    for (const pending of this.#pending) this.seek(pending);
  }

  /** The client has come to another relay; what was announced on this very control socket is not announced on it again. */
  cameElsewhere(fence: number): void {
    for (const pending of this.#pending) {
      if (pending.asking) pending.newestFence = Math.max(pending.newestFence, fence);
      else if (pending.fence < fence) this.seek(pending);
    }
  }

  /** ms since the client has left; Infinity for one that has never been there. */
  get awayMs(): number {
    return this.#clock.monotonic() - this.#leftAt;
  }

  /** The client has left this relay. What it was told went with it, so they wait for it like those that come now. */
  clientLeft(): void {
    this.#leftAt = this.#clock.monotonic();
    this.holdOver();
  }

  /** All of them wait for the client, for as long as for one that has just left. */
  holdOver(): void {
    for (const pending of this.#pending) this.failIn(HOLD_OVER_MS, pending, 'tunnel-offline');
  }

  /** Ids of the keys that they were announced to. */
  *keysInUse(): Generator<string> {
    for (const { announcedTo } of this.#pending) if (announcedTo !== undefined) yield announcedTo;
  }

  /** What was announced through keys that are no longer valid has nobody to wait for. */
  revoke(keys: ReadonlyMap<string, KeyEnd>): void {
    for (const pending of this.#pending) {
      const { announcedTo } = pending;
      if (announcedTo !== undefined && keys.has(announcedTo)) this.#fail(pending, 'tunnel-offline');
    }
  }

  failAll(fault: DialFault): void {
    for (const pending of this.#pending) this.#fail(pending, fault);
  }

  /** Gives one `ms` from now. */
  failIn(ms: number, pending: Pending, fault: DialFault, text?: string): void {
    pending.timer?.cancel();
    pending.timer = this.#clock.setTimeout(() => this.#fail(pending, fault, text), ms);
  }

  #fail(pending: Pending, fault: DialFault, text?: string): void {
    this.release(pending);
    pending.handler.failed(fault, text);
  }

  #announce(pending: Pending, control: ControlSocket): void {
    control.announce((pending.id ??= this.#ids.name(pending)));
    pending.announcedTo = control.key.keyId;
    this.#expectData(pending);
  }

  #announcedElsewhere(pending: Pending, result: Announced): void {
    pending.asking = false;
    if (!this.#pending.has(pending) || this.#link.control !== undefined) return;
    const fence = result.kind === 'sent' ? result.fence : 0;
    // The client has come, or come again, while that was found out.
    if (pending.newestFence > fence) return this.seek(pending);
    switch (result.kind) {
      case 'sent':
        pending.announcedTo = result.keyId;
        pending.fence = fence;
        return;
      case 'away':
        return this.failIn(Math.max(CLAIM_GRACE_MS, this.#holdOver(result.ms)), pending, 'tunnel-offline');
      case 'apart':
        return this.failIn(this.#holdOver(), pending, 'tunnel-offline', APART_TEXT);
    }
  }

  #expectData(pending: Pending): void {
    pending.idEnds = this.#clock.monotonic() + PENDING_TIMEOUT_MS;
    this.failIn(PENDING_TIMEOUT_MS, pending, 'client-timeout');
  }

  /** ms that visitors wait for a client that has left this relay, or another one so many ms ago. */
  #holdOver(awayMs = Infinity): number {
    return Math.max(0, HOLD_OVER_MS - Math.min(awayMs, this.#clock.monotonic() - this.#leftAt));
  }
}
