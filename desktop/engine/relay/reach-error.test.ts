import assert from 'node:assert/strict';
import { Network } from '../network/network.ts';
import { textOf } from '../said/said.ts';
import { sayReachError } from './reach-error.ts';
import { parseRelayAddress } from './relay-address.ts';

describe('sayReachError', () => {
  it('tells that a relay did not answer in time, whose error has a number for a code', async () => {
    const error = new DOMException('aborted', 'TimeoutError');
    const relay = parseRelayAddress('http://relay.test');
    assert.equal(textOf(await sayReachError(error, new Network(), relay)), 'it did not answer in time');
  });
});
