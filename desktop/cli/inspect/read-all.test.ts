import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { IMPORT_MAX_BYTES } from '../../engine/limits.ts';
import { InputError, readAll } from './read-all.ts';

const NOTHING = Readable.from([]);

describe('an input', () => {
  let folder: string;
  before(() => void (folder = mkdtempSync(join(tmpdir(), 'culvert-test-'))));
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('is a file or standard input, as bytes', async () => {
    const file = join(folder, 'a');
    writeFileSync(file, Buffer.from([0, 255]));
    assert.deepEqual([...(await readAll(file, NOTHING, 9))], [0, 255]);
    for (const path of [undefined, '-'])
      assert.equal(String(await readAll(path, Readable.from([Buffer.from('a'), Buffer.from('b')]), 9)), 'ab');
  });

  it('is read up to its limit', async () => {
    const chunk = Buffer.alloc(IMPORT_MAX_BYTES / 4);
    const endless = Readable.from(
      (function* () {
        for (;;) yield chunk;
      })(),
    );
    await assert.rejects(readAll('-', endless, IMPORT_MAX_BYTES), /Standard input is longer than 32768 KiB/);
  });

  it('is named when it cannot be read', async () => {
    const missing = join(folder, 'missing');
    await assert.rejects(
      readAll(missing, NOTHING, 9),
      (error) => error instanceof InputError && error.message.startsWith(`"${missing}" cannot be read`),
    );
  });
});
