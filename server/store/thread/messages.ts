/** What the relay and the thread of its database send each other, as structured clones. */
import { describeError, type LogEvent, type LogFields } from '../../log.ts';
import { ConflictError, FullError, StoreError, UnansweredError } from '../store-errors.ts';
import type { Store } from '../store.ts';

/** A request to the thread; its response has the same number. */
export interface Call {
  readonly call: number;
  readonly operation: keyof Store;
  readonly args: readonly unknown[];
}

/** What the thread sends. */
export type Report =
  | { readonly kind: 'opened'; readonly operations: readonly (keyof Store)[] }
  /** in a text for the operator */
  | { readonly kind: 'refused'; readonly text: string }
  | { readonly kind: 'done'; readonly call: number; readonly value: unknown }
  | { readonly kind: 'failed'; readonly call: number; readonly failure: Failure }
  | { readonly kind: 'log'; readonly event: LogEvent; readonly fields: LogFields | undefined };

/** An error, as far as its kind matters to the caller. */
export type Failure =
  | { readonly kind: 'conflict'; readonly field: ConflictError['field'] }
  | { readonly kind: 'full'; readonly nextEnd: number; readonly isTcp: boolean }
  | { readonly kind: 'store'; readonly text: string; readonly unanswered: boolean }
  | { readonly kind: 'bug'; readonly message: string; readonly stack: string | undefined };

export function failureOf(error: unknown): Failure {
  if (error instanceof ConflictError) return { kind: 'conflict', field: error.field };
  if (error instanceof FullError) return { kind: 'full', nextEnd: error.nextEnd, isTcp: error.isTcp };
  if (error instanceof StoreError) {
    const unanswered = error.cause instanceof UnansweredError;
    return { kind: 'store', text: describeError(error.cause), unanswered };
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { kind: 'bug', message, stack };
}

export function errorOf(failure: Failure): Error {
  switch (failure.kind) {
    case 'conflict':
      return new ConflictError(failure.field);
    case 'full':
      return new FullError(failure.nextEnd, failure.isTcp);
    case 'store': {
      const cause = new Error(failure.text);
      return new StoreError(failure.unanswered ? new UnansweredError(cause) : cause);
    }
    case 'bug': {
      const error = new Error(failure.message);
      if (failure.stack !== undefined) error.stack = failure.stack;
      return error;
    }
  }
}
