import assert from 'node:assert/strict';
import { visitorOf } from './exchange.ts';

const request = (fields: string, body = ''): Buffer =>
  Buffer.from(`GET / HTTP/1.1\r\nHost: a\r\n${fields}\r\n${body}`);

describe('visitorOf', () => {
  it('returns the visitor as the relay identifies it', () => {
    assert.equal(visitorOf(request('Culvert-Visitor: basic:ann\r\n')), 'basic:ann');
    assert.equal(
      visitorOf(request('A: b\r\nCulvert-Visitor: link:f%C3%BCr Ann 100%25\r\nC: d\r\n')),
      'link:für Ann 100%',
    );
    assert.equal(visitorOf(request('Culvert-Visitor: link:%zz\r\n')), 'link:%zz');
  });

  it('returns nothing for anything else', () => {
    assert.equal(visitorOf(Buffer.alloc(0)), undefined);
    assert.equal(visitorOf(request('')), undefined);
    assert.equal(visitorOf(request('X-Culvert-Visitor: ann\r\n')), undefined);
    assert.equal(visitorOf(request('', '\r\nCulvert-Visitor: ann\r\n')), undefined);
    assert.equal(visitorOf(Buffer.from('GET / HTTP/1.1\r\nCulvert-Visitor: an')), undefined, 'not there yet');
  });
});
