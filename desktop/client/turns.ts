/** Does one piece of work at a time, in the order of the calls. Work that fails does not stop what follows. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** @returns what the work returns, or throws */
  take<T>(work: () => T | Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }
}
