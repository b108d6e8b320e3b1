/** `culvert mcp --ask`: a person approves each action that makes something public. */
import type { Clock } from '../../client/clock.ts';
import type { Message } from '../../client/messages.ts';
import type { AskOwner } from '../../client/owner-questions.ts';
import { MCP_ASK_TIMEOUT_MS, MCP_QUESTIONS_MAX } from '../limits.ts';
import { ToolFailure } from './parameters.ts';

interface ConsentOptions {
  readonly clock: Clock;
  /** in the order in which they are tried */
  readonly askers: readonly AskOwner[];
}

/** Asks one question at a time. An answer is for its question only. */
export class Consent {
  readonly #options: ConsentOptions;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ConsentOptions) {
    this.#options = options;
  }

  /**
   * @param question what the agent wants to do
   * @param cancelled the agent no longer wants it
   * @throws ToolFailure unless a person agrees within {@link MCP_ASK_TIMEOUT_MS}
   */
  async ask(question: Message, cancelled: AbortSignal): Promise<void> {
    if (this.#waiting >= MCP_QUESTIONS_MAX)
      throw new ToolFailure(
        `${MCP_QUESTIONS_MAX} questions are waiting for the owner, which is the maximum. Try again once they are answered.`,
      );
    this.#waiting += 1;
    const timedOut = new AbortController();
    const timer = this.#options.clock.setTimeout(() => timedOut.abort(), MCP_ASK_TIMEOUT_MS);
    const ended = AbortSignal.any([cancelled, timedOut.signal]);
    const aborted = new Promise<false>((resolve) => {
      ended.addEventListener('abort', () => resolve(false), { once: true });
      if (ended.aborted) resolve(false);
    });
    const turn = this.#last.then(() => (ended.aborted ? false : this.#askSomewhere(question, ended)));
    this.#last = turn.catch(() => {});
    try {
      const agrees = await Promise.race([turn, aborted]);
      if (ended.aborted)
        throw new ToolFailure(
          cancelled.aborted
            ? 'The call was cancelled.'
            : `The owner has not answered within ${MCP_ASK_TIMEOUT_MS / 60_000} minutes, so it was refused.`,
        );
      if (agrees === undefined)
        throw new ToolFailure(
          'The owner wants to be asked before this (--ask of culvert mcp), but nobody can be asked: start the Culvert app ' +
            'or "culvert ui" in a terminal, or start culvert mcp from a terminal.',
        );
      if (!agrees) throw new ToolFailure('The owner has refused this.');
    } finally {
      timer.cancel();
      this.#waiting -= 1;
    }
  }

  async #askSomewhere(question: Message, ended: AbortSignal): Promise<boolean | undefined> {
    for (const asker of this.#options.askers) {
      const answer = await asker(question, ended);
      if (answer !== undefined || ended.aborted) return answer;
    }
    return undefined;
  }
}
