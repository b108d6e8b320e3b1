import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onLinux, onPosix } from '../../shared/testing/posix.ts';
import { systemClock } from '../clock.ts';
import type { LogFields } from '../log.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { type AccessEntry, AccessFile, createAccessLog } from './access-log.ts';
import { accessLines } from './counters.ts';

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
    folder = mkdtempSync(join(tmpdir(), 'culvert-access-'));
    path = join(folder, 'access.log');
    problems = [];
  });

  afterEach(() => rmSync(folder, { recursive: true }));

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
