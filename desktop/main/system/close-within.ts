import type { Clock, Timer } from '../../engine/clock.ts';

/**
 * Waits for work, but no longer than `ms`; what is not done by then is abandoned, and failures are reported.
 *
 * @param ms at most
 */
export async function closeWithin(
  clock: Pick<Clock, 'setTimeout'>,
  ms: number,
  work: Promise<void>,
  onError: (error: unknown) => void,
): Promise<void> {
  let timer: Timer | undefined;
  const tooLate = new Promise<void>((resolve) => {
    timer = clock.setTimeout(resolve, ms);
  });
  try {
    await Promise.race([work, tooLate]);
  } catch (error) {
    onError(error);
  } finally {
    timer?.cancel();
  }
}
