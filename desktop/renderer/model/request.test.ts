import assert from 'node:assert/strict';
import { exampleRequest } from '../../testing/views.ts';
import { outcome, statusText } from './request.ts';

describe('a row of the request log', () => {
  it('tells how it went', () => {
    assert.equal(outcome(exampleRequest({ status: 304 })), 'fine');
    assert.equal(outcome(exampleRequest({ status: 404 })), 'failed');
    assert.equal(outcome(exampleRequest({ status: undefined })), 'pending');
    assert.equal(outcome(exampleRequest({ isBroken: true })), 'broken');
  });

  it('has a word if there is no status', () => {
    assert.equal(statusText(exampleRequest({ status: undefined })), 'waiting');
    assert.equal(statusText(exampleRequest({ status: undefined, isBroken: true })), 'broken');
    assert.equal(statusText(exampleRequest({ isBroken: true })), '200 cut');
  });
});
