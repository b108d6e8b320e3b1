import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../repository.ts';
import { GENERATED, generate } from './pages.ts';

describe('generated pages', () => {
  for (const path of GENERATED) {
    it(`are current: ${path}; run npm run docs`, async () => {
      assert.equal(readFileSync(join(ROOT, path), 'utf8'), await generate(path));
    });
  }
});
