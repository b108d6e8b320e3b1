import assert from 'node:assert/strict';
import { FakeStream } from '../testing/fake-stream.ts';
import { ReplayStream } from './replay-stream.ts';

function held() {
  const fake = new FakeStream();
  const stream = new ReplayStream(fake, Buffer.from('one '));
  let received = '';
  const closed: number[] = [];
  const attach = (pauseAt?: string): void =>
    stream.attach({
      onData(piece) {
        received += piece.toString();
        if (piece.toString() === pauseAt) stream.pause();
      },
      onDrain() {},
      onClose: (code) => closed.push(code),
    });
  return { fake, stream, attach, received: () => received, closed };
}

describe('ReplayStream', () => {
  it('holds what came, and the rest back, until somebody is attached', () => {
    const { fake, attach, received } = held();
    fake.pause();
    fake.receive('two ');
    assert.ok(fake.paused);
    attach();
    assert.equal(received(), 'one two ');
    assert.ok(!fake.paused);
    fake.receive('three');
    assert.equal(received(), 'one two three');
  });

  it('stays paused when what it held is too much already', () => {
    const { fake, attach } = held();
    fake.pause();
    attach('one ');
    assert.ok(fake.paused);
  });

  it('tells of an end that came meanwhile, behind the bytes', () => {
    const { fake, attach, received, closed } = held();
    fake.closeByRelay(1001);
    attach();
    assert.deepEqual([received(), closed], ['one ', [1001]]);
  });
});
