/** Closes tunnels at the relay: now, or later if it cannot be told now. */
import type { ApiClient } from '../relay/api-client.ts';
import { RelayRefusal } from '../relay/errors.ts';

type CloseApi = Pick<ApiClient, 'closeTunnel'>;

export class RelayCloser {
  readonly #unclosed = new Set<string>();

  /** ids of tunnels that still have to be closed at the relay */
  get unclosed(): ReadonlySet<string> {
    return this.#unclosed;
  }

  /**
   * A tunnel that could not be closed is closed by a later {@link RelayCloser.retry}.
   *
   * @param timeoutMs how long the relay may take
   * @returns why it could not be closed; `undefined` once the relay has no such tunnel
   */
  async close(api: CloseApi, id: string, timeoutMs?: number): Promise<unknown> {
    this.#unclosed.add(id);
    try {
      await api.closeTunnel(id, timeoutMs);
    } catch (error) {
      // 404 means that the tunnel was closed or has expired in the meantime, which was the goal.
      if (!(error instanceof RelayRefusal && error.isOwn && error.status === 404)) return error;
    }
    this.#unclosed.delete(id);
    return undefined;
  }

  /** Closes what could not be closed before, as far as that is possible now. */
  async retry(api: CloseApi): Promise<void> {
    for (const id of this.#unclosed) await this.close(api, id);
  }
}
