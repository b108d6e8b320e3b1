import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CLIENT_VARIABLES, VERSION } from './version.ts';

describe('VERSION', () => {
  it('equals the version in package.json', async () => {
    const text = await readFile(new URL('../package.json', import.meta.url), 'utf8');
    assert.equal(VERSION, (JSON.parse(text) as { version: string }).version);
  });
});

const DESKTOP = fileURLToPath(new URL('../desktop/', import.meta.url));

describe('CLIENT_VARIABLES', () => {
  it('includes every variable that the client reads', () => {
    const sources = globSync('**/*.ts', { cwd: DESKTOP }).filter(
      (path) => !path.endsWith('.test.ts') && !path.startsWith('build/'),
    );
    assert.ok(sources.length > 100);
    const read = sources.flatMap((path) =>
      [...readFileSync(join(DESKTOP, path), 'utf8').matchAll(/env(?:\.|\['|, ')(CULVERT_\w+)/g)].map(
        ([, name = '']) => name,
      ),
    );
    assert.deepEqual(new Set(read), new Set(CLIENT_VARIABLES));
  });
});
