import assert from 'node:assert/strict';
import { readableTarget, utf8Text } from './readable-target.ts';

describe('readableTarget', () => {
  const cases: [string, string][] = [
    ['/caf%C3%A9', '/café'],
    ['/%F0%9F%A6%86?q=%E9%B9%AD', '/🦆?q=鹭'],
    // What divides an address stays as it was sent.
    ['/a%2Fb%3Fc%26d%25e', '/a%2Fb%3Fc%26d%25e'],
    ['/100%', '/100%'],
    ['/%ff%C3%A9', '/%ff%C3%A9'],
    ['/cafÃ©', '/café'],
    ['*', '*'],
  ];
  for (const [target, expected] of cases) {
    it(`${target} is ${expected}`, () => assert.equal(readableTarget(target), expected));
  }
});

describe('utf8Text', () => {
  it('reads bytes as UTF-8, and leaves what is not', () => {
    assert.equal(utf8Text('Ã¼ber'), 'über');
    assert.equal(utf8Text('\xfcber'), '\xfcber');
    assert.equal(utf8Text('plain'), 'plain');
    assert.equal(utf8Text('鹭 Ã©'), '鹭 Ã©');
  });
});
