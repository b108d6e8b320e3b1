import assert from 'node:assert/strict';
import { OPEN } from './access.ts';
import { API_ERRORS, ApiError, type ApiErrorEntry, withValues } from './errors.ts';
import { readCreateTunnel, readExtendTunnel } from './tunnel-requests.ts';
import { NAME_PATTERN } from './value-rules.ts';

const limits = { defaultTtl: 3600, maxTtl: 604_800 };

function refusal(read: () => unknown): ApiErrorEntry {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof ApiError);
    const { status, values } = error;
    const { code, error: text } = error.body;
    return { status, code, text, ...(values && { values }) };
  }
  return assert.fail('nothing was refused');
}

const withPort = (fields: object): object => ({ local_port: 1, ...fields });

describe('readCreateTunnel', () => {
  it('fills in the defaults', () => {
    assert.deepEqual(readCreateTunnel({ local_port: 3000 }, limits), {
      localPort: 3000,
      name: '',
      ttl: 3600,
      idleTtl: false,
      access: OPEN,
      takeOver: false,
      domain: '',
      wildcard: false,
      protocol: 'http',
      remotePort: undefined,
    });
  });

  it('accepts every field', () => {
    assert.deepEqual(
      readCreateTunnel(
        {
          local_port: 65_535,
          name: 'my-app',
          ttl: '1.5h',
          idle_ttl: true,
          access: { links: true },
          take_over: true,
          domain: 'App.Example.com.',
          wildcard: true,
          protocol: 'http',
          remote_port: null,
          other: 1,
        },
        limits,
      ),
      {
        localPort: 65_535,
        name: 'my-app',
        ttl: 5400,
        idleTtl: true,
        access: { ...OPEN, links: true },
        takeOver: true,
        domain: 'app.example.com',
        wildcard: true,
        protocol: 'http',
        remotePort: undefined,
      },
    );
  });

  it('treats null for each optional field, and an empty name, as missing', () => {
    const optional = [
      'name',
      'ttl',
      'idle_ttl',
      'access',
      'take_over',
      'domain',
      'wildcard',
      'protocol',
      'remote_port',
    ];
    const nulls = Object.fromEntries(optional.map((field) => [field, null]));
    const plain = readCreateTunnel({ local_port: 1 }, limits);
    for (const given of [nulls, { name: '' }])
      assert.deepEqual(readCreateTunnel({ ...given, local_port: 1 }, limits), plain);
  });

  it('makes a tunnel with a domain for all hosts a wildcard one, unless the request contradicts itself', () => {
    const given = { local_port: 1, domain: '*.example.com' };
    for (const wildcard of [undefined, null, true])
      assert.equal(readCreateTunnel({ ...given, wildcard }, limits).wildcard, true);
    const { code } = refusal(() => readCreateTunnel({ ...given, wildcard: false }, limits));
    assert.equal(code, 'invalid-domain');
  });

  it('accepts of an access policy only the addresses for TLS and TCP tunnels', () => {
    const allow = { allow: ['10.0.0.0/8'], links: false, basic: [], tokens: null };
    const tls = { local_port: 1, protocol: 'tls', access: allow, domain: 'a.example.com', wildcard: false };
    assert.equal(readCreateTunnel(tls, limits).domain, 'a.example.com');
    const tcp = { local_port: 1, protocol: 'tcp', access: allow, remote_port: 70_000 };
    assert.equal(readCreateTunnel(tcp, limits).remotePort, 70_000);
    for (const [field, given] of [
      ['access.links', { ...tls, access: { ...allow, links: true } }],
      ['access.basic', { ...tcp, access: { basic: [{ user: 'ann', password: 'secret' }] } }],
      ['access.password', { ...tcp, access: { password: 'secret' } }],
      ['access.knock', { ...tcp, access: { knock: true } }],
      ['access.tokens', { ...tcp, access: { tokens: [{ name: 'ci' }] } }],
      ['access.sign_in', { ...tls, access: { sign_in: ['*'] } }],
      ['access.oauth', { ...tls, access: { oauth: true } }],
      ['wildcard', { ...tls, wildcard: true }],
      ['wildcard', { ...tcp, wildcard: true }],
      ['domain', { ...tls, wildcard: null, domain: '*.example.com' }],
      ['domain', { ...tcp, domain: 'a.example.com' }],
      ['remote_port', { ...tls, remote_port: 1 }],
      ['remote_port', { local_port: 1, remote_port: 1 }],
    ] as const) {
      const { code, text } = refusal(() => readCreateTunnel(given, limits));
      assert.deepEqual([code, text.split(' ')[0]], ['not-for-protocol', field]);
    }
  });

  const all = { local_port: 0, name: 'A', ttl: 'x', idle_ttl: 1 };
  /** With several invalid fields, the first in the order of protocol.md is named. */
  const refused: [ApiErrorEntry, unknown[]][] = [
    [API_ERRORS.invalidBody, [null, [], 'x', 1, true, withPort({ idle_ttl: 'true' })]],
    [API_ERRORS.invalidBody, ['true', 1, {}, []].map((wildcard) => withPort({ wildcard }))],
    [API_ERRORS.invalidBody, ['udp', 'TCP', '', 1, {}].map((protocol) => withPort({ protocol }))],
    [
      API_ERRORS.invalidRemotePort,
      ['22', 1.5, {}, false].map((remote_port) => withPort({ protocol: 'tcp', remote_port })),
    ],
    [
      API_ERRORS.invalidPort,
      [undefined, null, 0, -1, 65_536, 1.5, '80', true, [80], {}].map((port) => ({ local_port: port })),
    ],
    [API_ERRORS.invalidPort, [all]],
    [API_ERRORS.invalidName, [{ ...all, local_port: 1 }]],
    [API_ERRORS.invalidTtl, [{ ...all, local_port: 1, name: '' }]],
    [API_ERRORS.invalidTtl, ['', '1', '0s', '999ms', '-1h', 60, true, {}].map((ttl) => withPort({ ttl }))],
    [
      withValues(API_ERRORS.ttlTooLong, { duration: '168h0m0s' }),
      ['168h1s', `${'9'.repeat(500)}h`].map((ttl) => withPort({ ttl })),
    ],
  ];
  for (const [error, bodies] of refused) {
    for (const body of bodies) {
      it(`refuses ${JSON.stringify(body).slice(0, 60)}: ${error.code}`, () =>
        assert.deepEqual(
          refusal(() => readCreateTunnel(body, limits)),
          error,
        ));
    }
  }

  it('rounds a ttl down to whole seconds before it compares', () => {
    assert.equal(readCreateTunnel({ local_port: 1, ttl: '168h999ms' }, limits).ttl, 604_800);
  });
});

describe('readExtendTunnel', () => {
  it('accepts a ttl or none', () => {
    assert.equal(readExtendTunnel({ ttl: '30m' }, limits), 1800);
    assert.equal(readExtendTunnel({ ttl: null }, limits), undefined);
    assert.equal(readExtendTunnel({}, limits), undefined);
  });
});

describe('NAME_PATTERN', () => {
  for (const name of ['ab', 'a1', '1a', 'my-app', 'a--b', 'a'.repeat(63)]) {
    it(`accepts ${name}`, () => assert.match(name, NAME_PATTERN));
  }
  for (const name of ['a', '-a', 'a-', 'A1', 'a_b', 'a.b', 'xn--abc', 'a'.repeat(64), 'a b', 'ab\n', 'é1']) {
    it(`refuses ${JSON.stringify(name)}`, () => assert.doesNotMatch(name, NAME_PATTERN));
  }
});
