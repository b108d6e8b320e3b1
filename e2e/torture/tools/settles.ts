import { within } from '../../support/deadline.ts';

/** Whether a promise settles in time, either way. */
export async function settlesWithin(ms: number, promise: Promise<unknown>): Promise<boolean> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  try {
    return await within(ms, 'end', settled);
  } catch {
    return false;
  }
}
