import assert from 'node:assert/strict';
import { Fuzzer } from './fuzz/fuzzer.ts';
import { compareHpack } from './fuzz/hpack.ts';
import { suiteScope } from '../support/scope.ts';

/**
 * Use `npx node e2e/hostile/fuzz/fuzz.ts` to run more of them. A request that a server refuses before its handler is counted
 * but not seen. So is one that the visitor breaks: a body with broken framing cuts the connection, often before its
 * head has reached the server. Over HTTP/2, more of them are broken.
 */
const RUNS = [
  { version: '1.1', count: 10_000, seenShare: 0.75 },
  { version: '2', count: 1500, seenShare: 0.5 },
] as const;

describe('mutated requests to Node, nginx and Apache', () => {
  const scope = suiteScope();

  for (const { version, count, seenShare } of RUNS) {
    it(`over HTTP/${version} reach no server without being counted by the relay, and no server they were not meant for`, async () => {
      const fuzzer = await Fuzzer.start(scope, version);
      const counts = await fuzzer.run({ seed: 20_260, from: 0, count });
      assert.equal(fuzzer.unanswered, 0, 'visits without an answer');
      for (const [name, { seen, counted }] of Object.entries(counts)) {
        assert.ok(
          counted > count / 30,
          `${name}: only ${counted} requests were accepted, so little was shown`,
        );
        assert.ok(seen > counted * seenShare, `${name} saw ${seen} of ${counted}`);
      }
    });
  }
});

describe('generated HPACK blocks', () => {
  it("are read by the relay and by Python's hpack alike, damaged ones too", () => {
    const refused = compareHpack({ seed: 20_260, from: 0, count: 400 });
    assert.ok(refused > 50, `${refused}`);
  });
});
