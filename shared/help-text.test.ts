import assert from 'node:assert/strict';
import { nearest } from './help-text.ts';

describe('nearest', () => {
  const known = ['http', 'start', 'status', 'list', 'local-host'];
  const cases: [string, string | undefined][] = [
    ['htpp', 'http'],
    ['hhtp', 'http'],
    ['STATS', 'status'],
    ['statr', 'start'],
    ['localhost', 'local-host'],
    ['ls', undefined],
    ['nonsense', undefined],
    ['', undefined],
  ];
  for (const [word, meant] of cases) {
    it(`maps "${word}" to ${meant ?? 'nothing known'}`, () => assert.equal(nearest(word, known), meant));
  }
});
