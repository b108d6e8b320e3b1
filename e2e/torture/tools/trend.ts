/** Whether a series grows, apart from what it swings by anyway. */

/** How many standard errors on each side of a slope leave out one in twenty. */
const CERTAINTY = 2;

/**
 * Fits a line (least squares) to values taken at regular intervals.
 *
 * @returns how much the series has grown from its first to its last value at the very least, as far as its noise lets one say
 *   (the lower end of the 95 % confidence interval); below 0 where that may be nothing
 */
export function certainGrowth(values: readonly number[]): number {
  const count = values.length;
  const middle = (count - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  const spread = (count * (count ** 2 - 1)) / 12;
  const slope = values.reduce((sum, value, index) => sum + (index - middle) * (value - mean), 0) / spread;
  const residue = values.reduce(
    (sum, value, index) => sum + (value - mean - slope * (index - middle)) ** 2,
    0,
  );
  const error = Math.sqrt(residue / (count - 2) / spread);
  return (slope - CERTAINTY * error) * (count - 1);
}
