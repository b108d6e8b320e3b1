/** Decides whether to try again after a control connection has ended, for each kind of ending. */
import { CloseCode, KEY_ENDS } from '../../../shared/control.ts';
import { API_ERRORS } from '../../../shared/errors.ts';
import { fullJitter } from '../../../shared/timer.ts';
import { withoutEnd } from '../../../shared/unprintable.ts';
import { type MessageCode, type MessageValue, toMessage } from '../messages.ts';
import { refusesKey, type RelayRefusal } from '../relay/errors.ts';
import type { ControlEnd } from './control-connection.ts';

/**
 * Base of the delays before the client reconnects. Each delay is random between 0 and `base * 2^attempt`, so
 * that many clients do not return at the same time.
 */
export const RETRY_BASE_MS = 500;
/** Longest delay before the client reconnects: a relay that is back is noticed soon enough. */
const RETRY_CAP_MS = 15_000;
/**
 * Longest delay before the client reconnects while nothing responds: the tunnel is back within 2 s after the
 * network. Such attempts cost the relay nothing.
 */
const RETRY_QUICK_CAP_MS = 1500;
/**
 * How long after a failure the client uses the short reconnect delays. Short outages of networks and relays last
 * seconds. A longer one is likely to last much longer.
 */
const RETRY_QUICK_FOR_MS = 120_000;
/** Longest `Retry-After` value that the client respects; a longer one is cut to this. */
const RETRY_AFTER_MAX_MS = 5 * 60_000;

/** Why a tunnel is permanently offline. */
export type OfflineReason =
  /** the user stopped it */
  | 'stopped'
  /** closed through the API */
  | 'closed'
  | 'expired'
  /** closed or expired while this client was away, or never existed */
  | 'gone'
  /** another client has taken over the tunnel */
  | 'replaced'
  /** the API key is unknown or revoked */
  | 'key-refused'
  /** the relay refuses this client for another reason */
  | 'refused';

export type Verdict =
  | {
      readonly retry: true;
      readonly why: MessageValue;
      readonly reach: Reach;
      readonly retryAfterMs?: number | undefined;
      /** the relay asked for a new connection immediately (protocol.md section 7) */
      readonly isDraining?: boolean;
    }
  | { readonly retry: false; readonly reason: Exclude<OfflineReason, 'stopped'>; readonly why: MessageValue };

/** Judges the end of a control connection (protocol.md sections 2.3 and 7). `why` is a sentence for people. */
export function judge(end: ControlEnd): Verdict {
  switch (end.kind) {
    case 'lost':
      return {
        retry: true,
        why: toMessage('tunnel.lost', { why: end.why }),
        reach: end.isOffline === true ? 'nowhere' : end.isSilent === true ? 'silent' : 'unanswered',
      };
    case 'closed':
      return judgeClose(end);
    case 'refused':
      return judgeRefusal(end.refusal);
  }
}

/** Includes a 401 that is not about the key: something in between has removed the key. */
const TEMPORARY: ReadonlySet<number> = new Set([401, 408, 429]);

const KEY_REASONS: ReadonlyMap<string, MessageCode> = new Map([
  [KEY_ENDS.expired, 'tunnel.keyExpired'],
  [KEY_ENDS.removed, 'tunnel.accountRemoved'],
]);

function judgeClose({ code, reason }: Extract<ControlEnd, { kind: 'closed' }>): Verdict {
  switch (code) {
    case CloseCode.replaced:
      return { retry: false, reason: 'replaced', why: toMessage('tunnel.replaced') };
    case CloseCode.tunnelClosed:
      return { retry: false, reason: 'closed', why: toMessage('tunnel.closed') };
    case CloseCode.tunnelExpired:
      return { retry: false, reason: 'expired', why: toMessage('tunnel.expired') };
    case CloseCode.keyRevoked:
      return {
        retry: false,
        reason: 'key-refused',
        why: toMessage(KEY_REASONS.get(reason) ?? 'tunnel.keyRevoked'),
      };
    case CloseCode.domainGone:
      return { retry: false, reason: 'closed', why: toMessage('tunnel.domainGone') };
    case CloseCode.accountSuspended: {
      const given = withoutEnd(reason);
      const why =
        given === '' ? toMessage('tunnel.suspended') : toMessage('tunnel.suspendedFor', { reason: given });
      return { retry: false, reason: 'refused', why };
    }
    case CloseCode.goingAway:
      return { retry: true, why: toMessage('tunnel.draining'), reach: 'answered', isDraining: true };
    default:
      return { retry: true, why: toMessage('tunnel.closedWith', { code }), reach: 'answered' };
  }
}

function judgeRefusal(refusal: RelayRefusal): Verdict {
  const { status, said, retryAfterMs, isOwn } = refusal;
  if (refusesKey(refusal))
    return { retry: false, reason: 'key-refused', why: toMessage('tunnel.keyRefused', { why: said }) };
  // Responses from something in between are temporary, such as the sign-in page of a public network, or a proxy that
  // cannot reach the relay.
  if (!isOwn || TEMPORARY.has(status) || status < 400 || status > 499)
    return {
      retry: true,
      why: toMessage('tunnel.refusedForNow', { why: said }),
      reach: 'answered',
      retryAfterMs,
    };
  // Something in between has removed the fields of the upgrade, which the relay can only report as missing.
  if (refusal.is(API_ERRORS.upgradeRequired))
    return { retry: false, reason: 'refused', why: toMessage('doctor.upgradeFix') };
  if (status === 404) return { retry: false, reason: 'gone', why: toMessage('tunnel.gone') };
  return { retry: false, reason: 'refused', why: toMessage('tunnel.refused', { why: said }) };
}

/** How far the last try got. */
type Reach =
  /** nothing left this machine, for example without a network: tries cost the relay nothing */
  | 'nowhere'
  /** it was sent, but nothing came back for as long as a try may take */
  | 'silent'
  /** it got no response */
  | 'unanswered'
  /** the relay, or something in front of it, responded */
  | 'answered';

export interface Retry {
  /** consecutive failed tries before this one, from 0 */
  readonly attempt: number;
  /** from 0 up to 1 */
  readonly random: number;
  readonly reach: Reach;
  /** ms since the tunnel was online */
  readonly awayMs: number;
  /** the relay's `Retry-After` */
  readonly retryAfterMs?: number | undefined;
}

/**
 * How long to wait before the next try, with full jitter from the first try on. A wait that the relay asked for is
 * added. Waits stay short while a brief network outage is the likely cause, so that the tunnel is back right after it.
 *
 * @returns ms
 */
export function retryDelay({ attempt, random, reach, awayMs, retryAfterMs = 0 }: Retry): number {
  const isQuick = reach === 'nowhere' || (reach !== 'answered' && awayMs < RETRY_QUICK_FOR_MS);
  // A silent try has taken long enough for itself.
  const quickCap = reach === 'silent' ? RETRY_BASE_MS : RETRY_QUICK_CAP_MS;
  const cap = isQuick ? quickCap : RETRY_CAP_MS;
  const jitter = fullJitter({ attempt, baseMs: RETRY_BASE_MS, capMs: cap, random });
  return Math.min(retryAfterMs, RETRY_AFTER_MAX_MS) + jitter;
}
