import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../shared/version.ts';
import { ROOT } from './repository.ts';
import { setVersion, VERSION_FILES } from './version-files.ts';

describe('setting the version', () => {
  const texts = new Map(VERSION_FILES.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));

  it('changes only the version of the project', () => {
    const changed = setVersion(texts, '98.76.54');
    for (const file of ['package.json', 'package-lock.json']) {
      const manifest = JSON.parse(changed.get(file) ?? '') as {
        version: string;
        packages?: Record<string, { version: string }>;
      };
      assert.equal(manifest.version, '98.76.54', file);
      if (manifest.packages !== undefined) assert.equal(manifest.packages['']?.version, '98.76.54');
    }
    assert.match(changed.get('shared/version.ts') ?? '', /VERSION = '98\.76\.54';/);
    const places = [...changed.values()].flatMap((text) => [...text.matchAll(/98\.76\.54/g)]);
    assert.equal(places.length, 4);
    assert.deepEqual(setVersion(changed, VERSION), texts);
  });

  it('fails if a file does not contain its version in the expected form', () => {
    const changed = new Map(texts).set('shared/version.ts', 'export const OTHER = 1;\n');
    assert.throws(
      () => setVersion(changed, '1.0.0'),
      /shared\/version\.ts says the version 0 times, and not 1/,
    );
  });
});
