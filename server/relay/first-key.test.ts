import assert from 'node:assert/strict';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateKey } from '../accounts/api-key.ts';
import { FakeShell } from '../testing/fake-shell.ts';
import { handOutFirstKey } from './first-key.ts';

describe('the first API key', () => {
  let folder: string;
  let shell: FakeShell;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'culvert-first-key-'));
    shell = new FakeShell();
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  it('is shown on a terminal, and written nowhere', () => {
    const key = generateKey();
    handOutFirstKey(key, folder, { log: shell.log, tell: (line) => shell.err(line) });
    assert.deepEqual(shell.stderr, [`API key for the account "default", shown only now: ${key}`]);
    assert.deepEqual(readdirSync(folder), []);
  });

  it('is in a file of the data folder that its owner alone can read, if there is no terminal', () => {
    const key = generateKey();
    const dataDir = join(folder, 'new');
    handOutFirstKey(key, dataDir, { log: shell.log, tell: undefined });
    const file = join(dataDir, 'first-key');
    assert.equal(readFileSync(file, 'utf8'), `${key}\n`);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(shell.logged, [['first key made', { account: 'default', file }]]);
    assert.deepEqual(shell.stderr, []);
  });

  it('is not written through a link that somebody has put in its place', () => {
    const elsewhere = join(folder, 'elsewhere');
    writeFileSync(elsewhere, '', { mode: 0o644 });
    symlinkSync(elsewhere, join(folder, 'first-key'));
    handOutFirstKey(generateKey(), folder, { log: shell.log, tell: undefined });
    assert.equal(readFileSync(elsewhere, 'utf8'), '');
    assert.equal(statSync(join(folder, 'first-key')).mode & 0o777, 0o600);
  });

  it('ends the start with advice if the file cannot be written', () => {
    const dataDir = join(folder, 'file', 'below');
    writeFileSync(join(folder, 'file'), '');
    assert.throws(
      () => handOutFirstKey(generateKey(), dataDir, { log: shell.log, tell: undefined }),
      /first-key; .*CULVERT_DATA_DIR.*CULVERT_BOOTSTRAP_KEY/,
    );
    assert.deepEqual(shell.logged, []);
  });
});
