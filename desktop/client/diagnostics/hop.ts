/** A hop on the way from a visitor to the local port, and the result of checking it. */
import type { LocalTarget } from '../local/local-dialer.ts';
import { MessageError, messageOf, toMessage, type MessageValue } from '../messages.ts';
import type { Attempt, DialHandler } from '../network/dial.ts';
import type { Network } from '../network/network.ts';
import type { RelayAddress } from '../relay/relay-address.ts';

export interface Hop {
  /** stable, for `--json` */
  readonly name: string;
  /** whether it can be checked if a hop before it has failed */
  readonly standsAlone: boolean;
  /**
   * @returns what was found, in a few words
   * @throws HopFailure or HopSkipped
   */
  check(): Promise<MessageValue>;
}

/** The hop does not work. */
export class HopFailure extends MessageError {
  /** what to do, in sentences */
  readonly fix: MessageValue;

  constructor(why: MessageValue, fix: MessageValue) {
    super(why);
    this.fix = fix;
  }
}

/** There is nothing to check, or no way to. */
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
 * Checks hops one after the other. After the first that fails, only those are checked that can be checked on their own.
 *
 * @param monotonic ms
 * @param tell called with every result as it comes
 * @returns whether none has failed
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
  let failed: string | undefined;
  for (const hop of hops) {
    if (interrupted.aborted) return false;
    if (failed !== undefined && !hop.standsAlone) {
      tell({
        hop: hop.name,
        result: 'skipped',
        ms: 0,
        detail: toMessage('doctor.notTried', { hop: failed }),
      });
      continue;
    }
    const result = await Promise.race([checkHop(hop, monotonic), stop]);
    if (result === undefined) return false;
    if (result.result === 'failed') failed ??= hop.name;
    tell(result);
  }
  return failed === undefined;
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

/* What is checked hop by hop, and who asks: the command and the app name other remedies. */

/** A relay, a key for it, and the way there. */
export interface RelayAccess {
  readonly relay: RelayAddress;
  readonly key: string;
  readonly network: Network;
}

/** A local port, or a folder whose files are served in place of one. */
export type LocalService = LocalTarget | { readonly folder: string };

export interface Subject extends Pick<RelayAccess, 'relay' | 'network'> {
  /** where the relay's address is from, for people */
  readonly relayFrom: MessageValue;
  /** `undefined` if there is none */
  readonly key: string | undefined;
  /** where the key is from, for people */
  readonly keyFrom: MessageValue;
  /** @throws HopFailure if there is no key that could be one */
  readonly requireKey: () => string;
  /** what a tunnel leads to; `undefined` for none */
  readonly local: LocalService | undefined;
  readonly remedies: Remedies;
}

/** What to do, in sentences, where that depends on who asks. */
export interface Remedies {
  readonly noKey: MessageValue;
  readonly badKey: MessageValue;
  readonly certificate: MessageValue;
  /** why there is no local service to check */
  readonly noLocal: MessageValue;
  readonly local: MessageValue;
}

/* Promises for what the engine does with handlers. */

/** Connects, and closes the connection again. Rejects with what the socket reports. */
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

/** Every limit of the checks of `culvert doctor`, with its reason. Times are in ms. */

/** One hop: as long as the client itself waits for it. @limit */
export const DIAGNOSTICS_HOP_TIMEOUT_MS = 10_000;
/** Pages that respond in place of a relay may be endless; what a relay says of itself takes some 60 KiB. @limit */
export const DIAGNOSTICS_RESPONSE_MAX_BYTES = 512 * 1024;
