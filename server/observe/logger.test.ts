import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, createReadStream, mkdtempSync, openSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onPosix } from '../../shared/testing/posix.ts';
import type { LogFormat, LogLevel } from '../log.ts';
import { LOG_BUFFER_MAX_BYTES, LOG_CLOSE_TIMEOUT_MS } from '../limits.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { createLog, finishLog, stderrStream } from './logger.ts';

/** A log and the lines it has written. */
function recorded(format: LogFormat, level: LogLevel = 'info') {
  const lines: string[] = [];
  return { log: createLog({ format, level }, { write: (line) => lines.push(line) }), lines };
}

describe('createLog', () => {
  it('writes an event as one line of JSON with its level, time and fields', () => {
    const { log, lines } = recorded('json');
    log('client offline', { tunnel: 'abc', code: 1006, reason: 'two\nlines', missing: undefined });
    assert.equal(lines.length, 1);
    const { time, ...rest } = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
    assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.deepEqual(rest, {
      level: 'info',
      msg: 'client offline',
      tunnel: 'abc',
      code: 1006,
      reason: 'two\nlines',
    });
    assert.equal(lines[0]?.indexOf('\n'), (lines[0]?.length ?? 0) - 1);
  });

  it('writes a line that people can read', () => {
    const { log, lines } = recorded('pretty');
    log('start refused', { reason: 'port 1 is "taken"\u001b[2J', url: 'http://localhost:1', attempts: 2 });
    assert.match(
      lines.join(''),
      /^\d\d:\d\d:\d\d\.\d{3} ERROR start refused reason="port 1 is \\"taken\\"\\u001b\[2J" url=http:\/\/localhost:1 attempts=2\n$/,
    );
  });

  it('shows a stack on separate lines, without anything that could control a terminal', () => {
    const { log, lines } = recorded('pretty');
    log('internal error', { error: 'boom', stack: 'Error: boom\n    at \u009b2Jhere' });
    assert.match(lines.join(''), /internal error error=boom\nError: boom\n {4}at \?2Jhere\n$/);
  });

  it('omits events below its level', () => {
    const { log, lines } = recorded('json', 'warn');
    log('tunnel created');
    log('store slow', { ms: 1 });
    log('store failing', { error: 'x' });
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as { msg: string }).msg),
      ['store slow', 'store failing'],
    );
  });

  for (const format of ['json', 'pretty'] as const) {
    it(`removes API keys from texts (${format})`, () => {
      const { log, lines } = recorded(format);
      const key = `cvt_${'Aa1'.repeat(11)}`;
      log('internal error', { error: `no such key: ${key}`, stack: `Error: ${key}\n at x` });
      assert.match(lines.join(''), /no such key: cvt_…/);
      assert.doesNotMatch(lines.join(''), /cvt_\w/);
    });
  }
});

describe('stderrStream', () => {
  onPosix('drops what a reader does not take, beyond a limit', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'culvert-log-'));
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    const stream = stderrStream(openSync(path, constants.O_RDWR | constants.O_NONBLOCK));
    let dropped = 0;
    stream.on('drop', () => (dropped += 1));
    const lines = (3 * LOG_BUFFER_MAX_BYTES) / 1024;
    for (let count = 0; count < lines; count += 1) stream.write('x'.repeat(1024));
    // The pipe is drained at the end: a write that is retried later could reach the descriptor when it belongs to
    // something else.
    const reader = createReadStream(path).resume();
    stream.end();
    await once(reader, 'close');
    rmSync(folder, { recursive: true });
    // A pipe holds 64 KiB, and the current write does not count as waiting.
    assert.ok(dropped > lines / 2, `${dropped} of ${lines} lines`);
  });

  onPosix('survives a full disk, and a full disk at the end', () => {
    const program = `
      import { openSync } from 'node:fs';
      const { systemClock } = await import(${JSON.stringify(new URL('../clock.ts', import.meta.url).href)});
      const { createLog, finishLog, stderrStream } = await import(${JSON.stringify(new URL('logger.ts', import.meta.url).href)});
      const stream = stderrStream(openSync('/dev/full', 'w'));
      const log = createLog({ format: 'json', level: 'info' }, stream);
      for (let count = 0; count < 3; count += 1) {
        log('relay starting');
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await finishLog(stream, systemClock);
      process.stdout.write('survived', () => process.exit(0));`;
    const said = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: 'pipe',
      timeout: 20_000,
    });
    assert.equal(String(said), 'survived');
  });

  describe('at the end', () => {
    let folder: string;

    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'culvert-log-'));
    });

    afterEach(() => rmSync(folder, { recursive: true }));

    it('writes all lines, in their order', async () => {
      const path = join(folder, 'log');
      const stream = stderrStream(openSync(path, 'w'));
      const lines = Array.from({ length: 1000 }, (_, i) => `line ${i}\n`);
      for (const line of lines) stream.write(line);
      await finishLog(stream, new FakeClock());
      assert.equal(await readFile(path, 'utf8'), lines.join(''));
    });

    it('drops late lines, such as the end of a client', async () => {
      const path = join(folder, 'log');
      const stream = stderrStream(openSync(path, 'w'));
      const log = createLog({ format: 'json', level: 'info' }, stream);
      const finished = finishLog(stream, new FakeClock());
      log('client offline');
      await finished;
      log('client offline');
      assert.equal(await readFile(path, 'utf8'), '');
    });

    onPosix('gives up what a reader does not take', async () => {
      const program = `
        const { FakeClock } = await import(${JSON.stringify(new URL('../testing/fake-clock.ts', import.meta.url).href)});
        const { finishLog, stderrStream } = await import(${JSON.stringify(new URL('logger.ts', import.meta.url).href)});
        const stream = stderrStream();
        stream.write('x'.repeat(${LOG_BUFFER_MAX_BYTES}));
        const clock = new FakeClock();
        let said = 'waits';
        const finished = finishLog(stream, clock).then(() => (said += ', finished'));
        clock.advance(${LOG_CLOSE_TIMEOUT_MS - 1});
        await new Promise(setImmediate);
        said += ', still';
        clock.advance(1);
        await finished;
        process.stdout.write(said, () => process.exit(0));`;
      const args = ['--input-type=module', '--eval', program];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
      let said = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
      // Nothing reads its stderr.
      const [code] = (await once(child, 'exit')) as [number | null];
      child.stderr.destroy();
      assert.equal(code, 0);
      assert.equal(said, 'waits, still, finished');
    });
  });
});
