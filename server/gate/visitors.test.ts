import assert from 'node:assert/strict';
import { linkIdOf, shownVisitor, visitorByLink } from './visitors.ts';

const id = '0123456789abcdef';

describe('a visitor', () => {
  it('who came with a link is shown by its note, and known by its id', () => {
    for (const note of ['for the review', 'a:b', 'two\nlines', 'link:0123456789abcdef:x']) {
      const visitor = visitorByLink({ id, note });
      assert.equal(shownVisitor(visitor), `link:${note}`);
      assert.equal(linkIdOf(visitor), id);
    }
    assert.equal(shownVisitor(visitorByLink({ id, note: '' })), 'link');
  });

  it('who came otherwise is shown as he is', () => {
    for (const visitor of ['password', 'knock', 'basic:ann', `basic:link:${id}:x`]) {
      assert.equal(shownVisitor(visitor), visitor);
      assert.equal(linkIdOf(visitor), undefined);
    }
  });
});
