/**
 * Waits for work, but no longer than `ms`; what is not done by then is left, and what fails is told.
 *
 * @param ms at most
 */
export async function closeWithin(
  ms: number,
  work: Promise<void>,
  onError: (error: unknown) => void,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    await Promise.race([work, tooLate]);
  } catch (error) {
    onError(error);
  } finally {
    clearTimeout(timer);
  }
}
