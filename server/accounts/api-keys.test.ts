import assert from 'node:assert/strict';
import { API_KEY_PATTERN } from '../../shared/value-rules.ts';
import type { KeyScope, TunnelRecord } from '../store/records.ts';
import { aTunnel } from '../testing/fixtures.ts';
import {
  generateKey,
  hashKey,
  hintOf,
  mustReach,
  outOfScope,
  reachesTunnel,
  sameHash,
  shownScope,
} from './api-keys.ts';

describe('API keys', () => {
  it('are generated as the protocol specifies, no two alike', () => {
    const keys = new Set(Array.from({ length: 100 }, () => generateKey()));
    assert.equal(keys.size, 100);
    for (const key of keys) assert.match(key, API_KEY_PATTERN);
  });

  it('use every character of base62', () => {
    const random = Array.from({ length: 200 }, () => generateKey().slice(4)).join('');
    assert.equal(new Set(random).size, 62);
  });

  it('are hashed with SHA-256', () => {
    assert.equal(hashKey('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });

  it('are shown by their first 8 characters', () => {
    assert.equal(hintOf('cvt_0123456789'), 'cvt_0123');
  });

  it('are compared by their hashes', () => {
    assert.equal(sameHash(hashKey('a'), hashKey('a')), true);
    assert.equal(sameHash(hashKey('a'), hashKey('b')), false);
    assert.equal(sameHash(hashKey('a'), 'ba78'), false);
  });
});

describe('the scope of a key', () => {
  const rows: [scope: KeyScope, shown: string, web: boolean, unnamed: boolean][] = [
    [{ kind: 'all' }, 'all', true, true],
    [{ kind: 'admin' }, 'admin', false, false],
    [{ kind: 'tunnel', name: 'web' }, 'web', true, false],
    [{ kind: 'tunnel', name: 'other' }, 'other', false, false],
    [{ kind: 'agent', prefix: 'web' }, 'agent:web', false, false],
  ];

  it('is the whole account, one tunnel, or none', () => {
    for (const [scope, shown, web, unnamed] of rows) {
      assert.deepEqual(
        [shownScope(scope), reaches(scope, { name: 'web' }), reaches(scope, { name: '' })],
        [shown, web, unnamed],
      );
    }
  });

  it('is, for an agent, what agents have created below its prefix, and its own tunnels without a name', () => {
    const scope = { kind: 'agent', prefix: 'ai' } as const;
    const reached = [{ name: 'ai-shop' }, { name: 'ai-x-y', createdKey: 'other' }, { name: '' }];
    for (const tunnel of reached) assert.ok(reaches(scope, { byAgent: true, ...tunnel }), tunnel.name);
    const others = [
      { name: 'ai-shop', byAgent: false },
      { name: 'ai' },
      { name: 'aix' },
      { name: 'shop' },
      { name: 'ai--shop' },
      { name: 'ai-x--shop' },
      { name: '', createdKey: 'other' },
      { name: '', createdKey: null },
    ];
    for (const tunnel of others)
      assert.ok(!reaches(scope, { byAgent: true, ...tunnel }), JSON.stringify(tunnel));
  });

  it('makes other tunnels look nonexistent, and names the tunnel that the key is for', () => {
    const key = { keyId: 'k', scope: { kind: 'tunnel', name: 'web' } } as const;
    assert.throws(() => mustReach(key, { name: 'shop', terms: aTunnel('') }), { status: 404 });
    assert.match(outOfScope({ kind: 'tunnel', name: 'web' }).message, /valid for the tunnel "web" only/);
    assert.match(outOfScope({ kind: 'admin' }).message, /valid for administration only/);
    assert.match(outOfScope({ kind: 'agent', prefix: 'ai' }).message, /valid for an agent's tunnels only/);
  });
});

function reaches(scope: KeyScope, fields: Partial<TunnelRecord>): boolean {
  const tunnel = aTunnel('', { createdKey: 'k', ...fields });
  return reachesTunnel({ keyId: 'k', scope }, { name: tunnel.name, terms: tunnel });
}
