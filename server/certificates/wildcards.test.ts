import assert from 'node:assert/strict';
import type { ChallengeSolver } from './solver.ts';
import { Wildcards } from './wildcards.ts';

const dns = { type: 'dns-01' } as ChallengeSolver;
const direct = [{ type: 'tls-alpn-01' } as ChallengeSolver];

describe('wildcards', () => {
  let delegated: string[];
  const wildcards = new Wildcards({
    delegations: { isOurs: (domain) => Promise.resolve(delegated.includes(domain)) },
    dns,
    direct,
    tunnelDomain: 't.test',
    serviceDomain: 's.test',
  });

  beforeEach(() => {
    delegated = ['t.test', 'ann.s.test', 'customer.test', 's.test'];
  });

  for (const [host, subject, domain] of [
    ['hello.t.test', '*.t.test', 't.test'],
    ['relay.t.test', '*.t.test', 't.test'],
    ['hello.ann.s.test', '*.ann.s.test', 'ann.s.test'],
  ] as const) {
    it(`are what ${host} gets, else a certificate of its own`, async () => {
      const otherwise = { subject: host, solvers: direct };
      assert.deepEqual(await wildcards.planFor(host), { subject, solvers: [dns], otherwise });
      delegated = delegated.filter((one) => one !== domain);
      assert.deepEqual(await wildcards.planFor(host), otherwise);
    });
  }

  for (const subject of ['*.t.test', '*.ann.s.test']) {
    it(`are renewed by DNS, and by nothing else: ${subject}`, async () => {
      assert.deepEqual(await wildcards.planFor(subject), { subject, solvers: [dns] });
      delegated = [];
      assert.deepEqual(await wildcards.planFor(subject), { subject, solvers: [] });
    });
  }

  for (const host of ['relay.test', 'app.customer.test', 'x.s.test', 'hello.bob.s.test', 'a.b.t.test']) {
    it(`are nothing for ${host}`, async () => {
      assert.deepEqual(await wildcards.planFor(host), { subject: host, solvers: direct });
    });
  }

  it('do not cover the tunnel domain itself, which is proven in the same place', async () => {
    assert.deepEqual(await wildcards.planFor('t.test'), { subject: 't.test', solvers: [dns, ...direct] });
    delegated = [];
    assert.deepEqual(await wildcards.planFor('t.test'), { subject: 't.test', solvers: direct });
  });

  it('are there before anybody asks, for the tunnel domain', async () => {
    assert.deepEqual(await wildcards.always(), ['*.t.test']);
    delegated = [];
    assert.deepEqual(await wildcards.always(), []);
  });
});
