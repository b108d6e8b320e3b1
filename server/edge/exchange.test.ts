import assert from 'node:assert/strict';
import { FakeStream } from '../testing/edge-fixture.ts';
import { KeptStream } from './exchange.ts';

describe('KeptStream', () => {
  const [target, other] = [{}, {}];
  let kept: KeptStream;
  let stream: FakeStream;

  beforeEach(() => {
    kept = new KeptStream();
    stream = new FakeStream();
    kept.keep(target, stream);
  });

  it('is given to the next request to the same target, once', () => {
    assert.equal(kept.take(target, false), stream);
    assert.equal(stream.ended, undefined);
    assert.equal(kept.take(target, false), undefined);
  });

  it('is ended before a request to another target', () => {
    assert.equal(kept.take(other, false), undefined);
    assert.equal(stream.ended, 'finish');
    assert.equal(kept.take(target, false), undefined);
  });

  it('is ended before a request that needs its own stream', () => {
    assert.equal(kept.take(target, true), undefined);
    assert.equal(stream.ended, 'finish');
  });

  it('is cut when the other side sends unexpected bytes', () => {
    stream.answer('HTTP/1.1 200 OK\r\n\r\n');
    assert.equal(stream.ended, 'abort');
    assert.equal(kept.take(target, false), undefined);
  });

  it('is ended when its client is no longer online, and forgotten when it has ended by itself', () => {
    stream.handler?.onRetired?.();
    assert.equal(stream.ended, 'finish');
    const closed = new FakeStream();
    kept.keep(target, closed);
    closed.handler?.onEnded(true);
    assert.equal(kept.take(target, false), undefined);
  });
});
