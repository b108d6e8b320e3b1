import assert from 'node:assert/strict';
import { readLoginAddress } from './login-address.ts';
import { UsageError } from '../usage-error.ts';

describe('the address behind culvert login', () => {
  const sources = { options: {}, env: {}, readLogin: () => undefined };
  const token = 'aB3_-'.repeat(6) + 'xy';

  it('is an invitation, or a relay', () => {
    const invited = readLoginAddress(`https://relay.example:8443/invite/${token}`, sources);
    assert.deepEqual(
      [invited.relay.origin, invited.invitation?.token],
      ['https://relay.example:8443', token],
    );
    const relay = readLoginAddress('https://relay.example', sources);
    assert.deepEqual([relay.relay.origin, relay.invitation], ['https://relay.example', undefined]);
    assert.equal(readLoginAddress(undefined, sources).invitation, undefined);
  });

  for (const given of [
    `https://relay.example/invite/${token}x`,
    'https://relay.example/invite/',
    'relay',
    '',
  ])
    it(`is not "${given}"`, () => {
      assert.throws(() => readLoginAddress(given, sources), UsageError);
    });

  it('excludes --relay, and an invitation --key', () => {
    const address = `https://relay.example/invite/${token}`;
    const relay = { ...sources, options: { relay: 'https://other.example' } };
    assert.throws(() => readLoginAddress(address, relay), /--relay and an address exclude each other/);
    assert.throws(() => readLoginAddress(address, { ...sources, options: { key: 'x' } }), /it brings a key/);
  });
});
