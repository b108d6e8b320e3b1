import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fakeEncryption } from '../../../testing/fake-platform.ts';
import { JsonFile } from './app-store.ts';
import { KEY_FILE_VERSION, KeyVault, readKeptKey } from './key-vault.ts';

describe('KeyVault', () => {
  let folder = '';
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'culvert-vault-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  for (const [wish, isReal, kept] of [
    ['system', true, 'system'],
    ['file', true, 'file'],
    ['session', true, 'session'],
    ['system', false, 'session'],
  ] as const)
    it(`keeps a key as "${kept}" for the wish "${wish}" ${isReal ? 'with' : 'without'} a key store`, async () => {
      const path = join(folder, 'key.json');
      const file = new JsonFile({ path, version: KEY_FILE_VERSION, read: readKeptKey, initial: undefined });
      await new KeyVault(fakeEncryption(isReal), file).keep('an earlier key', 'file');
      const vault = new KeyVault(fakeEncryption(isReal), file);
      assert.equal(await vault.keep('the key', wish), kept);
      // Only this session: nothing may be left of what was stored before.
      assert.equal(existsSync(path), kept !== 'session');
      assert.deepEqual(await vault.load(), kept === 'session' ? undefined : { key: 'the key', kept });
    });
});
