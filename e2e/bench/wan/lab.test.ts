import assert from 'node:assert/strict';
import { secondsUntil } from './lab.ts';

describe('secondsUntil', () => {
  const line = JSON.stringify({ system: 'culvert', asked: 1500, answered: 2400 });

  it('counts from the end of the disturbance to the response', () => {
    assert.equal(secondsUntil(line, 'culvert', 1000, 2000), 0.4);
    assert.equal(secondsUntil(line, 'culvert', 1400, 1400), 1);
  });

  it('ignores requests from before the disturbance, and responses before its end', () => {
    assert.equal(secondsUntil(line, 'culvert', 1600, 2000), undefined);
    assert.equal(secondsUntil(line, 'culvert', 1000, 2500), undefined);
  });

  it('ignores other systems', () => {
    assert.equal(secondsUntil(line, 'ssh', 1000, 2000), undefined);
  });
});
