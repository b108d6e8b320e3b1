import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { RECORDED_BODY_MIN_BYTES } from '../records.ts';
import { MessageLog, RECORDED_MESSAGES_MAX_BYTES } from './message-log.ts';

function newLog(): MessageLog {
  const clock = new FakeClock();
  return MessageLog.ofEvents(false, () => clock.monotonic());
}

/** The events of a stream: `name#id=data`, `:comment`. */
function told(log: MessageLog): string[] {
  return log.list().messages.map(({ kind, event, body, size, isCut }) => {
    const text = Buffer.from(body).toString('latin1');
    const cut = isCut ? ` of ${size}` : '';
    return kind === 'comment' ? `:${text}${cut}` : `${event?.name ?? ''}#${event?.id ?? ''}=${text}${cut}`;
  });
}

function read(...pieces: readonly (string | Buffer)[]): string[] {
  const log = newLog();
  for (const piece of pieces) log.push(false, Buffer.from(piece as string));
  return told(log);
}

const STREAM =
  '\u{feff}event: price\nid: 7\ndata: {"a":1}\ndata:two\n\n: keep\n\nretry: 3000\r\n\r\ndata\r\rdata:  x\r\n\nid\nother: 1\n\ndata: last\n';
const EVENTS = ['price#7={"a":1}\ntwo', ':keep', ':retry: 3000', '#=', '#= x'];

describe('the events of a stream', () => {
  it('have a type, an id and lines of data, whatever their lines end with', () => {
    assert.deepEqual(read(STREAM), EVENTS);
    assert.deepEqual(read(STREAM.replaceAll(/\r\n|\r/g, '\n').replaceAll('\n', '\r\n')), EVENTS);
    assert.deepEqual(read(STREAM.replaceAll(/\r\n|\n/g, '\r')), EVENTS);
  });

  it('are the same in pieces of any size', () => {
    const bytes = Buffer.from(STREAM);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (cuts) => {
        const ends = [...cuts.toSorted((one, other) => one - other), bytes.length];
        assert.deepEqual(
          read(...ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))),
          EVENTS,
        );
      }),
    );
  });

  it('are the same whatever passes', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom('\r', '\n', ':', ' ', 'data', 'id', 'event', 'x', '\xef', '\xbb', '\xbf', '\0'),
        ),
        (parts) => {
          const bytes = Buffer.from(parts.join(''), 'latin1');
          assert.deepEqual(read(...Array.from(bytes, (byte) => Buffer.of(byte))), read(bytes));
        },
      ),
    );
  });

  it('begin after one byte order mark, and may contain others', () => {
    assert.deepEqual(read('\u{feff}data: a\n\n\u{feff}data: b\n\ndata: c\n\n'), ['#=a', '#=c']);
    assert.deepEqual(read(Buffer.of(0xef, 0xbb), 'data: a\n\ndata: b\n\n'), ['#=b']);
  });

  it('are told when they have ended, and not before', () => {
    assert.deepEqual(read('data: a\n', 'data: b\n'), []);
    assert.deepEqual(read('data: a\n', 'data: b\n', '\n'), ['#=a\nb']);
  });

  it('may have bytes that are not UTF-8', () => {
    assert.deepEqual(read(Buffer.from('data: \xff\xfe\n\n', 'latin1')), ['#=\xff\xfe']);
  });

  it('keep no more of their data than of a body, and of their type and id', () => {
    const log = newLog();
    log.push(false, Buffer.from(`event: ${'n'.repeat(5000)}\ndata: `));
    const piece = Buffer.alloc(1024 * 1024, 'x');
    for (let count = 0; count < 1024; count += 1) log.push(false, piece);
    log.push(false, Buffer.from('\n\n'));
    const [message] = log.list().messages;
    assert.deepEqual(
      [message?.size, message?.body.length, message?.isCut, message?.event?.name?.length],
      [1024 * 1024 * 1024, RECORDED_BODY_MIN_BYTES, true, 256],
    );
    for (let count = 0; count < 100_000; count += 1) log.push(false, Buffer.from('event: abc\ndata: y\n\n'));
    assert.equal(log.counts.fromService, 100_001);
    assert.ok(log.memory <= RECORDED_MESSAGES_MAX_BYTES + 4 * RECORDED_BODY_MIN_BYTES);
  }).timeout(60_000);

  it('take linear time, no matter how short their lines are', () => {
    for (const lines of ['\n', '\r', 'data\n', ':\n\n', `${'x'.repeat(100)}\r`]) {
      const log = newLog();
      const bytes = Buffer.from(lines.repeat(200_000 / lines.length));
      for (let count = 0; count < 5; count += 1) log.push(false, bytes);
      // A quadratic reader would need minutes.
      assert.ok(log.memory <= RECORDED_MESSAGES_MAX_BYTES + 4 * RECORDED_BODY_MIN_BYTES);
    }
  }).timeout(60_000);
});
