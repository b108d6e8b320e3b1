import assert from 'node:assert/strict';
import { parseDuration } from '../../../shared/duration.ts';
import { LINK_DEFAULT_TTL_SECONDS, LINK_MAX_TTL_SECONDS } from '../../../shared/links.ts';
import { linkChoices, LINK_DEFAULT_TTL, linkEnd, linkName } from './links.ts';

const LINK = { id: 'l', note: '', expiresAt: 3_600_000 };

describe('links', () => {
  it('can be good for as long as a relay allows, and by themselves as long as its own', () => {
    const choices = linkChoices().map(({ ttl }) => parseDuration(ttl) ?? assert.fail(ttl));
    assert.ok(choices.every((seconds) => seconds > 0 && seconds <= LINK_MAX_TTL_SECONDS));
    assert.equal(parseDuration(LINK_DEFAULT_TTL), LINK_DEFAULT_TTL_SECONDS);
    assert.ok(linkChoices().some(({ ttl }) => ttl === LINK_DEFAULT_TTL));
  });

  it('are listed by their note, with the time that is left', () => {
    assert.equal(linkName({ ...LINK, note: 'for Ann' }), 'for Ann');
    assert.equal(linkName(LINK), 'Without a note');
    assert.equal(linkEnd(LINK, 60_000), '59 min left');
    assert.equal(linkEnd(LINK, LINK.expiresAt), 'ended');
  });
});
