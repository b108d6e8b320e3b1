import { deferred } from './deadline.ts';

/** Whether tests that depend on chance try as often as they can, instead of as often as needed to find what breaks. */
export const isLong = process.env['LONG'] === '1';

/**
 * For tests that mostly wait: all of them start together, after the `before` hooks declared so far, and each is
 * reported separately. They must not share mutable state or do much work: two dozen programs that start simultaneously
 * on two cores meet no deadline.
 *
 * @returns a replacement for `it`
 */
export function concurrentTests(): (title: string, test: () => Promise<void>) => void {
  const starts: (() => void)[] = [];
  before(() => {
    for (const start of starts) start();
  });
  return (title, test) => {
    const outcome = deferred();
    // A test that fails early is reported when mocha reaches it.
    outcome.promise.catch(() => undefined);
    starts.push(() => void test().then(outcome.resolve, outcome.reject));
    it(title, () => outcome.promise);
  };
}
