/** Visitors who were let in by their knock are out again at a time; whoever is in a WebSocket then has to be told. */
import type { Clock, Timer } from '../clock.ts';
import type { LiveTunnel } from './live-tunnel.ts';
import { endOf } from '../gate/held-knocks.ts';

export class AdmissionEnds {
  readonly #clock: Clock;
  readonly #onEnd: (tunnel: LiveTunnel) => void;
  /** by the tunnel's id: tunnels with somebody who was let in */
  readonly #timers = new Map<string, Timer>();

  /** @param onEnd told when one of them is out */
  constructor(clock: Clock, onEnd: (tunnel: LiveTunnel) => void) {
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  /** Those who are in may be others than before. */
  watch(tunnel: LiveTunnel): void {
    this.forget(tunnel);
    const now = this.#clock.now();
    const [first] = tunnel.knocks.admitted(now);
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

  /** The tunnel is gone. */
  forget({ id }: LiveTunnel): void {
    this.#timers.get(id)?.cancel();
    this.#timers.delete(id);
  }
}
