import assert from 'node:assert/strict';
import { HOP_LINE_MAX_BYTES } from '../limits.ts';
import { type HopRequest, readHop, writeHop } from './hop.ts';

const SECRET = 's'.repeat(32);
const request: HopRequest = {
  id: 'id',
  key: 'key',
  authorization: `Bearer cvt_${'x'.repeat(200)}`,
  via: 'two',
};

function line(): string {
  return writeHop(request, 'one', SECRET).trimEnd();
}

describe('a hop', () => {
  it('arrives as it was sent', () => {
    assert.deepEqual(readHop(line(), 'one', SECRET), request);
    const keyless = { ...request, authorization: undefined };
    assert.equal(
      readHop(writeHop(keyless, 'one', SECRET).trimEnd(), 'one', SECRET)?.authorization,
      undefined,
    );
  });

  it('is one line within its limit, never the same', () => {
    assert.match(writeHop(request, 'one', SECRET), /^[^\n]+\n$/);
    assert.ok(writeHop(request, 'one', SECRET).length < HOP_LINE_MAX_BYTES);
    assert.notEqual(line(), line());
  });

  it('means nothing to another relay, or with another secret', () => {
    assert.equal(readHop(line(), 'two', SECRET), undefined);
    assert.equal(readHop(line(), 'one', 'another'), undefined);
  });

  it('is refused with any character changed', () => {
    const good = line();
    for (let at = 0; at < good.length; at += 1) {
      const changed = good.slice(0, at) + (good[at] === 'a' ? 'b' : 'a') + good.slice(at + 1);
      assert.equal(readHop(changed, 'one', SECRET), undefined, `at ${at}`);
    }
  });

  it('is told from anything else', () => {
    for (const text of ['', 'GET / HTTP/1.1', 'culvert-hop/1 a b c']) {
      assert.equal(readHop(text, 'one', SECRET), undefined);
    }
  });
});
