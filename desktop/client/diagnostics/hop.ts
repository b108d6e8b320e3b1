/** A hop on the way from a visitor to the local port, and the result of checking it. */
import type { LocalTarget } from '../local/local-service.ts';
import { MessageError, messageOf, toMessage, type MessageValue } from '../messages.ts';
import type { Attempt, DialHandler } from '../network/dial.ts';
import type { Network } from '../network/network.ts';
import type { RelayAddress } from '../relay/relay-address.ts';

export interface Hop {
  /** stable name, for `--json` */
  readonly name: string;
  /** whether it can be checked after an earlier hop has failed */
  readonly standsAlone: boolean;
  /**
   * @returns the result, in a few words
   * @throws HopFailure or HopSkipped
   */
  check(): Promise<MessageValue>;
}

/** The hop failed. */
export class HopFailure extends MessageError {
  /** what to do about it, in sentences */
  readonly fix: MessageValue;

  constructor(why: MessageValue, fix: MessageValue) {
    super(why);
    this.fix = fix;
  }
}

/** The hop cannot be checked, or does not need to be. */
export class HopSkipped extends MessageError {}

export interface HopResult {
  readonly hop: string;
  readonly result: 'ok' | 'failed' | 'skipped';
  readonly ms: number;
  readonly detail: MessageValue;
  /** what to do about a failure */
  readonly fix?: MessageValue;
}

/**
 * Checks hops in order. After the first failure, only hops that are independent of it are checked.
 *
 * @param monotonic ms
 * @param tell called with each result as it arrives
 * @returns whether no hop has failed
 */
export async function checkHops(
  hops: readonly Hop[],
  monotonic: () => number,
  interrupted: AbortSignal,
  tell: (result: HopResult) => void,
): Promise<boolean> {
  const stop = new Promise<undefined>((resolve) => {
    interrupted.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  let hasFailed = false;
  for (const hop of hops) {
    if (interrupted.aborted) return false;
    if (hasFailed && !hop.standsAlone) {
      tell({
        hop: hop.name,
        result: 'skipped',
        ms: 0,
        detail: toMessage('doctor.notTried'),
      });
      continue;
    }
    const result = await Promise.race([checkHop(hop, monotonic), stop]);
    if (result === undefined) return false;
    if (result.result === 'failed') hasFailed = true;
    tell(result);
  }
  return !hasFailed;
}

async function checkHop(hop: Hop, monotonic: () => number): Promise<HopResult> {
  const start = monotonic();
  const done = (): { hop: string; ms: number } => ({ hop: hop.name, ms: Math.round(monotonic() - start) });
  try {
    const detail = await hop.check();
    return { ...done(), result: 'ok', detail };
  } catch (error) {
    const detail = messageOf(error);
    if (error instanceof HopSkipped) return { ...done(), result: 'skipped', detail };
    const fix = error instanceof HopFailure ? error.fix : undefined;
    return { ...done(), result: 'failed', detail, ...(fix === undefined ? {} : { fix }) };
  }
}

/* The subject of the diagnostics, and remedies, which differ between the command and the app. */

/** A relay, a key for it, and the network to reach it. */
export interface RelayAccess {
  readonly relay: RelayAddress;
  readonly key: string;
  readonly network: Network;
}

/** A local port, or a folder whose files are served instead. */
export type LocalService = LocalTarget | { readonly folder: string };

export interface Subject extends Pick<RelayAccess, 'relay' | 'network'> {
  /** source of the relay's address, for people */
  readonly relayFrom: MessageValue;
  /** `undefined` without a key */
  readonly key: string | undefined;
  /** source of the key, for people */
  readonly keyFrom: MessageValue;
  /** @throws HopFailure without a usable key */
  readonly requireKey: () => string;
  /** what the tunnel forwards to; `undefined` for none */
  readonly local: LocalService | undefined;
  readonly remedies: Remedies;
}

/** Remedies that differ between the command and the app, in sentences. */
export interface Remedies {
  readonly noKey: MessageValue;
  readonly badKey: MessageValue;
  readonly certificate: MessageValue;
  /** why no local service is checked */
  readonly noLocal: MessageValue;
  readonly local: MessageValue;
}

/* Promises around the engine's handlers. */

/** Connects and immediately closes the connection. Rejects with the error of the socket. */
export function connectOnce(start: (handler: DialHandler) => Attempt): Promise<void> {
  return new Promise((resolve, reject) => {
    start({
      connected(socket) {
        socket.destroy();
        resolve();
      },
      failed: reject,
    });
  });
}

/** Rejects if the promise has not settled within this many ms. */
export async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const deadline = Promise.withResolvers<never>();
  const timer = setTimeout(() => deadline.reject(new MessageError(toMessage('network.silent'))), ms);
  try {
    return await Promise.race([promise, deadline.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Limits of the checks of `culvert doctor`, with their reasons. Times are in ms. */

/** How long each step of `culvert doctor` may take: as long as the client itself waits for it. */
export const DIAGNOSTICS_HOP_TIMEOUT_MS = 10_000;
/**
 * Maximum number of bytes that `culvert doctor` reads from a response: other servers may respond with endless pages; a
 * relay describes itself in about 60 KiB.
 */
export const DIAGNOSTICS_RESPONSE_MAX_BYTES = 512 * 1024;
