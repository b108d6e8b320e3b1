import assert from 'node:assert/strict';
import { PORT_PROGRAM_MAX_BYTES } from '../limits.ts';
import { programRunner, run } from './programs.ts';

const node = (code: string): [string, string[]] => [process.execPath, ['-e', code]];
const print = (bytes: number) => node(`process.stdout.write('x'.repeat(${bytes}))`);

describe('a program that lists ports', () => {
  it('may print 4 MiB, and no more', async function () {
    assert.equal((await run(...print(PORT_PROGRAM_MAX_BYTES))).length, PORT_PROGRAM_MAX_BYTES);
    await assert.rejects(run(...print(PORT_PROGRAM_MAX_BYTES + 1)), /maxBuffer/);
  });

  it('is ended if it takes longer than the limit', async function () {
    const slow = programRunner({ timeoutMs: 50, maxBytes: 1000 });
    await assert.rejects(slow(...node('setInterval(() => {}, 1000)')), { killed: true, signal: 'SIGTERM' });
  });
});
