import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onPosix } from '../../../../shared/testing/posix.ts';
import { JsonFile } from './app-store.ts';
import { temporaryDirectory } from '../../../../shared/testing/temporary-directory.ts';

const read = (value: unknown): number => {
  if (typeof value !== 'number') throw new Error('no number');
  return value;
};

function setUp() {
  const path = join(temporaryDirectory(), 'sub/file.json');
  const open = (version = 1) => new JsonFile({ path, version, read, initial: 0 });
  return { path, open };
}

describe('JsonFile', () => {
  it('has its initial value until something is saved', async () => {
    assert.deepEqual(await setUp().open().load(), { value: 0, asideAt: undefined });
  });

  onPosix('returns what was saved last, and is for its owner only', async () => {
    const { open, path } = setUp();
    const file = open();
    await Promise.all([file.save(1), file.save(2), file.save(3)]);
    assert.equal((await open().load()).value, 3);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(dirname(path)), ['file.json']);
  });

  for (const [title, text] of [
    ['is cut off', '{"version":1,"da'],
    ['has another shape', '{"version":1,"data":"text"}'],
    ['is of another version', '{"version":2,"data":1}'],
  ] as const) {
    it(`sets a file aside that ${title}`, async () => {
      const { open, path } = setUp();
      await open().save(1);
      writeFileSync(path, text);
      const { value, asideAt } = await open().load();
      assert.equal(value, 0);
      assert.equal(readFileSync(asideAt ?? '', 'utf8'), text);
    });
  }

  it('saves after a failed save', async () => {
    const { path } = setUp();
    const file = new JsonFile<unknown>({ path, version: 1, read: (value) => value, initial: 0 });
    await assert.rejects(file.save(1n), TypeError);
    await file.save(2);
    assert.equal((await file.load()).value, 2);
  });
});
