import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { FakeClock } from '../../testing/fake-clock.ts';
import { RequestLog } from './request-log.ts';
import { LogSearch, SEARCHED_DECODED_MAX_BYTES, SEARCHES_MAX } from './search.ts';

function answer(body: Buffer | string, fields = ''): Buffer {
  const bytes = Buffer.from(body);
  const head = `HTTP/1.1 200 OK\r\nContent-Length: ${bytes.length}\r\n${fields}\r\n`;
  return Buffer.concat([Buffer.from(head), bytes]);
}

function record(log: RequestLog, fields: string, response: Buffer, body = ''): void {
  const recording = log.open();
  recording.toLocal(
    Buffer.from(`POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n${fields}\r\n${body}`),
  );
  recording.toVisitor(response);
}

async function found(typed: string): Promise<readonly number[]> {
  const log = new RequestLog(new FakeClock());
  record(log, 'X-Plan: Gold\r\nAuthorization: Bearer s3cret\r\n', answer('{"total":12}'), '{"mugs":2}');
  record(log, 'Cookie: sid=s3cret\r\n', answer(gzipSync('{"city":"Köln"}'), 'Content-Encoding: gzip\r\n'));
  record(log, '', answer('\0binary'));
  return (await new LogSearch(log).find(typed)).ids;
}

describe('a search of the request log', () => {
  for (const [typed, ids] of [
    ['GOLD', [1]],
    ['mugs', [1]],
    ['mugs total', [1]],
    ['mugs köln', []],
    ['köln', [2]],
    ['post gzip', [2]],
    ['x-plan: gold', [1]],
    ['s3cret', []],
    ['binary', []],
    [' ', []],
  ] as const) {
    it(`finds ${ids.length === 0 ? 'nothing' : `request ${ids.join()}`} for "${typed}"`, async () =>
      assert.deepEqual(await found(typed), ids));
  }

  it('looks only at what has changed since, and forgets what is gone', async () => {
    const log = new RequestLog(new FakeClock(), 3);
    const search = new LogSearch(log);
    record(log, 'X: yes\r\n', answer(''));
    assert.deepEqual((await search.find('yes')).ids, [1]);
    const looked: number[] = [];
    const detail = log.detail.bind(log);
    log.detail = (id, ...more) => (looked.push(id), detail(id, ...more));
    for (let count = 0; count < 3; count += 1) record(log, 'X: yes\r\n', answer(''));
    assert.deepEqual(
      (await search.find('yes')).ids.toSorted((one, other) => one - other),
      [2, 3, 4],
    );
    assert.deepEqual(looked, [4, 3, 2]);
  });

  it('lets other work be done in between', async () => {
    const log = new RequestLog(new FakeClock(), 1000);
    for (let count = 0; count < 500; count += 1) record(log, '', answer('x'.repeat(60_000)));
    let turns = 0;
    const turn = setInterval(() => (turns += 1), 0);
    await new LogSearch(log).find('nothing like it');
    clearInterval(turn);
    assert.ok(turns > 1);
  });

  it('finds words anywhere in a large body, in pieces between which other work is done', async () => {
    const log = new RequestLog(new FakeClock(), 10, () => 10 * 1024 * 1024);
    const text = 'ä'.repeat(2 * 1024 * 1024);
    const at = 128 * 1024 - 3;
    record(log, '', answer(`${text.slice(0, at)}needle${text}last`));
    const search = new LogSearch(log);
    let turns = 0;
    const turn = setInterval(() => (turns += 1), 0);
    assert.deepEqual((await search.find('needle last')).ids, [1]);
    assert.deepEqual((await search.find('needle nowhere')).ids, []);
    clearInterval(turn);
    assert.ok(turns > 1);
  });

  it('decompresses only so much, and says what it left out', async () => {
    const log = new RequestLog(new FakeClock(), 1000);
    const large = gzipSync(Buffer.alloc(1024 * 1024, 'a'));
    const count = SEARCHED_DECODED_MAX_BYTES / (1024 * 1024) + 1;
    for (let index = 0; index < count; index += 1)
      record(log, '', answer(large, 'Content-Encoding: gzip\r\n'));
    const { ids, isPartial } = await new LogSearch(log).find('aaa');
    assert.deepEqual([ids.length, isPartial], [count - 1, true]);
  });

  it('continues only the last ones', async () => {
    const log = new RequestLog(new FakeClock());
    record(log, 'X: yes\r\n', answer(''));
    const search = new LogSearch(log);
    const all = Array.from({ length: 3 * SEARCHES_MAX }, (_, index) =>
      search.find(`yes ${'y'.repeat(index)}`),
    );
    await Promise.all(all);
    assert.deepEqual((await search.find('yes')).ids, [1]);
  });
});
