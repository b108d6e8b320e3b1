/** What the window knows of the request log of a tunnel: changes, and what of it the user wants to see. */
import type { RequestSummary } from '../engine/inspector/records.ts';

/** How far somebody has read a log. */
export interface LogPoint {
  /** moves when requests are hidden or shown again, or told of anew: what was read before no longer counts */
  readonly epoch: number;
  /** moves with every change */
  readonly revision: number;
}

/** Where nothing is read yet. */
export const LOG_START: LogPoint = { epoch: 0, revision: 0 };

/** What has changed since somebody read. */
export interface LogUpdate {
  /** how far it goes */
  readonly at: LogPoint;
  /** whether it begins anew: what was read before is to be forgotten */
  readonly isWhole: boolean;
  /** whether there is more than this */
  readonly isMore: boolean;
  /** number of the oldest request there is: those before it are gone */
  readonly oldest: number;
  /** as they are now, in no order to rely on */
  readonly requests: readonly RequestSummary[];
}

/** What of a log is shown. */
export interface LogView {
  /** id of a chip */
  readonly part: string;
  /** what is typed in the search */
  readonly search: string;
}

/** All of it. */
export const WHOLE_LOG: LogView = { part: 'all', search: '' };
