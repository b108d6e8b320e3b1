import assert from 'node:assert/strict';
import { parseRequestHead } from '../../../shared/http1/head.ts';
import { interimsFor } from './interims.ts';

function interims(method: string, minor: 0 | 1, trusted: boolean, expectsContinue: boolean) {
  const head = parseRequestHead(Buffer.from(`${method} / HTTP/1.${minor}\r\n\r\n`), { target: 9, fields: 9 });
  assert.ok(typeof head === 'object');
  return interimsFor({ head, expectsContinue }, { trusted });
}

describe('interimsFor', () => {
  it('sends visitors all, but none in response to HEAD, which a proxy may mistake for the final response', () => {
    assert.equal(interims('GET', 1, false, false), 'all');
    assert.equal(interims('POST', 1, false, true), 'all');
    assert.equal(interims('HEAD', 1, false, false), 'none');
  });

  it('sends a trusted proxy none but the 100 that it waits for', () => {
    assert.equal(interims('GET', 1, true, false), 'none');
    assert.equal(interims('POST', 1, true, true), 'continue');
  });

  it('sends HTTP/1.0 none', () => {
    assert.equal(interims('GET', 0, false, false), 'none');
    assert.equal(interims('GET', 0, true, false), 'none');
  });
});
