import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { mock } from 'node:test';
import { SUCCESSION_LINE_MAX_BYTES } from '../limits.ts';
import { Conversation, TimeoutError } from './conversation.ts';

function pair() {
  const [near, far] = duplexPair();
  return { talk: new Conversation<object, { readonly n: number }>(near as unknown as Socket), far };
}

describe('a conversation between two relays', () => {
  it('has its messages in order, those that come before somebody listens too', async () => {
    const { talk, far } = pair();
    far.write('{"n":1}\n{"n":2}\n{"n"');
    assert.deepEqual(await talk.next(1000), { n: 1 });
    far.write(':3}\n{"n":4}\n');
    assert.deepEqual(await talk.next(1000), { n: 2 });
    assert.deepEqual(await talk.next(1000), { n: 3 });
    const heard = await new Promise((resolve) => talk.listen(resolve));
    assert.deepEqual(heard, { n: 4 });
  });

  it('says when the other side has left', async () => {
    const { talk, far } = pair();
    far.destroy();
    assert.equal(await talk.next(1000), undefined);
    await talk.over;
    talk.send({});
  });

  it('waits for as long as it is told, and no longer', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { talk } = pair();
      const silence = assert.rejects(talk.next(10_000), new TimeoutError(10_000));
      mock.timers.tick(10_000);
      await silence;
    } finally {
      mock.timers.reset();
    }
  });

  it('ends where a line is no message, or longer than 16 MiB', async () => {
    const { talk, far } = pair();
    far.write('hello\n');
    await talk.over;
    const long = pair();
    long.far.write(Buffer.alloc(SUCCESSION_LINE_MAX_BYTES, 'x'));
    long.far.write('x');
    await long.talk.over;
  });
});
