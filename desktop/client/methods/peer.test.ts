import assert from 'node:assert/strict';
import { type Answer, type EncodedMessage, type Hello, Peer, type PeerHandler, PROTOCOL } from './peer.ts';

const SILENT: PeerHandler = { answer: () => new Promise(() => {}), pushed() {} };
const MAX = { maxBytes: 100, maxCalls: 2 };

/** Two peers, each of which gets at once what the other one sends. */
function pair(one: Partial<PeerHandler>, other: Partial<PeerHandler>) {
  const refused: string[] = [];
  const deliver = (to: () => Peer) => ({
    ...MAX,
    send({ parts, text }: EncodedMessage, sent?: () => void) {
      for (const part of parts) to().takeBytes(part);
      to().takeText(text);
      sent?.();
    },
    refuse: (why: string) => refused.push(why),
  });
  const left: Peer = new Peer(
    deliver(() => right),
    { ...SILENT, ...one },
  );
  const right: Peer = new Peer(
    deliver(() => left),
    { ...SILENT, ...other },
  );
  return { left, right, refused };
}

const ok = (value: unknown): Promise<Answer<unknown>> => Promise.resolve({ ok: true, value });

describe('a peer', () => {
  it('calls in both directions, with bytes in both', async () => {
    const { left, right } = pair(
      { answer: (method, payload) => ok({ method, payload }) },
      { answer: (_, payload) => ok({ bytes: (payload as { bytes: Uint8Array }).bytes.toReversed() }) },
    );
    const bytes = new Uint8Array([0, 255]);
    assert.deepEqual(await left.call('turn', { bytes }), {
      ok: true,
      value: { bytes: new Uint8Array([255, 0]) },
    });
    assert.deepEqual(await right.call('echo', [Buffer.from('a'), 'b']), {
      ok: true,
      value: { method: 'echo', payload: [Buffer.from('a'), 'b'] },
    });
  });

  it('greets, pushes, and answers a ping although its calls are all taken', async () => {
    const seen: unknown[] = [];
    const { left, refused } = pair(
      {},
      { greeted: (hello: Hello) => seen.push(hello), pushed: (name, value) => seen.push([name, value]) },
    );
    left.greet('1.0.0');
    left.push('changed', { a: 1 });
    for (let count = 0; count < MAX.maxCalls; count += 1) void left.call('endless');
    assert.equal((await left.ping()).ok, true);
    assert.deepEqual(seen, [{ kind: 'hello', protocol: PROTOCOL, version: '1.0.0' }, ['changed', { a: 1 }]]);
    void left.call('endless');
    assert.deepEqual(refused, ['too many calls']);
  });

  it('has an answer to each call when the connection or the time is over', async () => {
    const { left } = pair({}, {});
    const ended = new AbortController();
    const [late, lost] = [left.call('a', undefined, ended.signal), left.call('b')];
    ended.abort();
    assert.equal(codeOf(await late), 'no-answer');
    left.close({ code: 'no-contact', text: 'Lost.' });
    assert.equal(codeOf(await lost), 'no-contact');
    assert.equal(codeOf(await left.call('c')), 'no-answer');
  });

  it('ends with what no peer sends, and takes nothing after it', () => {
    for (const message of [
      '',
      'null',
      '[]',
      '{"kind":"call","id":"1","method":"a"}',
      '{"kind":"call","id":1}',
      '{"kind":"answer","id":1,"answer":{"ok":false,"error":null}}',
      '{"kind":"answer","id":1,"answer":true}',
      '{"kind":"push","name":1}',
      '{"kind":"hello","protocol":"1","version":"1"}',
    ]) {
      const seen: string[] = [];
      const { left, refused } = pair({ pushed: (name) => seen.push(name) }, {});
      left.takeText(message);
      left.takeText('{"kind":"push","name":"after"}');
      assert.deepEqual([refused, seen], [['not a message'], []], message);
    }
  });

  it('holds no more bytes than one message may have, and none that are not there', () => {
    const { left, refused } = pair({}, {});
    for (let count = 0; count < 3; count += 1) left.takeBytes(new Uint8Array(40));
    assert.deepEqual(refused, ['too many bytes']);
    const values: unknown[] = [];
    const other = pair({ pushed: (_, value) => values.push(value) }, {});
    for (const index of ['7', '"length"', '-1', 'null'])
      other.left.takeText(`{"kind":"push","name":"a","value":{"b":{"$bytes":${index}}}}`);
    assert.deepEqual(
      values.map((value) => (value as { b?: unknown }).b),
      [undefined, undefined, undefined, undefined],
    );
  });
});

function codeOf(answer: Answer<unknown>): string | undefined {
  return answer.ok ? undefined : answer.error.code;
}
