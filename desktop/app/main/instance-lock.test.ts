import assert from 'node:assert/strict';
import { linkSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onPosix } from '../../../shared/testing/posix.ts';
import { AlreadyRunning, lockInstance } from './instance-lock.ts';

type Lock = Awaited<ReturnType<typeof lockInstance>>;

describe('lockInstance', () => {
  let directory: string;
  let locks: Lock[];

  beforeEach(() => {
    directory = join(mkdtempSync(join(tmpdir(), 'culvert-lock-')), 'files');
    locks = [];
  });

  afterEach(() => {
    for (const held of locks) held.release();
    rmSync(join(directory, '..'), { recursive: true, force: true });
  });

  async function lock(pid: number, link?: string): Promise<Lock> {
    const held = await lockInstance(directory, () => ({ program: 'culvert ui', pid, link }));
    locks.push(held);
    return held;
  }

  it('gives the lock to one program, and tells others which has it', async () => {
    await lock(1, 'http://127.0.0.1:4040/#x');
    await assert.rejects(lock(2), (error) => {
      assert.ok(error instanceof AlreadyRunning);
      assert.deepEqual(error.owner, { program: 'culvert ui', pid: 1, link: 'http://127.0.0.1:4040/#x' });
      return true;
    });
  });

  it('gives it to the next program once it was released', async () => {
    (await lock(1)).release();
    await lock(2);
  });

  it('gives it to one of several programs that start together', async () => {
    const results = await Promise.allSettled([lock(1), lock(2), lock(3)]);
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
  });

  onPosix('takes it from a program that was killed', async () => {
    const path = join(directory, 'instance.sock');
    (await lock(1)).release();
    // Closing a server removes its path, but only under the name that it was bound to.
    const killed = createServer();
    await new Promise<void>((resolve) => killed.listen(`${path}.old`, resolve));
    linkSync(`${path}.old`, path);
    await new Promise((resolve) => killed.close(resolve));
    assert.ok(statSync(path).isSocket());
    await lock(2);
  });

  onPosix('leaves nothing else behind, and nothing for other users', async () => {
    const held = await lock(1);
    assert.deepEqual(readdirSync(directory), ['instance.sock']);
    assert.equal(statSync(join(directory, 'instance.sock')).mode & 0o777, 0o600);
    assert.equal(statSync(directory).mode & 0o777, 0o700);
    held.release();
    assert.deepEqual(readdirSync(directory), []);
  });
});
