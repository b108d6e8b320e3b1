/** Whether a request on a connection is let in: by the limits for its address, and by the relay's seats. */
import type { VisitorErrorCode } from '../../../shared/errors.ts';
import type { LiveTunnel } from '../../tunnels/live-tunnel.ts';
import type { Plan } from '../routing/request-plan.ts';
import { TunnelLookup } from '../routing/tunnel-lookup.ts';
import type { AddressCount } from './address-limits.ts';
import type { Place } from './seats.ts';

/** Why a request is not let in. */
export interface Refusal {
  readonly code: VisitorErrorCode;
  /** what to say instead of the catalogue's text */
  readonly text?: string;
  /** whether the connection itself is one too many */
  readonly ends: boolean;
}

const FULL: Refusal = { code: 'relay-busy', ends: true };
const SHARE: Refusal = {
  code: 'relay-busy',
  text: 'The relay is nearly full, and the places left are for visitors of other tunnels. Try again in a moment.',
  ends: false,
};

export class Admission {
  readonly #place: Place;
  readonly #address: AddressCount;

  constructor(place: Place, address: AddressCount) {
    this.#place = place;
    this.#address = address;
  }

  /**
   * A request begins. Calls of the API and requests of clients are always let in.
   *
   * @param isIntercepted whether the relay responds in place of the tunnel
   */
  begin({ head, route }: Plan, isIntercepted: boolean): Refusal | undefined {
    if (route.kind !== 'relay') {
      const excess = this.#address.begin(head);
      if (excess !== undefined) return { code: 'too-many', ends: excess === 'connection' };
    }
    if (route.kind === 'tunnel' && !isIntercepted) return this.#takeSeat(route.tunnel);
    this.#place.stand();
    return undefined;
  }

  /** The relay has responded in place of the tunnel. */
  refused(): void {
    this.#place.stand();
  }

  /** The request is over. */
  end(): void {
    this.#place.rest();
    this.#address.end();
  }

  /** The connection is gone. */
  leave(): void {
    this.#place.leave();
    this.#address.leave();
  }

  #takeSeat(tunnel: LiveTunnel | TunnelLookup): Refusal | undefined {
    const noSeat = this.#place.take(tunnel instanceof TunnelLookup ? undefined : tunnel.account.id);
    if (noSeat === undefined) return undefined;
    return noSeat === 'full' ? FULL : SHARE;
  }
}
