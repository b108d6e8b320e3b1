import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  constants,
  createReadStream,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onLinux, onPosix } from '../../shared/testing/posix.ts';
import { temporaryDirectory } from '../../shared/testing/temporary-directory.ts';
import { systemClock } from '../clock.ts';
import type { LogFields, LogFormat, LogLevel } from '../log.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { accessLines } from './counters.ts';
import {
  type AccessEntry,
  AccessFile,
  createAccessLog,
  createLog,
  finishLog,
  LOG_BUFFER_MAX_BYTES,
  LOG_CLOSE_TIMEOUT_MS,
  stderrStream,
} from './logger.ts';

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

  it('writes a line that people can read, with a stack on separate lines, and nothing that controls a terminal', () => {
    const { log, lines } = recorded('pretty');
    log('start refused', { reason: 'port 1 is "taken"\u001b[2J', url: 'http://localhost:1', attempts: 2 });
    assert.match(
      lines.join(''),
      /^\d\d:\d\d:\d\d\.\d{3} ERROR start refused reason="port 1 is \\"taken\\"\\u001b\[2J" url=http:\/\/localhost:1 attempts=2\n$/,
    );
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
    const folder = temporaryDirectory();
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
      folder = temporaryDirectory();
    });

    it('writes all lines in their order, and drops late ones, such as the end of a client', async () => {
      const path = join(folder, 'log');
      const stream = stderrStream(openSync(path, 'w'));
      const log = createLog({ format: 'json', level: 'info' }, stream);
      const lines = Array.from({ length: 1000 }, (_, i) => `line ${i}\n`);
      for (const line of lines) stream.write(line);
      const finished = finishLog(stream, new FakeClock());
      log('client offline');
      await finished;
      log('client offline');
      assert.equal(await readFile(path, 'utf8'), lines.join(''));
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

const ENTRY: AccessEntry = {
  address: '192.0.2.1',
  method: 'GET',
  host: 'abc.localhost',
  path: '/',
  status: 200,
  outcome: 'answered',
  bytes_in: 1,
  bytes_out: 2,
  ms: 3,
};

describe('createAccessLog', () => {
  const clock = new FakeClock(0);

  it('writes a line of JSON, without unknown values', () => {
    const lines: string[] = [];
    createAccessLog({ write: (line) => lines.push(line) }, clock)({ ...ENTRY, tunnel: undefined });
    assert.deepEqual(lines.length, 1);
    assert.deepEqual(JSON.parse(lines[0] ?? ''), { time: '1970-01-01T00:00:00.000Z', ...ENTRY });
  });

  it('writes nothing that controls a terminal, breaks a line or grants access', () => {
    const lines: string[] = [];
    const path = `/\u009b2J\u001b[2J\n\u007f\u00e9\u2028"/cvt_${'a'.repeat(32)}`;
    createAccessLog({ write: (line) => lines.push(line) }, clock)({ ...ENTRY, path });
    assert.match(lines[0] ?? '', /^[ -~]*\n$/);
    const read = JSON.parse(lines[0] ?? '') as AccessEntry;
    assert.equal(read.path, path.replace(/cvt_a+/, 'cvt_…'));
  });
});

describe('AccessFile', () => {
  let folder: string;
  let path: string;
  let problems: LogFields[];

  function openFile(at = path): AccessFile {
    return new AccessFile(at, systemClock, (_event, fields = {}) => void problems.push(fields));
  }

  beforeEach(() => {
    folder = temporaryDirectory();
    path = join(folder, 'access.log');
    problems = [];
  });

  it('keeps the content of the file, and writes pending lines before it is closed', async () => {
    for (const line of ['one\n', 'two\n']) {
      const file = openFile();
      file.write(line);
      await file.close();
    }
    assert.equal(readFileSync(path, 'utf8'), 'one\ntwo\n');
    assert.deepEqual(problems, []);
  });

  onPosix('can be read by its user and its group only', async () => {
    await openFile().close();
    assert.equal(statSync(path).mode & 0o137, 0);
  });

  it('continues in a new file, and loses no line', async () => {
    const file = openFile();
    file.write('before\n');
    renameSync(path, `${path}.1`);
    const reopened = file.reopen();
    file.write('between\n');
    await reopened;
    file.write('after\n');
    await file.close();
    assert.match(readFileSync(path, 'utf8'), /after\n$/);
    assert.equal(readFileSync(`${path}.1`, 'utf8') + readFileSync(path, 'utf8'), 'before\nbetween\nafter\n');
  });

  onLinux('leaves no file open when it is closed while it is reopened', async () => {
    const file = openFile();
    file.write('line\n');
    const reopened = file.reopen();
    await file.close();
    await reopened;
    const open = readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder);
      } catch {
        return false;
      }
    });
    assert.deepEqual([open, problems, readFileSync(path, 'utf8')], [[], [], 'line\n']);
  });

  it('continues in the old file if there cannot be a new one', async () => {
    const file = openFile();
    renameSync(folder, `${folder}.away`);
    await file.reopen();
    renameSync(`${folder}.away`, folder);
    file.write('line\n');
    await file.close();
    assert.equal(readFileSync(path, 'utf8'), 'line\n');
    assert.match(String(problems[0]?.['error']), /ENOENT/);
  });

  onPosix('survives a full disk, says so once, counts what is lost, and can be closed', async () => {
    const file = openFile('/dev/full');
    const before = accessLines.dropped;
    for (let count = 0; count < 1100; count += 1) file.write('x'.repeat(1024));
    await file.close();
    assert.ok(accessLines.dropped > before);
    assert.equal(problems.length, 1);
  });
});
