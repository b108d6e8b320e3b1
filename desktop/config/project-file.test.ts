import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readProject } from './project-file.ts';
import { ProjectFileError } from './project-report.ts';

const isRefusal = (words: RegExp) => (error: unknown) =>
  error instanceof ProjectFileError && words.test(error.message);

describe('readProject', () => {
  let root: string;
  let inner: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'culvert-project-'));
    inner = join(root, 'src', 'deep');
    mkdirSync(inner, { recursive: true });
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const write = (path: string, port: number): void =>
    writeFileSync(join(root, path), `tunnels:\n  web:\n    port: ${port}\n`);

  it('takes the nearest file above the working directory', () => {
    write('culvert.yml', 1);
    assert.equal(readProject(undefined, inner).tunnels[0]?.port, 1);
    write('src/culvert.yml', 2);
    assert.equal(readProject(undefined, inner).tunnels[0]?.port, 2);
    assert.equal(readProject(undefined, inner).path, join(root, 'src', 'culvert.yml'));
  });

  it('takes the file it is given, from the working directory', () => {
    write('culvert.yml', 1);
    write('src/other.yml', 2);
    assert.equal(readProject('../other.yml', inner).tunnels[0]?.port, 2);
  });

  it('says where it has looked', () => {
    assert.throws(
      () => readProject(undefined, inner),
      isRefusal(/no culvert\.yml in .*deep or above.*--config/),
    );
    assert.throws(() => readProject('gone.yml', inner), isRefusal(/gone\.yml cannot be read: ENOENT/));
  });

  it('reads no more than 64 KiB', () => {
    writeFileSync(join(root, 'culvert.yml'), '#'.repeat(64 * 1024 + 1));
    assert.throws(() => readProject(undefined, inner), /larger than 65536 bytes/);
  });
});
