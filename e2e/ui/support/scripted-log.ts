/** The request log of a tunnel as main gives it to the page, part by part, with as many requests as a test wants. */
import type { RequestSummary } from '../../../desktop/engine/inspector/records.ts';
import { LOG_PART_MAX } from '../../../desktop/main/limits.ts';
import type { LogPoint, LogUpdate } from '../../../desktop/shared/log.ts';
import { exampleRequest } from '../../../desktop/testing/views.ts';

export class ScriptedLog {
  /** in the order of their last change */
  #changes: RequestSummary[] = [];
  #lastId = 0;

  get point(): LogPoint {
    return { epoch: 0, revision: this.#changes.length };
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
        exampleRequest({ id: this.#lastId, target: `/${this.#lastId}`, ...of(this.#lastId) }),
      );
    }
  }

  update(since: LogPoint): LogUpdate {
    const requests = this.#changes.slice(since.revision, since.revision + LOG_PART_MAX);
    const revision = since.revision + requests.length;
    const isMore = revision < this.#changes.length;
    return { at: { epoch: 0, revision }, isWhole: false, isMore, oldest: 1, requests };
  }
}
