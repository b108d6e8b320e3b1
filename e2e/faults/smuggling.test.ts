import assert from 'node:assert/strict';
import { Fuzzer } from '../fuzz/fuzzer.ts';
import { suiteScope } from '../support/scope.ts';

/** More can be run by hand, with `npx node e2e/fuzz/fuzz.ts`. */
const MUTATIONS = 21_000;

describe('mutated requests to Node, nginx and Apache', () => {
  const scope = suiteScope();

  it('no server sees a request that the relay did not count, nor one that was meant for another', async function () {
    const fuzzer = await Fuzzer.start(scope);
    const counts = await fuzzer.run({ seed: 20_260, from: 0, count: MUTATIONS });
    assert.equal(fuzzer.unanswered, 0, 'visits without an answer');
    for (const [name, { seen, counted }] of Object.entries(counts)) {
      assert.ok(
        counted > MUTATIONS / 30,
        `${name}: only ${counted} requests were accepted, so little was shown`,
      );
      // What a server refuses before its handler is counted but not seen, and so is what a visitor breaks: a body that breaks
      // its framing cuts the connection, often before the head after which it comes has reached the server.
      assert.ok(seen > counted * 0.75, `${name} saw ${seen} of ${counted}`);
    }
  });
});
