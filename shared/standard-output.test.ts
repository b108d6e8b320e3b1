import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { isReaderGone, StandardOutput } from './standard-output.ts';

const FULL = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
const GONE = Object.assign(new Error('broken pipe'), { code: 'EPIPE' });

class FakeStream extends EventEmitter {
  readonly fd = 1;
  error: Error | undefined;
  text = '';

  write(text: string, done: (error?: Error) => void): void {
    if (this.error === undefined) this.text += text;
    else queueMicrotask(() => this.emit('error', this.error));
    queueMicrotask(() => done(this.error));
  }
}

const filesOf = (isFile: boolean, writeSync: (fd: number, bytes: Uint8Array) => number) => ({
  fstatSync: () => ({ isFile: () => isFile, isCharacterDevice: () => false }),
  writeSync,
});

describe('standard output', () => {
  it('remembers a write that failed, until one succeeds, and reports it once', async () => {
    const stream = new FakeStream();
    const reported: Error[] = [];
    const output = new StandardOutput(stream, filesOf(false, assert.fail), (error) => reported.push(error));
    assert.equal(await output.flush(), undefined);
    stream.error = GONE;
    output.write('a');
    output.write('b');
    assert.equal(await output.flush(), GONE);
    assert.deepEqual([isReaderGone(GONE), isReaderGone(FULL)], [true, false]);
    stream.error = undefined;
    output.write('c');
    assert.equal(await output.flush(), undefined);
    assert.deepEqual([stream.text, reported], ['c', [GONE]]);
  });

  it('writes what a full disk did not take before the next text, from the byte that is missing', async () => {
    let file = '';
    let room = 3;
    const files = filesOf(true, (_fd, bytes) => {
      if (room === 0) throw FULL;
      const taken = bytes.subarray(0, room);
      room -= taken.length;
      file += Buffer.from(taken).toString();
      return taken.length;
    });
    const output = new StandardOutput(new FakeStream(), files);
    output.write('secret\n');
    assert.deepEqual([file, await output.flush()], ['sec', FULL]);
    output.write('x'.repeat(100_000));
    room = 1e6;
    output.write('next\n');
    assert.ok(file.startsWith('secret\nxxx'), file.slice(0, 20));
    // The beginning is kept, at most 64 KiB of it.
    assert.equal(file.length, 'sec'.length + 65_536);
    output.write('end\n');
    assert.ok(file.endsWith('xend\n'));
    assert.equal(await output.flush(), undefined);
  });
});
