import assert from 'node:assert/strict';
import { baseOfWildcard, isWildcardDomain, wildcardDomainOf, wildcardSlugsOf } from './wildcard-hosts.ts';

describe('wildcardSlugsOf', () => {
  const cases: [label: string, slugs: string[]][] = [
    ['any--web', ['web']],
    ['a--b--web', ['b--web', 'web']],
    ['a-b--my-app', ['my-app']],
    ['-a--web', ['web']],
    ['a---web', ['web']],
    ['---web', ['web']],
    ['web', []],
    ['--web', []],
    ['a--', []],
    ['a---', []],
    ['a-web', []],
    ['', []],
    ['xn--web', []],
    ['xn--bcher-kva--web', []],
    ['a_b--web', []],
    ['a.b--web', []],
    ['A--web', []],
    [`${'a'.repeat(58)}--web`, ['web']],
    [`${'a'.repeat(59)}--web`, []],
  ];
  for (const [label, slugs] of cases)
    it(`finds ${slugs.join(', ') || 'none'} in ${label.slice(0, 20) || 'an empty label'} (${label.length})`, () => {
      assert.deepEqual(wildcardSlugsOf(label), slugs);
    });
});

describe('wildcardDomainOf', () => {
  const cases: [host: string, domain: string | undefined][] = [
    ['a.example.com', '*.example.com'],
    ['a.b.example.com', '*.b.example.com'],
    ['example.com', undefined],
    ['xn--a.example.com', undefined],
    ['a_b.example.com', undefined],
    ['localhost', undefined],
    ['', undefined],
  ];
  for (const [host, domain] of cases)
    it(`returns ${domain ?? 'nothing'} for ${host || 'an empty host'}`, () => {
      assert.equal(wildcardDomainOf(host), domain);
    });

  it('goes with the domain as it is added', () => {
    assert.ok(isWildcardDomain('*.example.com'));
    assert.equal(baseOfWildcard('*.example.com'), 'example.com');
    assert.equal(baseOfWildcard('example.com'), 'example.com');
  });
});
