/** Whether to try again after a control connection has ended: every way to end, classified one by one. */
import { CloseCode, KEY_ENDS } from '../../../shared/control.ts';
import { withoutEnd } from '../../../shared/sentence.ts';
import { refusesKey, type RelayRefusal } from '../relay/errors.ts';
import type { Reach } from './backoff.ts';
import type { ControlEnd } from './control-connection.ts';

/** Why a tunnel is offline for good. */
export type OfflineReason =
  /** asked for by the user */
  | 'stopped'
  /** closed through the API */
  | 'closed'
  | 'expired'
  /** closed or expired while this client was away, or never there */
  | 'gone'
  /** another client took the tunnel over */
  | 'replaced'
  /** the API key is unknown or revoked */
  | 'key-refused'
  /** the relay refuses this client for another reason */
  | 'refused';

export type Verdict =
  | {
      readonly retry: true;
      readonly why: string;
      readonly reach: Reach;
      readonly retryAfterMs?: number | undefined;
      /** the relay asked for a new connection at once (docs/protocol.md section 7) */
      readonly isDraining?: boolean;
    }
  | { readonly retry: false; readonly reason: Exclude<OfflineReason, 'stopped'>; readonly why: string };

/** Judges the end of a control connection (docs/protocol.md sections 2.3 and 7). `why` is a sentence for people. */
export function judge(end: ControlEnd): Verdict {
  switch (end.kind) {
    case 'lost':
      return {
        retry: true,
        why: `No connection to the relay: ${end.why}.`,
        reach: end.isOffline === true ? 'nowhere' : 'unanswered',
      };
    case 'closed':
      return judgeClose(end);
    case 'refused':
      return judgeRefusal(end.refusal);
  }
}

/** This includes a 401 about anything but the key: something in between has removed the key. */
const TEMPORARY: ReadonlySet<number> = new Set([401, 408, 429]);

const KEY_REASONS: ReadonlyMap<string, string> = new Map([
  [KEY_ENDS.expired, 'The API key has expired.'],
  [KEY_ENDS.removed, 'The account was removed, and the API key with it.'],
]);

function judgeClose({ code, reason }: Extract<ControlEnd, { kind: 'closed' }>): Verdict {
  switch (code) {
    case CloseCode.replaced:
      return { retry: false, reason: 'replaced', why: 'Another client has taken over this tunnel.' };
    case CloseCode.tunnelClosed:
      return { retry: false, reason: 'closed', why: 'The tunnel was closed.' };
    case CloseCode.tunnelExpired:
      return { retry: false, reason: 'expired', why: 'The tunnel has expired.' };
    case CloseCode.keyRevoked:
      return {
        retry: false,
        reason: 'key-refused',
        why: KEY_REASONS.get(reason) ?? 'The API key was revoked.',
      };
    case CloseCode.domainGone:
      return { retry: false, reason: 'closed', why: 'The domain of the tunnel is not yours any more.' };
    case CloseCode.accountSuspended: {
      const given = withoutEnd(reason);
      const why = given === '' ? 'The account is suspended.' : `The account is suspended: ${given}.`;
      return { retry: false, reason: 'refused', why };
    }
    case CloseCode.goingAway:
      return { retry: true, why: 'The relay is shutting down.', reach: 'answered', isDraining: true };
    default:
      return { retry: true, why: `The relay closed the connection with code ${code}.`, reach: 'answered' };
  }
}

function judgeRefusal(refusal: RelayRefusal): Verdict {
  const { status, message, retryAfterMs, isOwn } = refusal;
  if (refusesKey(refusal))
    return { retry: false, reason: 'key-refused', why: `The relay refused the API key: ${message}.` };
  // Responses from something in between are temporary: the sign-in page of a public network, or a proxy that cannot reach
  // the relay.
  if (!isOwn || TEMPORARY.has(status) || status < 400 || status > 499)
    return { retry: true, why: `The relay refused for now: ${message}.`, reach: 'answered', retryAfterMs };
  if (status === 404) return { retry: false, reason: 'gone', why: 'The tunnel was closed or has expired.' };
  return { retry: false, reason: 'refused', why: `The relay refused the connection: ${message}.` };
}
