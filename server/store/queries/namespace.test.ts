import assert from 'node:assert/strict';
import { checkAsyncScript } from '../../../shared/testing/script.ts';
import { anAccount, aTunnel, ofTunnels, PUBLIC, theTerms, useStore } from '../../testing/fixtures.ts';
import { ConflictError } from '../store-errors.ts';

/** Rounds of a race; each side may lose one. */
const RACES = 20;

/** Steps by two accounts and a new one, each with the value that is taken. Times are in ms. */
const SCRIPTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'names of tunnels and subdomains of accounts': {
    "refuse a tunnel any account's subdomain, including its own":
      'ann tunnel acme: slug taken; bob tunnel acme: slug taken; tunnels: none',
    'refuse an account the name of a live tunnel as its subdomain':
      'ann tunnel web; new account web: subdomain taken; ann releases web until 0; new account web',
    'refuse an account a name reserved for another one':
      'ann releases web until 5000; new account web at 4999: subdomain taken; new account web at 5000',
    'ignore an expired tunnel left by a relay that died': `ann tunnel web expires 100000;
      new account web at 159999: subdomain taken; new account web at 160000`,
    'give a subdomain back when its account is removed': 'ann removed; bob tunnel acme; tunnels: acme',
  },
  'hosts of wildcard tunnels': {
    'are refused as names of other accounts, whatever stands before the name': `ann wildcard web;
      bob tunnel a--web: slug taken; bob tunnel a-b--web: slug taken; bob tunnel a--b--web: slug taken;
      bob tunnel a---web: slug taken; bob tunnel a--webs; bob tunnel a-web; bob tunnel web--a;
      bob tunnel b--web-site`,
    'are names that the account itself may use': 'ann wildcard web; ann tunnel a--web; ann wildcard b--web',
    'keep a wildcard tunnel from covering a name of another account': `bob tunnel a--web;
      ann wildcard web: slug taken; tunnels: a--web; ann wildcard site; ann wildcard b--web`,
    'are not reserved without `wildcard`': 'ann tunnel web; bob tunnel a--web',
    'are refused as subdomains of other accounts, and the other way around': `ann wildcard web;
      new account a--web: subdomain taken; bob subdomain a--web: subdomain taken; ann subdomain a--web;
      bob subdomain a--site; ann wildcard site: slug taken`,
    'are free again when the wildcard tunnel has ended, unless its name is held': `ann wildcard web;
      ann releases web until 5000; bob tunnel a--web at 4999: slug taken; bob tunnel a--web at 5000`,
    'include names that are held for another account': `bob releases a--web until 5000;
      ann wildcard web at 4999: slug taken; ann wildcard web at 5000`,
    'are those of the tunnel that has been taken over as a wildcard one': `ann tunnel web; bob tunnel a--web;
      ann takes web wildcard: slug taken; terms web: 0 plain; ann takes web; terms web: 1 plain`,
  },
};

const ann = anAccount({ name: 'ann', subdomain: 'acme' });
const bob = anAccount({ name: 'bob', subdomain: 'other' });

for (const [subject, rows] of Object.entries(SCRIPTS))
  describe(subject, () => {
    const store = useStore(ann, bob);
    const ids = new Map<string, string>();

    async function act(step: string): Promise<string | undefined> {
      const [who, verb = '', name = '', when, time] = step.split(' ');
      const owner = who === 'bob' ? bob : ann;
      const times = {
        ...(when === 'at' && { createdAt: Number(time) }),
        ...(when === 'expires' && { expiresAt: Number(time) }),
      };
      if (who === 'tunnels') return (await ofTunnels(store, 'slug')).join(' ') || 'none';
      if (who === 'terms') {
        const { tunnel } = (await store.findTunnel(ids.get(verb) ?? '')) ?? assert.fail(verb);
        return `${tunnel.termsRevision} ${tunnel.wildcard ? 'wildcard' : 'plain'}`;
      }
      if (who === 'new') await store.insertAccounts([anAccount({ name: 'new', subdomain: name, ...times })]);
      else if (verb === 'tunnel' || verb === 'wildcard') {
        const tunnel = aTunnel(owner.id, { slug: name, wildcard: verb === 'wildcard', ...times });
        await store.insertTunnel(tunnel);
        ids.set(name, tunnel.id);
      } else if (verb === 'subdomain') await store.setSubdomain(owner.name, name, 1000);
      else if (verb === 'removed') await store.removeAccount(owner.name, 0);
      else if (verb === 'releases') {
        const id = ids.get(name) ?? 'x';
        await store.releaseTunnels([{ id, slug: name, accountId: owner.id, heldUntil: Number(time) }], 1000);
      } else {
        const terms = theTerms({ wildcard: when === 'wildcard' });
        await store.setTerms(ids.get(name) ?? '', terms, PUBLIC, { now: 1000, nameHold: 0 });
      }
      return undefined;
    }

    async function play(step: string): Promise<string> {
      try {
        return (await act(step)) ?? '';
      } catch (error) {
        assert.ok(error instanceof ConflictError, String(error));
        return `${error.field} taken`;
      }
    }

    beforeEach(() => ids.clear());

    for (const [title, script] of Object.entries(rows)) it(title, () => checkAsyncScript(script, play));
  });

/** Each side asks for a name at the same moment, and one gets it. */
async function goesToOne(...sides: ((name: string) => Promise<unknown>)[]): Promise<void> {
  for (let race = 0; race < RACES; race += 1) {
    const name = `race-${race}`;
    if (race % 2 === 1) sides.reverse();
    const results = await Promise.allSettled(sides.map((ask) => ask(name)));
    const failures = results.filter((result) => result.status === 'rejected');
    assert.equal(failures.length, 1, name);
    assert.ok(failures[0]?.reason instanceof ConflictError, String(failures[0]?.reason));
  }
}

describe('a name that two request at the same moment', () => {
  const store = useStore(ann, bob);

  const subdomains: Readonly<Record<string, (name: string) => Promise<unknown>>> = {
    'a new account': (name) => store.insertAccounts([anAccount({ subdomain: name })]),
    'another account': (name) => store.setSubdomain(bob.name, name, 1000),
  };
  const askers: Readonly<Record<string, (name: string) => Promise<unknown>>> = {
    'a tunnel': (name) => store.insertTunnel(aTunnel(ann.id, { slug: name })),
    'an account': (name) => store.setSubdomain(ann.name, name, 1000),
  };

  for (const [one, ask] of Object.entries(askers))
    for (const [other, askToo] of Object.entries(subdomains))
      it(`goes to one of them: ${one} and ${other}`, () => goesToOne(ask, askToo));
});
