/** Requests that are kept by name, as the window shows them. Their secrets stay in main. */

export interface SetsView {
  /** in the order in which they were made */
  readonly sets: readonly SetView[];
  /** whether they are there again when the app has quit; without a set, not known */
  readonly isKept: boolean;
}

export interface SetView {
  readonly id: string;
  readonly name: string;
  /** in the order in which they are sent */
  readonly requests: readonly KeptView[];
}

export interface KeptView {
  readonly id: string;
  readonly method: string;
  /** without secrets */
  readonly target: string;
}

/** A request of a set. */
export interface KeptRef {
  /** of its set */
  readonly set: string;
  readonly request: string;
}
