/** How unevenly things happen. */

/**
 * @param times sorted
 * @returns the most of them that lie within `span` of each other, wherever that span begins
 */
export function mostWithin(times: readonly number[], span: number): number {
  let most = 0;
  let first = 0;
  for (const [index, time] of times.entries()) {
    while ((times[first] ?? time) <= time - span) first += 1;
    most = Math.max(most, index - first + 1);
  }
  return most;
}
