/** Closes tunnels at their relay: now, or later if it cannot be told now. */
import type { ApiClient } from '../relay/api-client.ts';
import { RelayRefusal } from '../relay/errors.ts';
import type { RelayAddress } from '../relay/relay-address.ts';

/** A relay, as it can be asked. */
interface Asked {
  readonly relay: Pick<RelayAddress, 'origin'>;
  readonly api: Pick<ApiClient, 'closeTunnel'>;
}

export class RelayCloser {
  /** by id of the tunnel */
  readonly #unclosed = new Map<string, Asked>();

  /** ids of tunnels that still have to be closed */
  get unclosed(): ReadonlySet<string> {
    return new Set(this.#unclosed.keys());
  }

  /**
   * A tunnel that could not be closed is closed by a later {@link RelayCloser.retry}.
   *
   * @param at the relay of the tunnel
   * @param timeoutMs how long the relay may take
   * @returns why it could not be closed; `undefined` once the relay has no such tunnel
   */
  async close(at: Asked, id: string, timeoutMs?: number): Promise<unknown> {
    this.#unclosed.set(id, at);
    try {
      await at.api.closeTunnel(id, timeoutMs);
    } catch (error) {
      // 404 means that the tunnel was closed or has expired in the meantime, which was the goal.
      if (!(error instanceof RelayRefusal && error.isOwn && error.status === 404)) return error;
    }
    this.#unclosed.delete(id);
    return undefined;
  }

  /**
   * Closes what could not be closed before, as far as that is possible now.
   *
   * @param now the current relay, perhaps with a newer key; another relay is asked as before
   */
  async retry(now: Asked): Promise<void> {
    for (const [id, at] of this.#unclosed)
      await this.close(at.relay.origin === now.relay.origin ? now : at, id);
  }
}
