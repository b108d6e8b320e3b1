/** Ways to report to the operator. */
import { randomUUID } from 'node:crypto';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import { errorFields, type Log, REQUEST_ID_FIELD } from '../log.ts';
import type { AccessLog } from '../observe/access-log.ts';

export interface Operator {
  readonly log: Log;
  /** called for each request, if the access log is enabled */
  readonly accessLog: AccessLog | undefined;
  /** Shows a person at a terminal text that must not be in a log: a key. `undefined` without a terminal. */
  readonly tell: ((line: string) => void) | undefined;
  /** listeners provided by the service manager, by name */
  readonly listeners: ReadonlyMap<string, object>;
  /** Notifies the service manager, if there is one, that this process serves; never rejects. */
  readonly announce: () => Promise<void>;
}

/** Reports an unexpected error; the response to it names the line of the log. */
export type Unexpected = (error: unknown) => ApiError;

export function reportTo(log: Log): Unexpected {
  return (error) => {
    const request_id = randomUUID();
    log('internal error', { request_id, at: 'connection', ...errorFields(error) });
    return new ApiError(API_ERRORS.internal, { [REQUEST_ID_FIELD]: request_id });
  };
}
