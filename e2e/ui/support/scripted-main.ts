/** A main process that says exactly what the test says: for screens in states that are rare in life. */
import type { Answer, CallError } from '../../../desktop/app/ipc/ipc.ts';
import type { Snapshot } from '../../../desktop/app/ipc/snapshot.ts';
import type { Channels } from '../../../desktop/app/main/handlers/channels.ts';
import type { LogPoint, LogUpdate, RequestSummary } from '../../../desktop/client/inspector/records.ts';
import { LOG_PART_MAX } from '../../../desktop/client/inspector/request-log.ts';
import { exampleRequest } from '../../../desktop/testing/views.ts';
import type { MainSide, Push } from './app-window.ts';
import { LOG_REQUESTS_MAX } from '../../../desktop/app/main/tunnels/tunnel-list.ts';

/** Handlers with the response of each channel. */
export type ScriptedHandlers = {
  [C in keyof Channels]?: (payload: Channels[C]['payload']) => Channels[C]['result'];
};

/** Thrown by a handler to respond with an error. */
export class Refusal extends Error {
  readonly error: CallError;

  constructor(error: CallError) {
    super(error.text);
    this.error = error;
  }
}

/** A handler that responds with an error. */
export function refuse(error: CallError): () => never {
  return () => {
    throw new Refusal(error);
  };
}

export class ScriptedMain implements MainSide {
  /** what the page asked for, in order */
  readonly calls: { channel: string; payload: unknown }[] = [];
  readonly #handlers: ScriptedHandlers;
  #snapshot: Snapshot;
  #push: Push = () => Promise.resolve();

  constructor(snapshot: Snapshot, handlers: ScriptedHandlers = {}) {
    this.#snapshot = snapshot;
    this.#handlers = handlers;
  }

  get snapshot(): Snapshot {
    return this.#snapshot;
  }

  invoke(channel: string, payload: unknown): Answer<unknown> {
    if (channel === 'snapshot:get') return { ok: true, value: this.#snapshot };
    this.calls.push({ channel, payload });
    const handler = this.#handlers[channel as keyof Channels] as ((given: unknown) => unknown) | undefined;
    try {
      return { ok: true, value: handler?.(payload) };
    } catch (error) {
      if (error instanceof Refusal) return { ok: false, error: error.error };
      throw error;
    }
  }

  connect(push: Push): void {
    this.#push = push;
  }

  /** Changes parts of the snapshot and pushes it, as main does. */
  async show(changes: Partial<Snapshot>): Promise<void> {
    this.#snapshot = { ...this.#snapshot, ...changes };
    await this.#push('snapshot:changed', this.#snapshot);
  }

  readonly push: Push = (name, value) => this.#push(name, value);
}

/* The request log of a tunnel as main gives it to the page, part by part, with as many requests as a test wants. */

export class ScriptedLog {
  /** in the order of their last change; as many as main keeps */
  #changes: RequestSummary[] = [];
  #lastId = 0;

  get point(): LogPoint {
    return { epoch: 0, revision: this.#lastId };
  }

  /** The newest three, as a card shows them. */
  get recent(): readonly RequestSummary[] {
    return this.#changes.slice(-3).toReversed();
  }

  /** @param of says what is not ordinary about the request with a number */
  add(count: number, of: (id: number) => Partial<RequestSummary> = () => ({})): void {
    for (let n = 0; n < count; n += 1) {
      this.#lastId += 1;
      this.#changes.push(
        exampleRequest({
          id: this.#lastId,
          startedAt: Date.now(),
          target: `/${this.#lastId}`,
          ...of(this.#lastId),
        }),
      );
    }
    this.#changes = this.#changes.slice(-LOG_REQUESTS_MAX);
  }

  update(since: LogPoint): LogUpdate {
    const gone = this.#lastId - this.#changes.length;
    const from = Math.max(since.revision, gone);
    const requests = this.#changes.slice(from - gone, from - gone + LOG_PART_MAX);
    const revision = from + requests.length;
    return {
      at: { epoch: 0, revision },
      isWhole: false,
      isMore: revision < this.#lastId,
      oldest: gone + 1,
      requests,
    };
  }
}
