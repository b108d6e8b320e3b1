import { RelayRefusal } from '../../engine/relay/errors.ts';
import type { RelayApi } from '../connection.ts';

type CloseApi = Pick<RelayApi, 'closeTunnel'>;

/** Closes tunnels at the relay: now, or later if it cannot be told now. */
export class RelayCloser {
  readonly #unclosed = new Set<string>();

  /** ids of tunnels that still have to be closed at the relay */
  get unclosed(): ReadonlySet<string> {
    return this.#unclosed;
  }

  /** Resolves in any case; a tunnel that could not be closed is closed by a later {@link RelayCloser.retry}. */
  async close(api: CloseApi, id: string): Promise<void> {
    this.#unclosed.add(id);
    try {
      await api.closeTunnel(id);
    } catch (error) {
      // 404 means that the tunnel was closed or has expired in the meantime, which is what was wanted.
      if (!(error instanceof RelayRefusal && error.isOwn && error.status === 404)) return;
    }
    this.#unclosed.delete(id);
  }

  /** Closes what could not be closed before, as far as that is possible now. */
  async retry(api: CloseApi): Promise<void> {
    for (const id of this.#unclosed) await this.close(api, id);
  }
}
