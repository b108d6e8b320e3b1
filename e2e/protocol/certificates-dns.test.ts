import assert from 'node:assert/strict';
import type { Domain } from '../../shared/domains.ts';
import { createAccount } from '../support/accounts.ts';
import { type CertifiedRelay, hostRecords, startCertifiedRelay } from '../support/certified-relay.ts';
import { eventually } from '../support/deadline.ts';
import { dig, Unbound } from '../support/dns-servers.ts';
import { concurrentTests, suiteScope } from '../support/scope.ts';

const CHALLENGES = '_acme-challenge.tunnels.test';
const TUNNELS = '_acme-challenge.tunnels NS relay';
const ANN = '_acme-challenge.ann.tunnels NS relay';
const RECORD = '_acme-challenge.tunnels.test. NS relay.test.';

describe('certificates that are validated by DNS', () => {
  const scope = suiteScope();
  const together = concurrentTests();

  together('cover all tunnels with one wildcard, which is available before the first visitor', async () => {
    const seen = Promise.withResolvers<void>();
    const before = (path: string) => (path.startsWith('/chalZ/') ? seen.promise : undefined);
    const world = await startCertifiedRelay(scope, { records: [TUNNELS], before });
    // The challenge must be visible to every resolver that follows the delegation.
    await eventually(60_000, async () => {
      const { answer } = await dig(world.unbound.port, '127.0.0.1', [CHALLENGES, 'TXT']);
      assert.match(answer.join(), /^_acme-challenge\.tunnels\.test\. \d IN TXT "[\w-]{43}"$/);
    });
    seen.resolve();
    await eventually(60_000, () => assert.equal(issued(world, '*.tunnels.test'), 1));
    for (const [host, name] of [
      ['anything.tunnels.test', 'DNS:*.tunnels.test'],
      ['relay.test', 'DNS:relay.test'],
    ] as const)
      await eventually(60_000, async () => assert.equal(await world.namesAt(host), name));
    assert.deepEqual(world.logged('delegation missing'), []);
    await eventually(60_000, async () => {
      assert.deepEqual((await dig(world.unbound.port, '127.0.0.1', [CHALLENGES, 'TXT'])).answer, []);
    });
  });

  together('are issued for an account when the first visitor of its tunnels arrives', async () => {
    const world = await startCertifiedRelay(scope, { records: [TUNNELS, ANN] });
    await tunnel(world, 'hello', 'ann');
    await eventually(60_000, async () =>
      assert.equal(await world.namesAt('hello.ann.tunnels.test'), 'DNS:*.ann.tunnels.test'),
    );
    assert.equal(await world.namesAt('other.ann.tunnels.test'), 'DNS:*.ann.tunnels.test');
    assert.equal(issued(world, '*.ann.tunnels.test'), 1);
  });

  together(
    'are issued per host without the delegation, and the log says once which records to add',
    async () => {
      const world = await startCertifiedRelay(scope);
      await tunnel(world, 'hello');
      await eventually(60_000, async () =>
        assert.equal(await world.namesAt('hello.tunnels.test'), 'DNS:hello.tunnels.test'),
      );
      const told = world.logged('delegation missing');
      assert.deepEqual(
        told.map((line) => [line['domain'], line['record']]),
        [['tunnels.test', RECORD]],
      );
      await world.unbound.change([...hostRecords(world.address), TUNNELS]);
      await world.relay.stop();
      await world.relay.restart();
      await eventually(60_000, () => assert.equal(issued(world, '*.tunnels.test'), 1));
    },
  );

  together('are issued per host if the authority cannot reach the relay', async () => {
    const elsewhere = await Unbound.start(scope, []);
    const world = await startCertifiedRelay(scope, {
      records: [TUNNELS],
      pebble: { dns: elsewhere.address },
    });
    await elsewhere.change(hostRecords(world.address));
    await world.relay.stop();
    await world.relay.restart();
    await tunnel(world, 'hello');
    await eventually(60_000, async () =>
      assert.equal(await world.namesAt('hello.tunnels.test'), 'DNS:hello.tunnels.test'),
    );
    const failed = world.logged('certificate order failed').map((line) => line['name']);
    assert.ok(failed.includes('*.tunnels.test'));
  });

  together('are renewed at two thirds of their life', async () => {
    const world = await startCertifiedRelay(scope, { records: [TUNNELS], pebble: { validity: 60 } });
    await eventually(120_000, () => assert.equal(issued(world, '*.tunnels.test'), 2));
    assert.equal(await world.namesAt('anything.tunnels.test'), 'DNS:*.tunnels.test');
    assert.deepEqual(world.logged('certificate order failed'), []);
  });
});

describe('certificates of wildcard tunnels', () => {
  const scope = suiteScope();
  const together = concurrentTests();

  together('are those of the tunnel domain, and of a domain whose challenges are delegated', async () => {
    const world = await startCertifiedRelay(scope, { records: [TUNNELS] });
    const account = await createAccount(world.relay);
    const api = world.api(account.key);
    const { json } = await api.send('POST', '/v1/domains', { json: { domain: '*.shop.test' } });
    const { id, records } = json as Domain;
    assert.deepEqual(
      records.map(({ type, name }) => [type, name]),
      [
        ['CNAME', '*.shop.test'],
        ['TXT', '_culvert.shop.test'],
        ['NS', '_acme-challenge.shop.test'],
      ],
    );
    const lines = records.map(
      ({ type, name, value }) => `${name}. ${type} ${type === 'TXT' ? `"${value}"` : `${value}.`}`,
    );
    // Before the DNS server restarts: an order that it does not answer fails, and waits before it is repeated.
    await eventually(60_000, () => assert.equal(issued(world, '*.tunnels.test'), 1));
    await world.unbound.change([...hostRecords(world.address), TUNNELS, ...lines]);
    await eventually(60_000, async () => {
      const verified = await api.send('POST', `/v1/domains/${id}/verify`);
      assert.equal((verified.json as Domain).status, 'verified', JSON.stringify(verified.json));
    });
    const wanted = { local_port: 9, name: 'many', wildcard: true, domain: '*.shop.test' };
    assert.equal((await api.send('POST', '/v1/tunnels', { json: wanted })).status, 201);
    await eventually(90_000, async () =>
      assert.equal(await world.namesAt('ann.shop.test'), 'DNS:*.shop.test'),
    );
    assert.equal(await world.namesAt('bob.shop.test'), 'DNS:*.shop.test');
    assert.equal(await world.namesAt('x--many.tunnels.test'), 'DNS:*.tunnels.test');
    assert.equal(issued(world, '*.shop.test'), 1);
    assert.deepEqual(allIssued(world), ['*.shop.test', '*.tunnels.test', 'relay.test']);
  });

  together('are never ordered for single hosts, which visitors can invent', async () => {
    const world = await startCertifiedRelay(scope);
    const { key } = await createAccount(world.relay);
    const api = world.api(key);
    await api.send('POST', '/v1/tunnels', { json: { local_port: 9, name: 'many', wildcard: true } });
    await eventually(60_000, async () =>
      assert.equal(await world.namesAt('many.tunnels.test'), 'DNS:many.tunnels.test'),
    );
    for (const any of ['a', 'b', 'c']) await world.namesAt(`${any}--many.tunnels.test`).catch(() => {});
    assert.equal(
      (await api.send('POST', '/v1/tunnels', { json: { local_port: 9, name: 'exact--many' } })).status,
      201,
    );
    await eventually(60_000, async () =>
      assert.equal(await world.namesAt('exact--many.tunnels.test'), 'DNS:exact--many.tunnels.test'),
    );
    assert.deepEqual(allIssued(world), ['exact--many.tunnels.test', 'many.tunnels.test', 'relay.test']);
  });
});

/** The names of all certificates that were issued, sorted. */
function allIssued(world: CertifiedRelay): string[] {
  const names = world.logged('certificate issued').map((line) => String(line['name']));
  return names.toSorted((a, b) => a.localeCompare(b));
}

/** How many certificates were issued for a name. */
function issued(world: CertifiedRelay, name: string): number {
  return world.logged('certificate issued').filter((line) => line['name'] === name).length;
}

async function tunnel(world: CertifiedRelay, name: string, subdomain?: string): Promise<void> {
  const settings = { plan: 'dev', ...(subdomain !== undefined && { subdomain }) } as const;
  const { key } = await createAccount(world.relay, settings);
  await eventually(60_000, () => world.api(key).create({ local_port: 3000, name }));
}
