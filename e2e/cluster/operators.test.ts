import assert from 'node:assert/strict';
import { administer, createAccount } from '../support/accounts.ts';
import { RelayCluster } from '../support/cluster.ts';
import { eventually, within } from '../support/deadline.ts';
import { formatRequest, RawConnection, visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';
import { ControlSocket, SpecClient } from '../support/spec-client/client.ts';

describe('admin actions on three relays', function () {
  const scope = suiteScope();
  let cluster: RelayCluster;

  before(async () => {
    cluster = await RelayCluster.shared();
  });

  /** Waits until visitors of a tunnel get this status from each relay. */
  async function everywhere(slug: string, status: number): Promise<void> {
    for (const { port } of cluster.relays)
      await eventually(10_000, async () => {
        assert.equal((await visit(port, { host: `${slug}.localhost:${port}` })).status, status);
      });
  }

  async function openDownload(slug: string, port: number): Promise<{ cut: Promise<void> }> {
    const visitor = await RawConnection.open(scope, port);
    await visitor.write(formatRequest({ host: `${slug}.localhost:${port}`, target: '/download' }));
    const head = await visitor.finalHead();
    return { cut: assert.rejects(visitor.rest(head), /ended/) };
  }

  it('suspend, resume and close tunnels on all relays, no matter which one is asked', async () => {
    const [first] = cluster.relays;
    const relay = first ?? assert.fail('no relay');
    const account = await createAccount(relay);
    const service = await startHttpService(scope, (asked, response) => {
      if (asked.url === '/download') response.writeHead(200, { 'Content-Length': '1000' }).write('begun');
      else response.end('here');
    });
    const start = () => SpecClient.start(scope, relay, account.key, { local_port: service.port });
    const [one, two] = [(await start()).tunnel, (await start()).tunnel];
    const elsewhere = cluster.relays.at(-1) ?? assert.fail('no relay');
    // This relay has the client of a tunnel that another one created.
    const third = await account.api.create({ local_port: 9 });
    const held = await ControlSocket.open(scope, elsewhere, account.key, third.id);
    await everywhere(one.slug, 200);
    await administer(relay, 'account', 'suspend', '--name', account.name, '--reason', 'x');
    assert.deepEqual(await within(10_000, 'end of the control socket', held.closed), {
      code: 4005,
      reason: 'x',
    });
    // Not every relay knew the second tunnel before.
    for (const { slug } of [one, two]) await everywhere(slug, 451);
    await administer(relay, 'account', 'resume', '--name', account.name);
    for (const { slug } of [one, two]) await everywhere(slug, 200);
    const begun = await Promise.all(cluster.relays.map(({ port }) => openDownload(one.slug, port)));
    await administer(relay, 'tunnel', 'suspend', one.slug, '--reason', 'x');
    await within(10_000, 'end of the downloads', Promise.all(begun.map(({ cut }) => cut)));
    await everywhere(one.slug, 451);
    await everywhere(two.slug, 200);
    await administer(relay, 'tunnel', 'close', one.slug);
    await everywhere(one.slug, 404);
    const body = JSON.stringify({ local_port: 9, name: one.slug });
    const headers = { authorization: `Bearer ${account.key}` };
    const again = await fetch(`${elsewhere.url}/v1/tunnels`, { method: 'POST', headers, body });
    assert.equal(again.status, 409);
  }).timeout(180_000);
});
