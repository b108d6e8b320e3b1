import assert from 'node:assert/strict';
import { OPEN } from './access.ts';
import { API_ERRORS, ApiError, type ApiErrorEntry, ttlTooLong } from './errors.ts';
import { readCreateTunnel, readExtendTunnel } from './tunnel-requests.ts';
import { NAME_PATTERN } from './value-rules.ts';

const limits = { defaultTtl: 3600, maxTtl: 604_800 };

function refusal(read: () => unknown): ApiErrorEntry {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof ApiError);
    return { status: error.status, code: error.body.code, text: error.message };
  }
  return assert.fail('nothing was refused');
}

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
      },
    );
  });

  it('treats null and an empty name as missing', () => {
    const given = { local_port: 1, name: null, ttl: null, idle_ttl: null };
    assert.deepEqual(readCreateTunnel(given, limits), readCreateTunnel({ local_port: 1, name: '' }, limits));
  });

  it('treats null as missing for each optional field', () => {
    const optional = ['name', 'ttl', 'idle_ttl', 'access', 'take_over', 'domain', 'wildcard'];
    const given = Object.fromEntries(optional.map((field) => [field, null]));
    assert.deepEqual(
      readCreateTunnel({ ...given, local_port: 1 }, limits),
      readCreateTunnel({ local_port: 1 }, limits),
    );
  });

  it('makes a tunnel with a domain for all hosts a wildcard one, unless the request contradicts itself', () => {
    const given = { local_port: 1, domain: '*.example.com' };
    for (const wildcard of [undefined, null, true])
      assert.equal(readCreateTunnel({ ...given, wildcard }, limits).wildcard, true);
    const { code } = refusal(() => readCreateTunnel({ ...given, wildcard: false }, limits));
    assert.equal(code, 'invalid-domain');
  });

  for (const wildcard of ['true', 1, {}, []]) {
    it(`refuses wildcard ${JSON.stringify(wildcard)}`, () => {
      assert.deepEqual(
        refusal(() => readCreateTunnel({ local_port: 1, wildcard }, limits)),
        API_ERRORS.invalidBody,
      );
    });
  }

  for (const body of [null, [], 'x', 1, true]) {
    it(`refuses a body of ${JSON.stringify(body)}`, () => {
      assert.deepEqual(
        refusal(() => readCreateTunnel(body, limits)),
        API_ERRORS.invalidBody,
      );
    });
  }

  for (const port of [undefined, null, 0, -1, 65_536, 1.5, '80', true, [80], {}]) {
    it(`refuses local_port ${JSON.stringify(port)}`, () => {
      assert.deepEqual(
        refusal(() => readCreateTunnel({ local_port: port }, limits)),
        API_ERRORS.invalidPort,
      );
    });
  }

  for (const ttl of ['', '1', '0s', '999ms', '-1h', 60, true, {}]) {
    it(`refuses ttl ${JSON.stringify(ttl)}`, () => {
      assert.deepEqual(
        refusal(() => readCreateTunnel({ local_port: 1, ttl }, limits)),
        API_ERRORS.invalidTtl,
      );
    });
  }

  it('refuses a ttl above the maximum, and rounds down to whole seconds before it compares', () => {
    const tooLong = ttlTooLong('168h0m0s');
    assert.deepEqual(
      refusal(() => readCreateTunnel({ local_port: 1, ttl: '168h1s' }, limits)),
      tooLong,
    );
    assert.deepEqual(
      refusal(() => readCreateTunnel({ local_port: 1, ttl: `${'9'.repeat(500)}h` }, limits)),
      tooLong,
    );
    assert.equal(readCreateTunnel({ local_port: 1, ttl: '168h999ms' }, limits).ttl, 604_800);
  });

  it('names the first field in the order of protocol.md', () => {
    const all = { local_port: 0, name: 'A', ttl: 'x', idle_ttl: 1 };
    assert.deepEqual(
      refusal(() => readCreateTunnel(all, limits)),
      API_ERRORS.invalidPort,
    );
    assert.deepEqual(
      refusal(() => readCreateTunnel({ ...all, local_port: 1 }, limits)),
      API_ERRORS.invalidName,
    );
    assert.deepEqual(
      refusal(() => readCreateTunnel({ ...all, local_port: 1, name: '' }, limits)),
      API_ERRORS.invalidTtl,
    );
    assert.deepEqual(
      refusal(() => readCreateTunnel({ local_port: 1, idle_ttl: 'true' }, limits)),
      API_ERRORS.invalidBody,
    );
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
