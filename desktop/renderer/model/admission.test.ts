import assert from 'node:assert/strict';
import { parseDuration } from '../../../shared/duration.ts';
import { ADMISSIONS, admissionTtl } from './admission.ts';

const at = (hours: number, minutes: number, seconds = 0): number =>
  new Date(2026, 10, 21, hours, minutes, seconds).getTime();

describe('admissionTtl', () => {
  it('is a duration that a relay takes, at any time of the day', () => {
    for (const id of ADMISSIONS)
      for (const now of [at(0, 0), at(12, 0), at(23, 59, 59)])
        assert.ok((parseDuration(admissionTtl(id, now)) ?? 0) > 0, id);
  });

  it('lets in for today until midnight', () => {
    assert.equal(admissionTtl('today', at(22, 30)), '90m');
    assert.equal(admissionTtl('today', at(23, 59, 59)), '1m');
    assert.equal(admissionTtl('today', at(0, 0)), '1440m');
  });

  it('lets in for an hour and for a week', () => {
    assert.deepEqual([admissionTtl('hour', 0), admissionTtl('week', 0)], ['1h', '168h']);
  });
});
