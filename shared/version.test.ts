import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { VERSION } from './version.ts';

describe('VERSION', () => {
  it('is the one in package.json', async () => {
    const text = await readFile(new URL('../package.json', import.meta.url), 'utf8');
    assert.equal(VERSION, (JSON.parse(text) as { version: string }).version);
  });
});
