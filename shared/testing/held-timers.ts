/** Captures timers so that a test can fire them, for code without a clock parameter. */

export interface HeldTimer {
  readonly callback: () => void;
  readonly ms: number;
}

/** @returns the timers that are set while `run` runs; none of them is really started */
export function timersSetBy(run: () => void): HeldTimer[] {
  const { setTimeout } = globalThis;
  const timers: HeldTimer[] = [];
  globalThis.setTimeout = ((callback: () => void, ms: number) => timers.push({ callback, ms })) as never;
  try {
    run();
  } finally {
    globalThis.setTimeout = setTimeout;
  }
  return timers;
}
