import assert from 'node:assert/strict';
import { writeProblem } from './write-problem.ts';

describe('a file that cannot be written', () => {
  it('is said in words, or in those of the system', () => {
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    assert.equal(writeProblem(full), 'there is no room left');
    assert.equal(writeProblem(new Error('the moon is full')), 'the moon is full');
  });
});
