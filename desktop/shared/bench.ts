/** A request that is edited in the window. Its secrets stay in main: `[redacted]` stands for them here. */

/** A recorded request as it is before it is edited. */
export interface EditView {
  readonly method: string;
  readonly target: string;
  /** values as text */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** `undefined`: it is not text */
  readonly body: string | undefined;
  /** bytes of the body */
  readonly bodySize: number;
  /** there was more of the body than is kept, so it can only be replaced */
  readonly isCut: boolean;
  /** name of the service whose signature it can be given anew; `undefined` for what is no webhook, and without its secret */
  readonly signer: string | undefined;
}

/** The same as it is to be sent. */
export interface EditForm {
  readonly method: string;
  readonly target: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** `null`: the one that was recorded */
  readonly body: string | null;
  /** whether it gets a new signature */
  readonly signs: boolean;
}

/** What is wrong with one part of it. */
export interface EditProblemView {
  /** `method`, `target`, `fields`, `fields.0.name`, `fields.0.value` and so on, or `body` */
  readonly part: string;
  /** a sentence that names the part, its limit and what it takes */
  readonly text: string;
}

/** What became of it. */
export type SendResult =
  /** number under which it is recorded, and its status; without one, no response came */
  | { readonly sent: { readonly id: number; readonly status: number | undefined } }
  | { readonly problems: readonly EditProblemView[] };
