import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { RequestLog } from '../../client/inspector/request-log.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { LogPage } from './log-page.ts';
import { paint } from './text.ts';

function setUp(targets: readonly string[]) {
  const log = new RequestLog(new FakeClock());
  const add = (target: string): void => {
    const recording = log.open();
    recording.toLocal(Buffer.from(`GET ${target} HTTP/1.1\r\nHost: x\r\nCookie: sid=s3cret\r\n\r\n`));
    recording.toVisitor(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n{"a":"5 € – 漢"}'));
  };
  for (const target of targets) add(target);
  const replayed: number[] = [];
  const page = new LogPage({
    label: undefined,
    isRaw: false,
    list: () => log.list(),
    detail: (id) => log.detail(id),
    replay(id) {
      replayed.push(id);
      if (id === 1) return Promise.reject(new Error('Nothing answers on port 3000.'));
      add(`/again-${id}`);
      return Promise.resolve(targets.length + 1);
    },
  });
  const press = (...keys: string[]): boolean[] => keys.map((key) => page.key(key));
  const text = (rows = 10, columns = 100): string =>
    page
      .frame({ columns, rows })
      .map((line) => paint(line, columns, false))
      .join('\n');
  return { page, press, text, replayed };
}

function never(): Promise<number> {
  return Promise.reject(new Error('never'));
}

describe('the request log of the view', () => {
  it('lists requests, newest first, with a cursor that stays within the list', () => {
    const { press, text } = setUp(['/one', '/two', '/three']);
    assert.match(text(), /^> .*\/three\n {2}.*\/two\n {2}.*\/one$/m);
    press('down', 'j', 'down', 'page-down');
    assert.match(text(), /^> .*\/one$/m);
    press('k', 'page-up', 'up');
    assert.match(text(), /^> .*\/three$/m);
  });

  it('shows as many rows as fit, always including the cursor', () => {
    const { press, text } = setUp(Array.from({ length: 50 }, (_, index) => `/${index}`));
    press(...Array.from({ length: 30 }, () => 'down'));
    const lines = text(8).split('\n');
    assert.equal(lines.length, 8);
    assert.ok(lines.some((line) => line.startsWith('> ') && line.endsWith('/19')));
  });

  it('lists connections of a TLS or TCP tunnel with the bytes of both directions', () => {
    const log = new RequestLog(new FakeClock());
    const page = new LogPage({
      label: 'ssh',
      isRaw: true,
      list: () => log.list(),
      detail: () => undefined,
      replay: never,
    });
    const text = (): string =>
      page
        .frame({ columns: 100, rows: 10 })
        .map((line) => paint(line, 100, false))
        .join('\n');
    assert.match(text(), /^connections of ssh {3}Enter shows {3}i back\n\nNo connections yet\.$/);
    for (const how of ['done', 'refused'] as const) {
      const recording = log.openRaw('tcp', '[2001:db8::7]:1');
      recording.toLocal(10);
      recording.toVisitor(20);
      recording.ended(how);
    }
    log.openRaw('tcp', undefined);
    const [, , open = '', refused = '', done = ''] = text().split('\n');
    assert.match(open, /^> [\d:]+ {2}TCP +open +0 B in +0 B out {2}$/);
    assert.match(refused, /^ {2}[\d:]+ {2}TCP +refused +10 B in +20 B out {2}\[2001:db8::7\]:1$/);
    assert.match(done, /^ {2}[\d:]+ {2}TCP +0 ms +10 B in +20 B out {2}\[2001:db8::7\]:1$/);
    page.key('enter');
    assert.match(text(), /^connection 3 {3}Up and Down scroll {3}Esc back\n/);
  });

  it('shows a WebSocket with its counts, that it is open, and its messages, the newest first', () => {
    const log = new RequestLog(new FakeClock());
    const page = new LogPage({
      label: undefined,
      isRaw: false,
      list: () => log.list(),
      detail: (id) => {
        const detail = log.detail(id);
        return detail && { ...detail, listed: log.messages(id) };
      },
      replay: never,
    });
    const text = (): string =>
      page
        .frame({ columns: 100, rows: 20 })
        .map((line) => paint(line, 100, false))
        .join('\n');
    const recording = log.open();
    recording.toLocal(Buffer.from('GET /live HTTP/1.1\r\nHost: x\r\n\r\n'));
    recording.toVisitor(Buffer.from('HTTP/1.1 101 X\r\nUpgrade: websocket\r\n\r\n'));
    recording.toVisitor(Buffer.from('\x81\x03one\x81\x03two\x89\x00', 'latin1'));
    assert.match(text(), /^> [\d:]+ {2}WS +101 +open .* ↑ 0 ↓ 2 {2}\/live$/m);
    page.key('enter');
    assert.match(
      text(),
      /^101, open\n\n↑ 0 ↓ 2 messages, and 1 control frame\nMESSAGE .*\n3 .* ping .*\n2 .* two\n1 .* one\n/m,
    );
    recording.end(false);
    page.key('escape');
    assert.match(text(), /^> [\d:]+ {2}WS +101 +0 ms /m);
  });

  it('shows a request with both messages, without its secrets, and scrolls', () => {
    const { press, text } = setUp(['/one', '/two']);
    press('down', 'enter');
    assert.match(
      text(40),
      /GET \/one HTTP\/1\.1[^]*200 OK[^]*\{\n {2}"a": "5 € – \\u\{6f22\}"\n\}[^]*Cookie: sid=\[redacted\]/,
    );
    press('page-down');
    assert.doesNotMatch(text(6), /GET \/one HTTP/);
    press('escape');
    assert.match(text(), /^> .*\/one$/m);
  });

  it('shows the request at the cursor beside the list where there is room for both', () => {
    const { press, text } = setUp(['/one', '/two']);
    press('down');
    const lines = text(20, 110).split('\n');
    assert.match(lines[0] ?? '', /^requests .* │ GET \/one HTTP\/1\.1$/);
    assert.match(lines[2] ?? '', /\/two +│ *$/);
    assert.match(lines[3] ?? '', /^> .*\/one +│ HTTP\/1\.1 200 OK$/);
    assert.ok(lines.every((line) => line.indexOf('│') === 54));
    press('enter');
    assert.doesNotMatch(text(20, 110), /│/);
  });

  it('repeats a request, and reports the result', async () => {
    const { press, text, replayed } = setUp(['/one', '/two']);
    press('r');
    assert.match(text(), /Sending 2 again/);
    await turn();
    assert.match(text(), /Sent again, as 3\.\n> .*again-2/);
    press('down', 'down', 'r');
    await turn();
    assert.match(text(), /Nothing answers on port 3000/);
    assert.deepEqual(replayed, [2, 1]);
  });

  it('closes with i, q and Escape', () => {
    for (const key of ['i', 'q', 'escape']) assert.deepEqual(setUp(['/']).press(key), [false]);
    assert.match(setUp([]).text(), /No requests yet/);
    setUp([]).press('enter', 'r', 'down');
  });
});
