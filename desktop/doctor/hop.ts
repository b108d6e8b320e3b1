/** A hop on the way from a visitor to the local port, and the result of checking it. */
import { say, type Sayable, SaidError, saidOf } from '../engine/said/said.ts';

export interface Hop {
  /** stable, for `--json` */
  readonly name: string;
  /** whether it can be checked if a hop before it has failed */
  readonly standsAlone: boolean;
  /**
   * @returns what was found, in a few words
   * @throws HopFailure or HopSkipped
   */
  check(): Promise<Sayable>;
}

/** The hop does not work. */
export class HopFailure extends SaidError {
  /** what to do, in sentences */
  readonly fix: Sayable;

  constructor(why: Sayable, fix: Sayable) {
    super(why);
    this.fix = fix;
  }
}

/** There is nothing to check, or no way to. */
export class HopSkipped extends SaidError {}

export interface HopResult {
  readonly hop: string;
  readonly result: 'ok' | 'failed' | 'skipped';
  readonly ms: number;
  readonly detail: Sayable;
  /** what to do about a failure */
  readonly fix?: Sayable;
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
      tell({ hop: hop.name, result: 'skipped', ms: 0, detail: say('doctor.notTried', { hop: failed }) });
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
    const detail = saidOf(error);
    if (error instanceof HopSkipped) return { ...done(), result: 'skipped', detail };
    const fix = error instanceof HopFailure ? error.fix : undefined;
    return { ...done(), result: 'failed', detail, ...(fix === undefined ? {} : { fix }) };
  }
}
