/** The request log of a tunnel as main gives it to the page, part by part, with as many requests as a test wants. */
import type { RequestSummary } from '../../../desktop/engine/inspector/records.ts';
import { LOG_PART_MAX, LOG_REQUESTS_MAX } from '../../../desktop/main/limits.ts';
import type { LogPoint, LogUpdate } from '../../../desktop/shared/log.ts';
import { exampleRequest } from '../../../desktop/testing/views.ts';

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
