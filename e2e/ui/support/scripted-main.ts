/** A main process that says exactly what the test says: for screens in states that are rare in life. */
import type { Answer, CallError, Channels } from '../../../desktop/shared/ipc.ts';
import type { Snapshot } from '../../../desktop/shared/snapshot.ts';
import type { MainSide } from './app-window.ts';

/** What is said to each channel. */
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

export class ScriptedMain implements MainSide {
  /** what the page asked for, in order */
  readonly calls: { channel: string; payload: unknown }[] = [];
  readonly #handlers: ScriptedHandlers;
  #snapshot: Snapshot;
  #push: (name: string, value: unknown) => Promise<void> = () => Promise.resolve();

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

  connect(push: (name: string, value: unknown) => Promise<void>): void {
    this.#push = push;
  }

  /** Changes parts of the snapshot and pushes it, as main does. */
  async show(changes: Partial<Snapshot>): Promise<void> {
    this.#snapshot = { ...this.#snapshot, ...changes };
    await this.#push('snapshot:changed', this.#snapshot);
  }

  async push(name: string, value: unknown): Promise<void> {
    await this.#push(name, value);
  }
}
