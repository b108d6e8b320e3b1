import assert from 'node:assert/strict';
import { REMEMBERED_HOSTS_MAX } from '../../limits.ts';
import { hostname } from '../../../shared/host.ts';
import { HostResolver, isHost, resolveHost } from './host-resolver.ts';

const domains = { own: 'relay.example', tunnel: 'tunnels.example', service: 'example' };

describe('resolveHost', () => {
  const cases: [string, string][] = [
    ['relay.example', 'own'],
    ['RELAY.example:8080', 'own'],
    ['elsewhere.org', 'other'],
    ['xn--mller-kva.org:81', 'other'],
    ['1.2.3.4', 'own'],
    ['single', 'own'],
    ['127.0.0.1:80', 'own'],
    ['[::1]:80', 'own'],
    ['app.localhost:80', 'own'],
    ['localhost.', 'own'],
    ['notlocalhost.org', 'other'],
    ['1.2.3', 'other'],
    ['1.2.3.4.5', 'other'],
    ['a.123', 'other'],
    ['[:::]', 'other'],
    ['tunnels.example', 'unknown'],
    ['abc.tunnels.example', 'abc'],
    ['ABC.Tunnels.Example.', 'abc'],
    ['abc.tunnels.example:8080', 'abc'],
    ['abc.tunnels.example.:8080', 'abc'],
    ['abc.acme.example', 'abc acme'],
    ['a.b.tunnels.example', 'unknown'],
    ['a.b.acme.example', 'unknown'],
    ['.tunnels.example', ''],
    ['xtunnels.example', 'unknown'],
    ['abc.tunnels.example.evil.org', 'other'],
  ];
  for (const [host, expected] of cases) {
    it(`${host} is ${expected || 'a tunnel without a name'}`, () => {
      const target = resolveHost(host, domains);
      const found =
        target.kind === 'tunnel' ? [target.slug, target.account].filter(Boolean).join(' ') : target.kind;
      assert.equal(found, expected);
    });
  }

  it('has both forms below one domain', () => {
    const one = { own: 'localhost', tunnel: 'localhost', service: 'localhost' };
    assert.deepEqual(resolveHost('a.localhost', one), { kind: 'tunnel', slug: 'a', account: undefined });
    assert.deepEqual(resolveHost('a.b.localhost', one), { kind: 'tunnel', slug: 'a', account: 'b' });
    assert.deepEqual(resolveHost('a.b.c.localhost', one), { kind: 'unknown' });
  });
});

describe('HostResolver', () => {
  it('returns the same the second time, and after it has forgotten', () => {
    const hosts = new HostResolver({ own: 'localhost', tunnel: 'localhost', service: 'localhost' });
    const ask = () => ['a.localhost', 'localhost', 'a b'].map((host) => hosts.resolve(host)?.kind);
    const first = ask();
    assert.deepEqual(first, ['tunnel', 'own', undefined]);
    assert.deepEqual(ask(), first);
    for (let index = 0; index < 2000; index += 1) hosts.resolve(`a${index}.localhost`);
    assert.deepEqual(ask(), first);
  });
});

/** The same object is returned again only if it was remembered. */
function resolver(): HostResolver {
  return new HostResolver({ own: 'x', tunnel: 'localhost', service: 'localhost' });
}

describe('what HostResolver remembers', () => {
  it('is not lost to a flood of hosts as long as it is in use', () => {
    const hosts = resolver();
    const hot = hosts.resolve('hot.localhost');
    for (let index = 0; index < 20_000; index += 1) {
      hosts.resolve(`flood${index}.localhost`);
      if (index % 100 === 0) assert.equal(hosts.resolve('hot.localhost'), hot, `after ${index}`);
    }
  });

  it('is nothing malformed, which replaces nothing either', () => {
    const hosts = resolver();
    const hot = hosts.resolve('hot.localhost');
    for (let index = 0; index < 20_000; index += 1) hosts.resolve(`a b${index}`);
    assert.equal(hosts.resolve('hot.localhost'), hot);
  });

  it('is 1,024 hosts at most', () => {
    const hosts = resolver();
    const first = hosts.resolve('a0.localhost');
    for (let index = 1; index <= 2 * REMEMBERED_HOSTS_MAX; index += 1) hosts.resolve(`a${index}.localhost`);
    assert.notEqual(hosts.resolve('a0.localhost'), first);
  });
});

describe('isHost', () => {
  for (const host of ['a', 'a.b:80', 'a_b.c', '[::1]', '[::1]:80', '1.2.3.4', 'a:']) {
    it(`accepts ${host}`, () => assert.ok(isHost(host)));
  }
  for (const host of ['', 'a b', 'a/b', 'a@b', 'a:b', 'a:123456', 'a,b', '[::1', 'a?b', ':80', 'ä']) {
    it(`refuses ${JSON.stringify(host)}`, () => assert.ok(!isHost(host)));
  }
});

describe('hostname', () => {
  it('drops the port and one trailing dot', () => {
    assert.deepEqual(['A.b:80', 'a.b.', 'a.b..', '[::1]:80', '[::1]'].map(hostname), [
      'a.b',
      'a.b',
      'a.b.',
      '[::1]',
      '[::1]',
    ]);
  });
});
