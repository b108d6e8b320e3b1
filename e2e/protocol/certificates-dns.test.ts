import assert from 'node:assert/strict';
import { createAccount } from '../support/accounts.ts';
import { CertifiedRelay, hostRecords } from '../support/certified-relay.ts';
import { concurrentTests } from '../support/concurrent-tests.ts';
import { deferred, eventually } from '../support/deadline.ts';
import { dig, Unbound } from '../support/dns-servers.ts';
import { suiteScope } from '../support/scope.ts';

const CHALLENGES = '_acme-challenge.tunnels.test';
const TUNNELS = '_acme-challenge.tunnels NS relay';
const ANN = '_acme-challenge.ann.tunnels NS relay';
const RECORD = '_acme-challenge.tunnels.test. NS relay.test.';

describe('certificates by DNS', () => {
  const scope = suiteScope();
  const together = concurrentTests();

  together('one covers all tunnels, and is there before anybody comes', async () => {
    const seen = deferred();
    const before = (path: string) => (path.startsWith('/chalZ/') ? seen.promise : undefined);
    const world = await CertifiedRelay.start(scope, { records: [TUNNELS], before });
    // What the authority is about to look for is to be seen by everybody who follows the delegation.
    await eventually(60_000, async () => {
      const { answer } = await dig(world.unbound.port, '127.0.0.1', [CHALLENGES, 'TXT']);
      assert.match(answer.join(), /^_acme-challenge\.tunnels\.test\. \d IN TXT "[\w-]{43}"$/);
    });
    seen.resolve();
    await eventually(60_000, () => assert.equal(issued(world, '*.tunnels.test'), 1));
    assert.equal(await world.namesAt('anything.tunnels.test'), 'DNS:*.tunnels.test');
    await eventually(60_000, async () => assert.equal(await world.namesAt('relay.test'), 'DNS:relay.test'));
    assert.deepEqual(world.logged('delegation missing'), []);
    await eventually(60_000, async () => {
      assert.deepEqual((await dig(world.unbound.port, '127.0.0.1', [CHALLENGES, 'TXT'])).answer, []);
    });
  });

  together('an account has one, when the first visitor of its tunnels comes', async () => {
    const world = await CertifiedRelay.start(scope, { records: [TUNNELS, ANN] });
    await tunnel(world, 'hello', 'ann');
    await eventually(60_000, async () =>
      assert.equal(await world.namesAt('hello.ann.tunnels.test'), 'DNS:*.ann.tunnels.test'),
    );
    assert.equal(await world.namesAt('other.ann.tunnels.test'), 'DNS:*.ann.tunnels.test');
    assert.equal(issued(world, '*.ann.tunnels.test'), 1);
  });

  together('without the delegation each host has its own, and the log says once what to enter', async () => {
    const world = await CertifiedRelay.start(scope);
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
  });

  together('each host has its own where the authority does not come to the relay', async () => {
    const elsewhere = await Unbound.start(scope, []);
    const world = await CertifiedRelay.start(scope, {
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

  together('one is renewed at two thirds of its life', async () => {
    const world = await CertifiedRelay.start(scope, { records: [TUNNELS], pebble: { validity: 60 } });
    await eventually(120_000, () => assert.equal(issued(world, '*.tunnels.test'), 2));
    assert.equal(await world.namesAt('anything.tunnels.test'), 'DNS:*.tunnels.test');
    assert.deepEqual(world.logged('certificate order failed'), []);
  });
});

/** How many were issued for a name. */
function issued(world: CertifiedRelay, name: string): number {
  return world.logged('certificate issued').filter((line) => line['name'] === name).length;
}

async function tunnel(world: CertifiedRelay, name: string, subdomain?: string): Promise<void> {
  const settings = { plan: 'dev', ...(subdomain !== undefined && { subdomain }) } as const;
  const { key } = await createAccount(world.relay, settings);
  await eventually(60_000, () => world.createTunnel(key, name));
}
