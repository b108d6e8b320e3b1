import assert from 'node:assert/strict';
import { exampleRequest } from '../../testing/views.ts';
import { agoText, outcome, statusText, targetText, timeText } from './request.ts';

const ago = (seconds: number): string => agoText(0, seconds * 1000);

describe('a row of the request log', () => {
  it('tells how it went', () => {
    assert.equal(outcome(exampleRequest({ status: 304 })), 'fine');
    assert.equal(outcome(exampleRequest({ status: 404 })), 'failed');
    assert.equal(outcome(exampleRequest({ status: undefined })), 'pending');
    assert.equal(outcome(exampleRequest({ isBroken: true })), 'broken');
  });

  it('is live while its response comes, and not yet fine', () => {
    const stream = exampleRequest({ durationMs: undefined });
    assert.deepEqual([outcome(stream), statusText(stream), timeText(stream)], ['live', '200', 'live']);
    assert.equal(timeText(exampleRequest({ status: undefined, durationMs: undefined })), '');
    assert.equal(outcome(exampleRequest({ status: 500, durationMs: undefined })), 'failed');
  });

  it('has an address that people read, and that deceives nobody', () => {
    assert.equal(targetText({ target: '/caf%C3%A9' }), '/café');
    assert.equal(targetText({ target: '/%E2%80%AEgpj.exe' }), '/\\u{202e}gpj.exe');
  });

  it('says when it came', () => {
    assert.deepEqual([0, 4, 5, 14, 59, 60, 3599, 3600, 86_400].map(ago), [
      'now',
      'now',
      '5 s',
      '10 s',
      '55 s',
      '1 min',
      '59 min',
      '1 h',
      '1 d',
    ]);
    assert.equal(agoText(5000, 0), 'now');
  });

  it('has a word if there is no status', () => {
    assert.equal(statusText(exampleRequest({ status: undefined })), 'waiting');
    assert.equal(statusText(exampleRequest({ status: undefined, isBroken: true })), 'broken');
    assert.equal(statusText(exampleRequest({ isBroken: true })), '200 cut');
  });
});
