import assert from 'node:assert/strict';
import { constants, createDeflateRaw, deflateRawSync } from 'node:zlib';
import * as fc from 'fast-check';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { type SocketMessage, RECORDED_BODY_MIN_BYTES } from '../records.ts';
import { InflateBudget, INFLATED_BYTES_PER_SECOND } from './inflate.ts';
import {
  extensionsOf,
  MessageLog,
  RECORDED_MESSAGES_DROPPED,
  RECORDED_MESSAGES_MAX,
  RECORDED_MESSAGES_MAX_BYTES,
} from './message-log.ts';
import { DECODED_BODY_MAX_BYTES } from '../decode-body.ts';

const TEXT = 1;
const BINARY = 2;
const CONTINUATION = 0;
const FIN = 0x80;
const COMPRESSED = 0x40;
const DEFLATE = 'permessage-deflate';

/** @param first FIN, RSV bits and the opcode; @param key of a visitor's frame */
function frame(first: number, payload: Buffer | string, key?: Buffer): Buffer {
  const bytes = Buffer.from(payload);
  const { length } = bytes;
  const mask = key === undefined ? 0 : 0x80;
  const size = Buffer.alloc(length < 126 ? 0 : length < 65_536 ? 2 : 8);
  if (size.length === 2) size.writeUInt16BE(length);
  else if (size.length === 8) size.writeBigUInt64BE(BigInt(length));
  const short = size.length === 0 ? length : size.length === 2 ? 126 : 127;
  const masked = key === undefined ? bytes : bytes.map((byte, index) => byte ^ (key[index % 4] ?? 0));
  return Buffer.concat([Buffer.from([first, mask | short]), size, key ?? Buffer.alloc(0), masked]);
}

const KEY = Buffer.from([1, 200, 3, 4]);

const packed = (payload: Buffer | string, key?: Buffer): Buffer =>
  frame(FIN | COMPRESSED | TEXT, payload, key);

function newLog(extensions = '', clock = new FakeClock()): MessageLog {
  const now = (): number => clock.monotonic();
  return MessageLog.ofSocket(extensions, now, new InflateBudget(now));
}

function told({ messages }: { readonly messages: readonly SocketMessage[] }): string[] {
  return messages.map(
    ({ isFromVisitor, kind, body, size, form, isCut }) =>
      `${isFromVisitor ? '>' : '<'} ${kind} ${Buffer.from(body).toString().slice(0, 20)} ${size}${form === 'plain' ? '' : ` ${form}`}${isCut ? ' cut' : ''}`,
  );
}

/** Compresses a message by itself. */
function flushed(content: Buffer | string): Buffer {
  return deflateRawSync(content, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4);
}

/** Compresses messages that refer to each other, as a sender does that keeps its context. */
async function compressed(messages: readonly string[]): Promise<Buffer[]> {
  const deflate = createDeflateRaw();
  const results: Buffer[] = [];
  let pieces: Buffer[] = [];
  deflate.on('data', (piece: Buffer) => pieces.push(piece));
  for (const message of messages) {
    pieces = [];
    deflate.write(message);
    await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, resolve));
    results.push(Buffer.concat(pieces).subarray(0, -4));
  }
  deflate.close();
  return results;
}

describe('the messages of a WebSocket', () => {
  it('are listed with direction, kind, size and time, and the bytes that pass stay as they are', () => {
    const clock = new FakeClock();
    const log = newLog('', clock);
    const sent = frame(FIN | TEXT, 'hello', KEY);
    const before = Buffer.from(sent);
    log.push(true, sent);
    clock.advance(20);
    log.push(false, Buffer.concat([frame(FIN | BINARY, '\0\u0001'), frame(FIN | 9, 'hi')]));
    log.push(false, frame(FIN | 8, '\u0003\u00e8bye'), 0);
    assert.deepEqual(sent, before);
    assert.deepEqual(told(log.list()), [
      '> text hello 5',
      '< binary \0\u0001 2',
      '< ping hi 2',
      '< close \u0003\u00e8bye 6',
    ]);
    assert.deepEqual(
      log.list().messages.map(({ id, atMs }) => [id, atMs]),
      [1, 2, 3, 4].map((id) => [id, id === 1 ? 0 : 20]),
    );
    assert.deepEqual(told(log.list(3)), ['< close \u0003\u00e8bye 6']);
  });

  it('are put together from fragments, with control frames in between', () => {
    const log = newLog();
    for (const bytes of [
      frame(TEXT, 'one ', KEY),
      frame(FIN | 10, '', KEY),
      frame(CONTINUATION, 'two ', KEY),
      frame(FIN | CONTINUATION, 'three', KEY),
    ])
      log.push(true, bytes);
    assert.deepEqual(told(log.list()), ['> pong  0', '> text one two three 13']);
  });

  it('are the same in pieces of any size', () => {
    const payload = fc.oneof(
      fc.string({ maxLength: 200 }),
      fc.constantFrom('x'.repeat(126), 'y'.repeat(66_000)),
    );
    const message = fc.record({
      payload,
      opcode: fc.constantFrom(TEXT, BINARY, 9),
      pieces: fc.integer({ min: 1, max: 9 }),
    });
    fc.assert(
      fc.property(fc.array(message, { maxLength: 6 }), (messages) => {
        const whole = newLog();
        const split = newLog();
        for (const { payload: text, opcode, pieces } of messages) {
          const bytes = frame(FIN | opcode, opcode === 9 ? text.slice(0, 30) : text, KEY);
          whole.push(true, bytes);
          const size = Math.ceil(bytes.length / pieces);
          for (let at = 0; at < bytes.length; at += size) split.push(true, bytes.subarray(at, at + size));
        }
        assert.deepEqual(told(split.list()), told(whole.list()));
        assert.equal(whole.list().messages.length, messages.length);
      }),
    );
  });

  it('never fail for any bytes, and stay within their memory', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 20 }),
        fc.boolean(),
        (pieces, isVisitor) => {
          const log = newLog(DEFLATE);
          for (const piece of pieces) log.push(isVisitor, Buffer.from(piece));
          log.list();
          assert.ok(log.memory < RECORDED_MESSAGES_MAX_BYTES);
        },
      ),
    );
  });

  for (const [what, bytes] of [
    ['a reserved bit', frame(FIN | 0x20 | TEXT, 'x', KEY)],
    ['compression that was not agreed', packed('x', KEY)],
    ['an unknown opcode', frame(FIN | 3, 'x', KEY)],
    ['a missing mask', frame(FIN | TEXT, 'x')],
    ['a fragment of nothing', frame(FIN | CONTINUATION, 'x', KEY)],
    ['a fragmented ping', frame(9, 'x', KEY)],
    ['a ping of 126 bytes', frame(FIN | 9, 'x'.repeat(126), KEY)],
    ['a length that no one sends', Buffer.from([FIN | TEXT, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, ...KEY])],
  ] as const) {
    it(`end with ${what}, in this direction only`, () => {
      const log = newLog();
      log.push(true, frame(FIN | TEXT, 'before', KEY));
      log.push(true, bytes);
      log.push(true, frame(FIN | TEXT, 'after', KEY));
      log.push(false, frame(FIN | TEXT, 'reply'));
      assert.deepEqual(told(log.list()), ['> text before 6', '< text reply 5']);
      assert.equal(log.list().problem, 'damaged');
    });
  }

  it('keep no more of a message than of a body, and nothing of one that has not ended', () => {
    const log = newLog();
    log.push(false, frame(FIN | TEXT, 'x'.repeat(RECORDED_BODY_MIN_BYTES + 1)));
    const announced = Buffer.from([FIN | BINARY, 127, 0, 0, 0, 255, 0, 0, 0, 0]);
    log.push(false, announced);
    for (let count = 0; count < 100; count += 1) log.push(false, Buffer.alloc(RECORDED_BODY_MIN_BYTES));
    const [message, ...others] = log.list().messages;
    assert.deepEqual([message?.body.length, message?.isCut], [RECORDED_BODY_MIN_BYTES, true]);
    assert.equal(others.length, 0);
    assert.ok(log.memory < 4 * RECORDED_BODY_MIN_BYTES);
  });

  it('are the last ones, within a number and a memory', () => {
    const log = newLog();
    for (let count = 0; count < 2000; count += 1) log.push(false, frame(FIN | TEXT, String(count)));
    const { count, messages } = log.list();
    assert.equal(count, 2000);
    assert.equal(messages.at(-1)?.id, 2000);
    assert.ok(messages.length >= RECORDED_MESSAGES_MAX);
    assert.ok(messages.length <= RECORDED_MESSAGES_MAX + RECORDED_MESSAGES_DROPPED);
    for (let more = 0; more < 100; more += 1) {
      log.push(false, frame(FIN | BINARY, Buffer.alloc(60_000)));
      assert.ok(log.memory <= RECORDED_MESSAGES_MAX_BYTES + 4 * RECORDED_BODY_MIN_BYTES);
    }
    assert.equal(log.list().messages.at(-1)?.id, 2100);
  });

  it('keep their content when others take the memory of dropped ones', () => {
    const log = newLog();
    // Some of them fill the buffer that they were collected in.
    for (let id = 1; id <= 60; id += 1)
      log.push(
        false,
        frame(FIN | BINARY, Buffer.alloc(id % 3 === 0 ? 5000 : RECORDED_BODY_MIN_BYTES + 1, id)),
      );
    const before = log.list().messages;
    for (let id = 61; id <= 120; id += 1)
      log.push(false, frame(FIN | BINARY, Buffer.alloc(RECORDED_BODY_MIN_BYTES, id)));
    for (const { id, body } of [...before, ...log.list().messages])
      assert.deepEqual([...new Set(body)], [id]);
    assert.ok(before.length > 10);
  });

  it('are only counted once they are forgotten', () => {
    const log = newLog();
    log.push(false, Buffer.from([FIN | TEXT, 2, 0x68]));
    log.forget();
    log.push(false, Buffer.from('i'));
    log.push(false, frame(FIN | TEXT, 'x'.repeat(5000)));
    assert.deepEqual([log.counts.fromService, log.memory, log.list().messages], [2, 0, []]);
  });

  it('take linear time, no matter how small their frames are', () => {
    const log = newLog();
    const empty = Buffer.concat(Array.from({ length: 10_000 }, () => frame(FIN | TEXT, '', KEY)));
    for (let count = 0; count < 30; count += 1) log.push(true, empty);
    assert.equal(log.counts.fromVisitor, 300_000);
    // A quadratic reader would need minutes.
  }).timeout(60_000);
});

describe('compressed messages of a WebSocket', () => {
  it('are decompressed when they are shown, with the context of earlier ones', async () => {
    const words = ['{"price":1}', '{"price":2}', '{"price":3}'];
    const log = newLog(`${DEFLATE}; server_max_window_bits=12`);
    for (const message of await compressed(words)) log.push(false, packed(message));
    log.push(true, frame(FIN | TEXT, 'plain', KEY));
    assert.deepEqual(
      log.list().messages.map(({ body, form }) => [Buffer.from(body).toString(), form]),
      [...words.map((word) => [word, 'compressed']), ['plain', 'plain']],
    );
  });

  it('stay readable when the earlier ones are dropped', async () => {
    const words = Array.from({ length: 1500 }, (_, index) => `{"price":${index},"currency":"EUR"}`);
    const log = newLog(DEFLATE);
    for (const message of await compressed(words)) log.push(false, packed(message));
    const { messages } = log.list();
    const last = messages.at(-1);
    assert.equal(Buffer.from(last?.body ?? []).toString(), words.at(-1));
    assert.ok(messages.every(({ form }) => form === 'compressed'));
  });

  it('are read by themselves if their sender keeps no context', () => {
    const log = newLog(`${DEFLATE}; client_no_context_takeover`);
    for (const part of [flushed('first'), 'damage', flushed('third')]) log.push(true, packed(part, KEY));
    assert.deepEqual(
      log.list().messages.map(({ body, form }) => `${Buffer.from(body).toString()} ${form}`),
      ['first compressed', ' unreadable', 'third compressed'],
    );
  });

  it('have only a size after one that could not be read, if they refer to it', async () => {
    const [first = Buffer.alloc(0), , third = Buffer.alloc(0)] = await compressed(['one', 'two', 'one two']);
    const log = newLog(DEFLATE);
    for (const bytes of [first, 'damage', third]) log.push(false, packed(bytes));
    assert.deepEqual(
      log.list().messages.map(({ form }) => form),
      ['compressed', 'unreadable', 'unreadable'],
    );
  });

  it('cannot take more than their share of the processor', () => {
    const clock = new FakeClock();
    const log = newLog(`${DEFLATE}; server_no_context_takeover`, clock);
    const bomb = flushed(Buffer.alloc(DECODED_BODY_MAX_BYTES));
    for (let count = 0; count < 100; count += 1) log.push(false, frame(FIN | COMPRESSED | BINARY, bomb));
    const read = (): number => log.list().messages.filter(({ form }) => form === 'compressed').length;
    const once = INFLATED_BYTES_PER_SECOND / DECODED_BODY_MAX_BYTES;
    assert.equal(read(), once);
    assert.equal(read(), once);
    clock.advance(1000);
    assert.ok(log.memory <= 2 * RECORDED_MESSAGES_MAX_BYTES);
    log.list();
    assert.ok(log.list().messages.some(({ form }) => form === 'waiting'));
  });

  it('cannot take more than their share of the processor by being small', () => {
    const clock = new FakeClock();
    const log = newLog(DEFLATE, clock);
    const small = packed(flushed('x'));
    const lastForm = (): string | undefined => {
      clock.advance(1000);
      return log.list().messages.at(-1)?.form;
    };
    for (let count = 0; count < 20_000; count += 1) log.push(false, small);
    assert.equal(lastForm(), 'compressed');
    for (let count = 0; count < 40_000; count += 1) log.push(false, small);
    assert.equal(lastForm(), 'unreadable');
    assert.equal(log.counts.fromService, 60_000);
  });

  it('have only sizes with an extension that is not known', () => {
    const log = newLog('permessage-bzip2');
    log.push(true, packed('x', KEY));
    assert.deepEqual(log.list(), { count: 0, oldest: 1, messages: [], problem: 'extension' });
  });
});

describe('a response that opens a WebSocket', () => {
  const extension = ['sec-websocket-extensions', DEFLATE] as const;
  for (const [what, status, fields, extensions] of [
    ['names the protocol', 101, [['Upgrade', 'WebSocket']], ''],
    ['names its extensions', 101, [['upgrade', 'websocket'], extension], DEFLATE],
    ['has status 101', 200, [['Upgrade', 'websocket']], undefined],
    ['opens no other protocol', 101, [['Upgrade', 'h2c']], undefined],
    ['has a field Upgrade', 101, [], undefined],
  ] as const)
    it(what, () => assert.equal(extensionsOf(status, { fields }), extensions));
});
