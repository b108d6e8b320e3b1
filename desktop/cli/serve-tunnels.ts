/** Several tunnels in one process. */
import type { Tunnel } from '../../shared/tunnel.ts';
import type { Clock } from '../client/clock.ts';
import type { RelayAccess } from '../client/config/relay-access.ts';
import type { TunnelSpec } from '../client/config/tunnel-spec.ts';
import { ExitCode } from '../client/failures.ts';
import type { ApiClient, CreateRequest } from '../client/relay/api-client.ts';
import { RelayRefusal } from '../client/relay/errors.ts';
import { CREATE_RETRIES_MAX, CREATE_RETRY_MS } from './limits.ts';
import { type ServeOptions, serveTunnel } from './serve-tunnel.ts';
import type { OnceOnline } from './view/once-online.ts';

/** Tunnels of the command line or of `culvert.yml`, once it is known who may come in. */
export interface TunnelsToServe extends RelayAccess {
  readonly tunnels: readonly TunnelSpec[];
  readonly onceOnline: OnceOnline;
  /** whether a relay that limits creates is waited for; its refusal is shown otherwise */
  readonly isPatient: boolean;
}

/** Creates what follows a tunnel. */
export type Attach = (
  spec: TunnelSpec,
) => Pick<ServeOptions, 'reporter' | 'log' | 'claim' | 'onReplay' | 'onAddress'>;

/** What all tunnels share. */
export type Surroundings = Pick<ServeOptions, 'output' | 'interrupted' | 'inspection' | 'clock'>;

/** From the best end to the worst. */
const FROM_BEST: readonly ExitCode[] = [
  ExitCode.ok,
  ExitCode.gone,
  ExitCode.replaced,
  ExitCode.failed,
  ExitCode.keyRefused,
];

/** @returns when all tunnels are offline for good: the worst of their exit codes */
export async function serveTunnels(
  command: TunnelsToServe,
  attach: Attach,
  around: Surroundings,
): Promise<ExitCode> {
  const queue = command.isPatient ? new CreateQueue(around.interrupted, around.clock) : undefined;
  const codes = await Promise.all(
    command.tunnels.map((spec) =>
      serveTunnel({
        access: command,
        spec,
        ...attach(spec),
        ...around,
        create: queue && ((api, request) => queue.create(api, request)),
      }),
    ),
  );
  return codes.reduce(
    (worst, code) => (FROM_BEST.indexOf(code) > FROM_BEST.indexOf(worst) ? code : worst),
    ExitCode.ok,
  );
}

/** Creates one tunnel after the other, and waits if the relay says that this is too fast (docs/protocol.md section 3.2). */
export class CreateQueue {
  readonly #interrupted: AbortSignal;
  readonly #clock: Clock;
  #last: Promise<unknown> = Promise.resolve();

  constructor(interrupted: AbortSignal, clock: Clock) {
    this.#interrupted = interrupted;
    this.#clock = clock;
  }

  /** @throws what {@link ApiClient.createTunnel} throws, or the reason of the interruption */
  create(api: ApiClient, request: CreateRequest): Promise<Tunnel> {
    const turn = this.#last.then(() => this.#try(api, request));
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #try(api: ApiClient, request: CreateRequest): Promise<Tunnel> {
    for (let tries = 1; ; tries += 1) {
      this.#interrupted.throwIfAborted();
      try {
        return await api.createTunnel(request);
      } catch (error) {
        const isLimited = error instanceof RelayRefusal && error.status === 429;
        if (!isLimited || tries > CREATE_RETRIES_MAX) throw error;
        await this.#wait(Math.min(error.retryAfterMs ?? CREATE_RETRY_MS, CREATE_RETRY_MS));
      }
    }
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel();
        this.#interrupted.removeEventListener('abort', done);
        resolve();
      };
      const timer = this.#clock.setTimeout(done, ms);
      this.#interrupted.addEventListener('abort', done, { once: true });
    });
  }
}
