import assert from 'node:assert/strict';
import { FakeStream } from '../testing/edge-fixture.ts';
import { KeptStreams } from './kept-streams.ts';
import { IDLE_TIMEOUT_MS } from './timeouts.ts';

const [target, other] = [{}, {}];
const request = { target, host: '', fresh: false, repeatable: true };
const use = { target, host: '', isChallenged: false };

describe('KeptStreams of a connection that keeps one', () => {
  let kept: KeptStreams;
  let stream: FakeStream;

  beforeEach(() => {
    kept = new KeptStreams(1, () => 0);
    stream = new FakeStream();
    kept.keep(stream, use);
  });

  it('gives it to the next request to the same target, once', () => {
    assert.equal(kept.take(request), stream);
    assert.equal(stream.ended, undefined);
    assert.equal(kept.take(request), undefined);
  });

  for (const [what, change] of [
    ['to another target', { target: other }],
    ['to another host', { host: 'b.example' }],
    ['that needs its own stream', { fresh: true }],
    ['that cannot be repeated', { repeatable: false }],
  ] as const) {
    it(`ends it before a request ${what}`, () => {
      assert.equal(kept.take({ ...request, ...change }), undefined);
      assert.equal(stream.ended, 'finish');
      assert.equal(kept.take(request), undefined);
    });
  }

  it('gives one whose connection is to be authenticated also to a request that cannot be repeated', () => {
    const challenged = new FakeStream();
    kept.keep(challenged, { ...use, isChallenged: true });
    assert.equal(kept.take({ ...request, repeatable: false }), challenged);
  });

  it('cuts it when the other side sends unexpected bytes', () => {
    stream.answer('HTTP/1.1 200 OK\r\n\r\n');
    assert.equal(stream.ended, 'abort');
    assert.equal(kept.take(request), undefined);
  });

  it('ends it when its client is no longer online, and forgets it when it has ended by itself', () => {
    stream.handler?.onRetired?.();
    assert.equal(stream.ended, 'finish');
    const closed = new FakeStream();
    kept.keep(closed, use);
    closed.handler?.onEnded(true);
    assert.equal(kept.take(request), undefined);
  });
});

describe('KeptStreams of a connection with several requests at a time', () => {
  let now: number;
  let kept: KeptStreams;
  let streams: FakeStream[];

  beforeEach(() => {
    now = 0;
    kept = new KeptStreams(2, () => now);
    streams = Array.from({ length: 3 }, () => new FakeStream());
  });

  const keep = (index: number, change: Partial<typeof use> = {}): void =>
    kept.keep(streams[index] ?? assert.fail(), { ...use, ...change });
  const ended = (): unknown[] => streams.map((stream) => stream.ended);

  it('gives the one that was used last, and none twice', () => {
    keep(0);
    keep(1);
    assert.deepEqual(
      [kept.take(request), kept.take(request), kept.take(request)],
      [streams[1], streams[0], undefined],
    );
  });

  it('ends the one that waits for longest when there is no room for another', () => {
    keep(0);
    keep(1);
    keep(2);
    assert.deepEqual(ended(), ['finish', undefined, undefined]);
    assert.equal(kept.take({ ...request, target: other }), undefined);
    assert.deepEqual(ended(), ['finish', 'finish', undefined]);
  });

  it('keeps one for a later request when another needs its own', () => {
    keep(0);
    assert.equal(kept.take({ ...request, fresh: true }), undefined);
    assert.equal(kept.take({ ...request, host: 'b.example' }), undefined);
    assert.equal(kept.take(request), streams[0]);
  });

  it('ends those that no request uses for 75 s, and with the connection all of them', () => {
    keep(0);
    now = 1;
    keep(1);
    kept.tick(IDLE_TIMEOUT_MS);
    assert.deepEqual(ended(), ['finish', undefined, undefined]);
    keep(2);
    kept.end();
    assert.deepEqual(ended(), ['finish', 'finish', 'finish']);
    assert.equal(kept.take(request), undefined);
  });
});
