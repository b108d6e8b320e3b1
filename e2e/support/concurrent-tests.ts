import { deferred } from './deferred.ts';

/**
 * For tests that wait more than they work: all of them start together, after the `before` hooks declared so far, and
 * each is reported by itself. They must not share what they change, and are not for work: two dozen programs that start
 * at once on two cores meet no deadline.
 *
 * @returns stands in for `it`
 */
export function concurrentTests(): (title: string, test: () => Promise<void>) => void {
  const starts: (() => void)[] = [];
  before(() => {
    for (const start of starts) start();
  });
  return (title, test) => {
    const outcome = deferred();
    // A test that fails before its turn is told of then.
    outcome.promise.catch(() => undefined);
    starts.push(() => void test().then(outcome.resolve, outcome.reject));
    it(title, () => outcome.promise);
  };
}
