import assert from 'node:assert/strict';
import { HOP_LINE_MAX_BYTES } from '../../limits.ts';
import { readGreeting, readRequest, writeGreeting, writeRequest } from './hop.ts';

const SECRET = 's'.repeat(32);
const request = { id: 'id', key: 'key', authorization: `Bearer cvt_${'x'.repeat(200)}` };

function line(): string {
  return writeGreeting('two', 'one', SECRET).trimEnd();
}

describe('the greeting of a relay', () => {
  it('says who it is', () => {
    assert.equal(readGreeting(line(), 'one', SECRET), 'two');
  });

  it('is one line within its limit, and never the same twice', () => {
    assert.match(writeGreeting('two', 'one', SECRET), /^[^\n]+\n$/);
    assert.ok(line().length < HOP_LINE_MAX_BYTES);
    assert.notEqual(line(), line());
  });

  it('means nothing to another relay, or with another secret', () => {
    assert.equal(readGreeting(line(), 'two', SECRET), undefined);
    assert.equal(readGreeting(line(), 'one', 'another'), undefined);
  });

  it('is refused with any character changed', () => {
    const good = line();
    for (let at = 0; at < good.length; at += 1) {
      const changed = good.slice(0, at) + (good[at] === 'a' ? 'b' : 'a') + good.slice(at + 1);
      assert.equal(readGreeting(changed, 'one', SECRET), undefined, `at ${at}`);
    }
  });

  it('is distinguished from anything else', () => {
    for (const text of ['', 'GET / HTTP/1.1', 'culvert-hop/2 a b c']) {
      assert.equal(readGreeting(text, 'one', SECRET), undefined);
    }
  });
});

describe('the request of a hop', () => {
  it('arrives as it was sent, with whom it comes through, within its limit', () => {
    for (const sent of [request, { ...request, authorization: undefined }]) {
      const bytes = writeRequest(sent);
      assert.ok(bytes.length < HOP_LINE_MAX_BYTES);
      assert.deepEqual(readRequest(bytes, 'two'), { ...sent, via: 'two' });
    }
  });
});
