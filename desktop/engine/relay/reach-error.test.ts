import assert from 'node:assert/strict';
import { Network } from '../network/network.ts';
import { describeReachError } from './reach-error.ts';
import { parseRelayAddress } from './relay-address.ts';

describe('describeReachError', () => {
  it('tells that a relay did not answer in time, whose error has a number for a code', async () => {
    const error = new DOMException('aborted', 'TimeoutError');
    const relay = parseRelayAddress('http://relay.test');
    assert.equal(await describeReachError(error, new Network(), relay), 'it did not answer in time');
  });
});
