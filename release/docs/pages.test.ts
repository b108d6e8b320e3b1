import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../repository.ts';
import { ALL_API_ERRORS, VISITOR_ERRORS } from '../../shared/errors.ts';
import { ERROR_HELP, GENERATED, generate } from './pages.ts';

describe('generated pages', () => {
  for (const path of GENERATED) {
    it(`are current: ${path}; run npm run docs`, async () => {
      assert.equal(readFileSync(join(ROOT, path), 'utf8'), await generate(path));
    });
  }
});

describe('the error catalogue', () => {
  it('has a cause and a remedy for each code', () => {
    for (const code of [...ALL_API_ERRORS.map((entry) => entry.code), ...Object.keys(VISITOR_ERRORS)])
      assert.ok(ERROR_HELP[code] !== undefined, code);
    for (const code of Object.keys(ERROR_HELP))
      assert.ok(
        Object.hasOwn(VISITOR_ERRORS, code.replace('visitor:', '')) ||
          ALL_API_ERRORS.some((entry) => entry.code === code),
        code,
      );
  });
});
