import assert from 'node:assert/strict';
import { compareVersions, isVersion } from './version.ts';

describe('versions of releases', () => {
  it('are X.Y.Z and nothing else', () => {
    for (const text of ['0.1.0', '1.0.0', '10.20.30']) assert.ok(isVersion(text), text);
    for (const text of ['', '1', '1.0', 'v1.0.0', '1.0.0-rc.1', '01.0.0', '1.0.0 ', '1.0.0\n']) {
      assert.ok(!isVersion(text), text);
    }
  });

  it('are ordered by their numbers', () => {
    const ordered = ['0.1.0', '0.1.1', '0.2.0', '0.10.0', '1.0.0', '10.0.0'];
    assert.deepEqual(ordered.toReversed().sort(compareVersions), ordered);
    assert.equal(compareVersions('1.2.3', '1.2.3'), 0);
  });
});
