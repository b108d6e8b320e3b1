/** One tunnel of a program, from its creation to its end. */
import { EventEmitter } from 'node:events';
import type { Tunnel as TunnelRecord } from '../../shared/tunnel.ts';
import type { HostHeader } from '../../shared/value-rules.ts';
import type { RelayAccess } from '../cli/relay-access.ts';
import type { TunnelSession, TunnelState } from '../engine/control/tunnel-session.ts';
import type { RequestSummary } from '../engine/inspector/records.ts';
import { RequestLog } from '../engine/inspector/request-log.ts';
import type { ApiClient } from '../engine/relay/api-client.ts';
import { createTunnelClient } from '../engine/tunnel-client.ts';
import type { Tunnel, TunnelEvents } from './types/index.d.ts';
import type { Listening } from './served.ts';
import { textOf } from '../engine/said/said.ts';

export interface OpenTunnelOptions {
  readonly access: RelayAccess;
  readonly api: ApiClient;
  readonly record: TunnelRecord;
  readonly target: Listening;
  readonly hostHeader: HostHeader;
}

export class OpenTunnel extends EventEmitter<TunnelEvents> implements Tunnel {
  readonly id: string;
  readonly url: string;
  readonly #options: OpenTunnelOptions;
  readonly #session: TunnelSession;
  readonly #online = Promise.withResolvers<void>();
  readonly #offline = Promise.withResolvers<void>();
  #closed: Promise<void> | undefined;

  constructor(options: OpenTunnelOptions) {
    super();
    const { access, record, target, hostHeader } = options;
    this.#options = options;
    this.id = record.id;
    this.url = record.public_url;
    const log = new RequestLog();
    log.subscribe((summary) => this.#onRequest(summary));
    this.#session = createTunnelClient({
      relay: access.relay,
      key: access.key,
      network: access.network,
      tunnelId: record.id,
      local: { host: target.host, port: target.port, https: target.https, waitMs: 0 },
      hostHeader,
      recorder: log,
      onState: (state) => this.#onState(state),
      onProblem() {},
    });
    // A caller who has gone does not want to hear of it.
    this.#online.promise.catch(() => {});
  }

  /** Connects. @returns once visitors reach it @throws Error if it never gets there */
  online(): Promise<void> {
    if (this.#closed === undefined) this.#session.start();
    return this.#online.promise;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const { api, target } = this.#options;
    this.#session.stop();
    await this.#offline.promise;
    // A relay that is away lets it expire.
    await api.closeTunnel(this.id).catch(() => {});
    await target.close();
  }

  #onState(state: TunnelState): void {
    switch (state.name) {
      case 'idle':
      case 'connecting':
        break;
      case 'online':
        this.#online.resolve();
        this.#tell(() => this.emit('online'));
        break;
      case 'reconnecting':
        this.#tell(() => this.emit('reconnecting', textOf(state.why)));
        break;
      case 'offline':
        this.#online.reject(new Error(textOf(state.why)));
        this.#offline.resolve();
        // Nobody reaches it any more, and it would keep the process alive.
        void this.#options.target.close();
        this.#tell(() => this.emit('offline', textOf(state.why)));
        break;
    }
  }

  #onRequest({ method, target, status, durationMs, isBroken }: RequestSummary): void {
    if (durationMs === undefined) return;
    this.#tell(() => this.emit('request', { method, target, status, durationMs, isBroken }));
  }

  /** A listener that throws must not stop what is under way: it is called by itself, as if by a timer. */
  #tell(emit: () => void): void {
    process.nextTick(emit);
  }
}
