/** Recent actions of the user that can be undone. */
import { randomUUID } from 'node:crypto';
import type { Clock, Timer } from '../../client/clock.ts';
import type { UndoView } from '../ipc/snapshot.ts';
import { t } from '../messages/translate.ts';
import { CallFailure } from './failure.ts';
import { Signal } from '../../client/signal.ts';

/**
 * How long you can undo a stop, a removal, a cleared log or a sign-out; until then the relay keeps the tunnel.
 */
export const UNDO_MS = 8000;

/** An action that is done here but not final yet. Exactly one of the two functions is called. */
interface Undoable {
  /** the action, as a sentence */
  readonly text: string;
  /** Takes it back. @throws if that fails: then it can be tried again */
  undo(): Promise<void>;
  /** Makes it final. */
  commit(): Promise<void>;
}

export type Pending = ReturnType<UndoList['offer']>;

interface Entry {
  readonly view: UndoView;
  readonly action: Undoable;
  readonly timer: Timer;
}

/** Each thing that was done becomes final {@link UNDO_MS} later, unless it is undone before. */
export class UndoList {
  readonly changed = new Signal();
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  /** by id, in the order of the actions */
  readonly #entries = new Map<string, Entry>();

  /** @param onError gets the error when an action could not be made final */
  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.#clock = clock;
    this.#onError = onError;
  }

  get views(): readonly UndoView[] {
    return [...this.#entries.values()].map(({ view }) => view);
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  /** @returns functions that do nothing once it is undone or final */
  offer(action: Undoable) {
    const id = randomUUID();
    const commit = (): Promise<void> => this.#commit(id);
    const timer = this.#clock.setTimeout(() => void commit(), UNDO_MS);
    this.#entries.set(id, { view: { id, text: action.text }, action, timer });
    this.changed.emit();
    const undo = (): Promise<void> => (this.#entries.has(id) ? this.undo(id) : Promise.resolve());
    return { commit, undo };
  }

  /** @throws CallFailure if it is final, and what the undoing itself throws */
  async undo(id: string): Promise<void> {
    const entry = this.#take(id);
    if (entry === undefined) {
      throw new CallFailure({ code: 'too-late', text: t('problem.notUndone') });
    }
    try {
      await entry.action.undo();
    } catch (error) {
      this.offer(entry.action);
      throw error;
    }
  }

  /** Makes everything final, because the app ends or its user changes. Does not reject. */
  async commitAll(): Promise<void> {
    await Promise.all([...this.#entries.keys()].map((id) => this.#commit(id)));
  }

  async #commit(id: string): Promise<void> {
    const entry = this.#take(id);
    try {
      await entry?.action.commit();
    } catch (error) {
      this.#onError(error);
    }
  }

  #take(id: string): Entry | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    entry.timer.cancel();
    this.#entries.delete(id);
    this.changed.emit();
    return entry;
  }
}
