import assert from 'node:assert/strict';
import { aDomain, anAccount, aTunnel, nameHolders, ofEach, useStore } from '../testing/fixtures.ts';
import type { DomainRecord } from './records.ts';
import { ConflictError, FullError } from './store-errors.ts';

describe('domains in the store', () => {
  const ann = anAccount({ name: 'ann' });
  const bob = anAccount({ name: 'bob' });
  const release = { now: 2000, nameHold: 0 };
  const store = useStore(ann, bob);

  async function claim(accountId: string, domain: string): Promise<DomainRecord> {
    return await store.insertDomain(aDomain(accountId, domain), null);
  }

  async function verified(accountId: string, domain: string, instead: string | null = null) {
    const { id } = await claim(accountId, domain);
    assert.deepEqual(await store.verifyDomain({ id, instead, checkAt: 5000, ...release }), []);
    return id;
  }

  async function certificates(): Promise<string[]> {
    return (await store.certificateSummaries(0)).map(({ name }) => name);
  }

  it('are claimed by several accounts, once by each', async () => {
    const first = await claim(ann.id, 'a.test');
    assert.deepEqual(await claim(ann.id, 'a.test'), first);
    await claim(bob.id, 'a.test');
    assert.deepEqual(await store.domainsOf(ann.id), [first]);
    assert.equal(await store.verifiedClaim('a.test'), undefined);
  });

  it('are limited per account, also for two concurrent requests', async () => {
    const wanted = ['a.test', 'b.test', 'c.test'].map((domain) =>
      store.insertDomain(aDomain(ann.id, domain), 2),
    );
    const results = await Promise.allSettled(wanted);
    const refused = results.filter(({ status }) => status === 'rejected');
    assert.equal(refused.length, 1);
    assert.ok((refused[0] as PromiseRejectedResult).reason instanceof FullError);
    assert.equal((await store.domainsOf(ann.id)).length, 2);
  });

  it('are verified for one account, and end the previous tunnels when they move', async () => {
    const old = await verified(ann.id, 'a.test');
    const tunnel = aTunnel(ann.id, { domain: 'a.test', slug: 'web' });
    await store.insertTunnel(tunnel);
    const { id } = await claim(bob.id, 'a.test');
    const verification = { id, checkAt: 5000, now: 2000, nameHold: 1000 };
    assert.equal(await refusal(store.verifyDomain({ ...verification, instead: null })), 'domain');
    assert.deepEqual(await store.verifyDomain({ ...verification, instead: old }), [tunnel.id]);
    assert.deepEqual(await store.domainsOf(ann.id), []);
    assert.deepEqual(await store.findVerifiedDomains(['a.test', 'b.test']), [
      { domain: 'a.test', accountId: bob.id },
    ]);
    assert.equal(await store.findTunnel(tunnel.id), undefined);
    assert.deepEqual(await nameHolders(store, [['web', 2999]]), [ann.id]);
  });

  it('are read in batches', async () => {
    for (const domain of ['c.test', 'a.test', 'b.test']) await verified(ann.id, domain);
    await claim(ann.id, 'd.test');
    assert.deepEqual(ofEach(await store.verifiedDomains('', 2), 'domain'), ['a.test', 'b.test']);
    assert.deepEqual(ofEach(await store.verifiedDomains('b.test', 2), 'domain'), ['c.test']);
  });

  it('are used only by tunnels of their account, one at a time, and only once they are verified', async () => {
    const insert = (accountId: string, fields = {}) =>
      refusal(store.insertTunnel(aTunnel(accountId, { domain: 'a.test', ...fields })));
    assert.equal(await insert(ann.id), 'claim');
    await claim(ann.id, 'a.test');
    assert.equal(await insert(ann.id), 'verification');
    await verified(ann.id, 'a.test');
    assert.equal(await insert(bob.id), 'claim');
    const tunnel = aTunnel(ann.id, { domain: 'a.test', slug: 'web' });
    await store.insertTunnel(tunnel);
    assert.equal(await insert(ann.id), 'domain');
    assert.equal(await insert(ann.id, { slug: 'web' }), 'slug');
    assert.deepEqual(
      (await store.findTunnels('domain', ['a.test', 'b.test'])).map((owned) => owned.tunnel),
      [tunnel],
    );
  });

  it('are free again when the previous tunnel has expired, even if nothing has ended it', async () => {
    await verified(ann.id, 'a.test');
    await store.insertTunnel(aTunnel(ann.id, { domain: 'a.test', expiresAt: 5000 }));
    const next = aTunnel(ann.id, { domain: 'a.test', createdAt: 5000, expiresAt: 9000 });
    await store.insertTunnel(next);
    const [owned] = await store.findTunnels('domain', ['a.test']);
    assert.equal(owned?.tunnel.id, next.id);
  });

  it('are removed with their tunnel, unless they have changed', async () => {
    const id = await verified(ann.id, 'a.test');
    const tunnel = aTunnel(ann.id, { domain: 'a.test' });
    await store.insertTunnel(tunnel);
    assert.equal(await store.removeDomain({ id, accountId: bob.id }, release), undefined);
    await store.noteDomain(id, 1500, 6000);
    assert.equal(await store.removeDomain({ id, accountId: ann.id, failingSince: 1 }, release), undefined);
    assert.deepEqual(await store.removeDomain({ id, accountId: ann.id, failingSince: 1500 }, release), [
      tunnel.id,
    ]);
    assert.equal(await store.removeDomain({ id, accountId: ann.id }, release), undefined);
    assert.equal(await store.findTunnel(tunnel.id), undefined);
  });

  describe('with a certificate', () => {
    beforeEach(async () => {
      const times = { renewAt: 5000, notAfter: 9000, storedAt: 1000 };
      for (const name of ['a.test', 'b.test', 'relay.test'])
        await store.storeCertificate({ name, chain: 'chain', key: 'key', ...times }, 0);
    });

    it('remove it with them', async () => {
      const id = await verified(ann.id, 'a.test');
      await store.removeDomain({ id, accountId: ann.id }, release);
      assert.deepEqual(await certificates(), ['b.test', 'relay.test']);
    });

    it('remove it with their account', async () => {
      await verified(ann.id, 'a.test');
      await verified(bob.id, 'b.test');
      await store.removeAccount('ann', 2000);
      assert.deepEqual(await certificates(), ['b.test', 'relay.test']);
    });

    it("keep it when they move to another account, or when another account's claim is removed", async () => {
      const old = await verified(ann.id, 'a.test');
      const id = await verified(bob.id, 'a.test', old);
      const other = await claim(ann.id, 'a.test');
      await store.removeDomain({ id: other.id, accountId: ann.id }, release);
      assert.deepEqual(await certificates(), ['a.test', 'b.test', 'relay.test']);
      assert.notEqual(id, other.id);
    });

    it('lose one that was stored after their removal, and keep one of a verified domain', async () => {
      await verified(ann.id, 'a.test');
      await store.forgetCertificates(['a.test', 'b.test', 'c.test']);
      await store.forgetCertificates([]);
      assert.deepEqual(await certificates(), ['a.test', 'relay.test']);
    });
  });

  it('notify unconnected relays when they are removed or moved, and only then', async () => {
    const seen: string[] = [];
    const look = async (): Promise<void> => void seen.push(await store.accessRevision(0));
    await look();
    const old = await verified(ann.id, 'a.test');
    const { id: pending } = await claim(ann.id, 'b.test');
    await store.removeDomain({ id: pending, accountId: ann.id }, release);
    await look();
    const id = await verified(bob.id, 'a.test', old);
    await look();
    await store.removeDomain({ id, accountId: bob.id }, release);
    await look();
    assert.deepEqual(seen, ['0/0', '0/0', '1/0', '2/0']);
  });

  it('are checked by one relay when they are due', async () => {
    const id = await verified(ann.id, 'a.test');
    assert.deepEqual(await store.takeDueDomains(4999, 9000, 10), []);
    assert.deepEqual(
      (await store.takeDueDomains(5000, 9000, 10)).map((due) => due.id),
      [id],
    );
    assert.deepEqual(await store.takeDueDomains(8999, 9999, 10), []);
    await store.noteDomain(id, 7000, 20_000);
    assert.deepEqual(await store.takeDueDomains(19_999, 30_000, 10), []);
    await store.noteDomain(id, 7500, null);
    assert.deepEqual(await store.takeDueDomains(19_999, 30_000, 10), []);
    await store.noteDomain(id, 7000, null);
    assert.equal((await store.takeDueDomains(20_000, 30_000, 10))[0]?.failingSince, 7000);
  });

  it('are forgotten only if they were not verified in time', async () => {
    await verified(ann.id, 'a.test');
    await claim(ann.id, 'b.test');
    await store.insertDomain(aDomain(ann.id, 'c.test', { createdAt: 1001 }), null);
    await store.forgetClaims(1000);
    assert.deepEqual(ofEach(await store.domainsOf(ann.id), 'domain'), ['a.test', 'c.test']);
  });

  it('are removed with their account', async () => {
    await verified(ann.id, 'a.test');
    await store.insertTunnel(aTunnel(ann.id, { domain: 'a.test' }));
    await store.removeAccount('ann', 0);
    assert.equal(await store.verifiedClaim('a.test'), undefined);
    await verified(bob.id, 'a.test');
  });
});

async function refusal(promise: Promise<unknown>): Promise<unknown> {
  const error: unknown = await promise.catch((reason: unknown) => reason);
  return error instanceof ConflictError ? error.field : error;
}
