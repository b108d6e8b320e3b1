import assert from 'node:assert/strict';
import { Fuzzer } from '../fuzz/fuzzer.ts';
import { suiteScope } from '../support/scope.ts';

/** Use `npx node e2e/fuzz/fuzz.ts` to run more of them. */
const MUTATIONS = 21_000;

describe('mutated requests to Node, nginx and Apache', () => {
  const scope = suiteScope();

  it('reach no server without being counted by the relay, and no server they were not meant for', async function () {
    const fuzzer = await Fuzzer.start(scope);
    const counts = await fuzzer.run({ seed: 20_260, from: 0, count: MUTATIONS });
    assert.equal(fuzzer.unanswered, 0, 'visits without an answer');
    for (const [name, { seen, counted }] of Object.entries(counts)) {
      assert.ok(
        counted > MUTATIONS / 30,
        `${name}: only ${counted} requests were accepted, so little was shown`,
      );
      // A request that a server refuses before its handler is counted but not seen. So is one that the visitor breaks:
      // a body with broken framing cuts the connection, often before its head has reached the server.
      assert.ok(seen > counted * 0.75, `${name} saw ${seen} of ${counted}`);
    }
  });
});
