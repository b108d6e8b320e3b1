import assert from 'node:assert/strict';
import { describeAccess } from './access-text.ts';

describe('describeAccess', () => {
  it('says who may come in, and nothing for everybody', () => {
    assert.equal(describeAccess({}), undefined);
    assert.equal(describeAccess({ allow: [], basic: [] }), undefined);
    assert.equal(
      describeAccess({ allow: ['::1'], basic: ['ann', 'bob'], password: true, links: true, knock: true }),
      'login (ann, bob) or password or signed link or knock, only from ::1',
    );
    assert.equal(describeAccess({ allow: ['::1', '10.0.0.0/8'] }), 'only from ::1, 10.0.0.0/8');
    assert.equal(describeAccess({ basic: ['a', 'b', 'c', 'd', 'e'] }), 'login (a, b, c and 2 more)');
  });
});
