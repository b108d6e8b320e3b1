/** A request as somebody has written it, to be sent to the local service. */
import type { Said } from '../../said/said.ts';

export interface RequestEdit {
  readonly method: string;
  /** path and query */
  readonly target: string;
  /** in order; values as bytes, a character each, or with characters above U+00FF as text, which is sent as UTF-8 */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** `undefined`: the body of the request that was edited */
  readonly body: Uint8Array | undefined;
}

/** What is wrong with one part of a request. */
export interface EditProblem {
  /** `method`, `target`, `fields`, `fields.0.name`, `fields.0.value` and so on, or `body` */
  readonly part: string;
  /** a sentence that names the part, its limit and what it takes */
  readonly said: Said;
}

/** Thrown for a request that is not sent because of how it is written. */
export class EditRefused extends Error {
  readonly problems: readonly EditProblem[];

  constructor(problems: readonly EditProblem[]) {
    super(problems.map(({ said }) => said.text).join('\n'));
    this.name = 'EditRefused';
    this.problems = problems;
  }
}
