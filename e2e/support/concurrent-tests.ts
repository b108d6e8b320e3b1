import { deferred } from './deadline.ts';

/**
 * For tests that wait more than they work: all of them start together, after the `before` hooks declared so far, and each is
 * reported by itself. They must not share what they change, and must not do much work: two dozen programs that start at once
 * on two cores meet no deadline.
 *
 * @returns to be used in place of `it`
 */
export function concurrentTests(): (title: string, test: () => Promise<void>) => void {
  const starts: (() => void)[] = [];
  before(() => {
    for (const start of starts) start();
  });
  return (title, test) => {
    const outcome = deferred();
    // A test that fails before its turn is reported when its turn comes.
    outcome.promise.catch(() => undefined);
    starts.push(() => void test().then(outcome.resolve, outcome.reject));
    it(title, () => outcome.promise);
  };
}
