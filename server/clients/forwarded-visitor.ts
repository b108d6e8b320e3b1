/** A visitor who arrived on another relay, on the relay that has the client (docs/decisions/0009-cluster.md). */
import { CloseCode } from '../../shared/control.ts';
import { isCleanClose } from '../../shared/websocket/byte-stream.ts';
import { type ByteStream, type DialFault, LOST_BEYOND } from '../tunnels/stream.ts';
import type { StreamSocket } from './client-streams.ts';

/**
 * The first byte of the response to a visitor's relay is an index of this list; the client's bytes follow `opened`.
 * `away`: the client is not here.
 */
const RESPONSES = [
  'opened',
  'away',
  'tunnel-unknown',
  'tunnel-busy',
  'plan-limit',
  'tunnel-offline',
  'domain-offline',
  'client-timeout',
] as const satisfies readonly ('opened' | 'away' | DialFault)[];

/** Close codes from here on are Culvert's own (RFC 6455 section 7.4.2). */
const OWN_CODES = 4000;

/** Refuses a visitor; its relay tells it why, or looks for the client again. */
export function refuseVisit(hop: StreamSocket, fault: DialFault | 'away'): void {
  hop.write(Buffer.of(RESPONSES.indexOf(fault)));
  hop.close(CloseCode.normal);
}

/** @returns `undefined` for a byte that no relay of this version sends */
export function readVisitResponse(first: number | undefined): (typeof RESPONSES)[number] | undefined {
  return RESPONSES[first ?? -1];
}

/**
 * Passes bytes on in both directions; the end of one is the end of the other, of the same kind.
 *
 * @param stream to the client
 * @param wasWarm whether it may have been lost unnoticed, so that the request may be repeated
 */
export function joinVisit(hop: StreamSocket, stream: ByteStream, wasWarm: boolean): void {
  hop.write(Buffer.of(RESPONSES.indexOf('opened')));
  stream.attach({
    onBytes(piece) {
      if (!hop.write(piece)) stream.pause();
    },
    onRoom: () => hop.resume(),
    onSentAll: () => hop.end(),
    onEnded(clean, lost = false, code = CloseCode.goingAway) {
      if (clean) hop.close(CloseCode.normal);
      else if (lost) hop.close(wasWarm || code === LOST_BEYOND ? LOST_BEYOND : CloseCode.internalError);
      else hop.close(code);
    },
  });
  hop.attach({
    onStreamData(piece) {
      if (!stream.write(piece)) hop.pause();
    },
    onStreamDrain: () => stream.resume(),
    onStreamEnd: () => stream.end?.(),
    onStreamClose(code) {
      if (isCleanClose(code)) stream.finish();
      // Its relay may have learned first that the tunnel or the key has ended.
      else stream.abort(code >= OWN_CODES ? code : undefined);
    },
  });
}
