/**
 * What has happened in this process since it began, as plain numbers. Whoever is on a visitor's path adds to them directly:
 * one addition, no label to look up, whether or not anybody reads them. `/metrics` reads them when it is asked
 * (metrics.ts). One for the process, as its memory and its event loop are; tests compare before and after.
 */
import { VISITOR_ERRORS, type VisitorErrorCode } from '../../shared/errors.ts';
import { Distribution } from './distribution.ts';

/** How requests have ended; each ends in exactly one way. */
export interface Outcomes {
  /** The answer reached its end. */
  answered: number;
  /** The connection became a WebSocket. */
  upgraded: number;
  /** The relay answered in place of its target; {@link refusals} says why. */
  refused: number;
  /** The answer broke off, and the visitor's connection with it. */
  broken: number;
  /** The visitor left before its answer was complete, or stalled and was cut. */
  abandoned: number;
}

function noOutcomes(): Outcomes {
  return { answered: 0, upgraded: 0, refused: 0, broken: 0, abandoned: 0 };
}

/** Requests by where they went. */
export const requests = {
  tunnel: noOutcomes(),
  /** the API and the WebSocket endpoints */
  relay: noOutcomes(),
  /** refused before it was known where to */
  nowhere: noOutcomes(),
};

export const traffic = {
  /** connections accepted */
  connections: 0,
  /** bytes from visitors handed to clients */
  bytesIn: 0,
  /** bytes from clients handed to visitors */
  bytesOut: 0,
  /** data sockets opened */
  streams: 0,
};

/** What the relay answered visitors itself, by `Culvert-Error` code. */
export const refusals = Object.fromEntries(Object.keys(VISITOR_ERRORS).map((code) => [code, 0])) as Record<
  VisitorErrorCode,
  number
>;

/**
 * Seconds from a visitor's need of a stream to its data socket. A client on the same continent takes some ten ms; one that
 * comes back in time takes up to ten seconds.
 */
export const rendezvousWait = new Distribution([
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]);
