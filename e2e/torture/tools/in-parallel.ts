/**
 * Does something with each item, a given number at a time.
 *
 * @param items taken as they are needed
 */
export async function inParallel<T>(
  atATime: number,
  items: Iterable<T>,
  action: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (let next = waiting.next(); next.done !== true; next = waiting.next()) await action(next.value);
  };
  await Promise.all(Array.from({ length: atATime }, work));
}
