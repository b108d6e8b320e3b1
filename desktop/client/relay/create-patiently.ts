import type { Tunnel } from '../../../shared/tunnel.ts';
import { type Clock, pause } from '../clock.ts';
import { CREATE_RETRIES_MAX, CREATE_RETRY_MS } from '../limits.ts';
import type { ApiClient, CreateRequest } from './api-client.ts';
import { RelayRefusal } from './errors.ts';

export interface CreateTiming {
  readonly clock: Clock;
  readonly interrupted: AbortSignal;
  /** called with the ms until the next try */
  readonly onWait?: ((ms: number) => void) | undefined;
}

/**
 * Creates a tunnel. If the relay says that this is too fast, waits as long as it asks for, up to
 * {@link CREATE_RETRY_MS}, and tries again, up to {@link CREATE_RETRIES_MAX} times (protocol.md section 3.2).
 *
 * @throws what {@link ApiClient.createTunnel} throws, or the reason of the interruption
 */
export async function createPatiently(
  api: Pick<ApiClient, 'createTunnel'>,
  request: CreateRequest,
  { clock, interrupted, onWait }: CreateTiming,
): Promise<Tunnel> {
  for (let tries = 1; ; tries += 1) {
    interrupted.throwIfAborted();
    try {
      return await api.createTunnel(request);
    } catch (error) {
      const isLimited = error instanceof RelayRefusal && error.status === 429;
      if (!isLimited || tries > CREATE_RETRIES_MAX) throw error;
      const ms = Math.min(error.retryAfterMs ?? CREATE_RETRY_MS, CREATE_RETRY_MS);
      onWait?.(ms);
      await pause(clock, ms, interrupted);
    }
  }
}
