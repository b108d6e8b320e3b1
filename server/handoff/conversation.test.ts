import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { mock } from 'node:test';
import {
  Conversation,
  HANDOFF_LINE_MAX_BYTES,
  readHello,
  SUCCESSION_WAITING_MAX,
  TimeoutError,
} from './conversation.ts';

function read(value: unknown): { readonly n: number } | undefined {
  return typeof value === 'object' && value !== null && 'n' in value ? { n: Number(value.n) } : undefined;
}

function pair() {
  const [near, far] = duplexPair();
  return { talk: new Conversation(near as unknown as Socket, read), far };
}

describe('a conversation between two relays', () => {
  it('returns messages in order, including those that arrive before they are requested', async () => {
    const { talk, far } = pair();
    far.write('{"n":1}\n{"n":2}\n{"n"');
    assert.deepEqual(await talk.next(1000), { n: 1 });
    far.write(':3}\n{"n":4}\n');
    assert.deepEqual(await talk.next(1000), { n: 2 });
    assert.deepEqual(await talk.next(1000), { n: 3 });
    const heard = await new Promise((resolve) => talk.listen(resolve));
    assert.deepEqual(heard, { n: 4 });
  });

  it('keeps 64 unread messages, and ends with one more', async () => {
    const { talk, far } = pair();
    far.write('{"n":1}\n'.repeat(SUCCESSION_WAITING_MAX));
    assert.deepEqual(await talk.next(1000), { n: 1 });
    far.write('{"n":2}\n{"n":3}\n');
    await talk.over;
  });

  it('reports when the other side has closed', async () => {
    const { talk, far } = pair();
    far.destroy();
    assert.equal(await talk.next(1000), undefined);
    await talk.over;
    talk.send({});
  });

  it('waits for the given time, and no longer', async () => {
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

  it('ends at a line that is not a message, or longer than 16 MiB', async () => {
    const { talk, far } = pair();
    far.write('hello\n');
    await talk.over;
    for (const value of ['null', '{}', '[]', '1']) {
      const other = pair();
      other.far.write(`${value}\n`);
      await other.talk.over;
    }
    const long = pair();
    long.far.write(Buffer.alloc(HANDOFF_LINE_MAX_BYTES, 'x'));
    long.far.write('x');
    await long.talk.over;
  });
});

describe('readHello', () => {
  const visitor = { kind: 'visitor', id: 1, address: '192.0.2.7', proto: 'https' };

  it("keeps whether a visitor's forwarded fields may be trusted", () => {
    assert.deepEqual(readHello({ ...visitor, trusted: false }), { ...visitor, trusted: false });
    assert.deepEqual(readHello({ ...visitor, trusted: true }), { ...visitor, trusted: true });
    assert.deepEqual(readHello(visitor), { ...visitor, trusted: false });
    const raw = { tunnelId: 'one', peers: '192.0.2.7:1 192.0.2.1:2' };
    assert.deepEqual(readHello({ ...visitor, trusted: false, raw }), { ...visitor, trusted: false, raw });
  });
});
