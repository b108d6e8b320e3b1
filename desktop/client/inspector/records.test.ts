import assert from 'node:assert/strict';
import { FakeClock } from '../../testing/fake-clock.ts';
import { matchingMessages } from './readable.ts';
import { matching, type SocketMessage, trimBlanks } from './records.ts';
import { RequestLog } from './request-log.ts';

describe('trimBlanks', () => {
  it('removes spaces and tabs, but no byte of a UTF-8 character', () => {
    assert.equal(trimBlanks(' \ta b\t '), 'a b');
    assert.equal(trimBlanks('\xc3\xa0'), '\xc3\xa0');
    assert.equal(trimBlanks(' \t '), '');
  });
});

function listed(typed: string): number[] {
  const log = new RequestLog(new FakeClock());
  for (const [line, status] of [
    ['GET /cart?step=2', 200],
    ['POST /webhooks/stripe', 500],
    ['POST /webhooks/github', 204],
  ] as const) {
    const recording = log.open();
    recording.toLocal(Buffer.from(`${line} HTTP/1.1\r\nHost: x\r\n\r\n`));
    recording.toVisitor(Buffer.from(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`));
  }
  return matching(log.list(), typed).map(({ id }) => id);
}

describe('the search in the request log', () => {
  for (const [typed, found] of [
    ['', [3, 2, 1]],
    ['post', [3, 2]],
    ['POST 500', [2]],
    ['stripe', [2]],
    ['cart 200', [1]],
    ['cart 500', []],
  ] as const) {
    it(`finds ${found.length} for "${typed}"`, () => assert.deepEqual(listed(typed), found));
  }
});

function message(id: number, isFromVisitor: boolean, body: string): SocketMessage {
  const common = { atMs: 0, size: body.length, form: 'plain', kind: 'text', isCut: false } as const;
  return { ...common, id, isFromVisitor, body: Buffer.from(body) };
}

describe('the filter of WebSocket messages', () => {
  const all = [message(1, true, 'Subscribe prices'), message(2, false, 'price 12'), message(3, false, 'bye')];

  for (const [typed, found] of [
    ['', [1, 2, 3]],
    ['PRICE', [1, 2]],
    ['price service', [2]],
    ['price bye', []],
  ] as const) {
    it(`finds ${found.length} for "${typed}"`, () =>
      assert.deepEqual(
        matchingMessages(all, typed).map(({ id }) => id),
        found,
      ));
  }
});
