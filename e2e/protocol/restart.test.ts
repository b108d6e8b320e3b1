import assert from 'node:assert/strict';
import { AccountPool } from '../support/accounts.ts';
import { bothClients } from '../support/clients.ts';
import { eventually } from '../support/deadline.ts';
import { hostOf, ManualClient } from '../support/manual-client.ts';
import { Relay } from '../support/programs.ts';
import { formatRequest, RawConnection, visit } from '../support/raw-http.ts';
import { concurrentTests, suiteScope } from '../support/scope.ts';
import { readEcho, type Site, startSite } from '../support/services/echo.ts';

bothClients('a relay that restarts', (kind) => {
  const scope = suiteScope();
  let site: Site;

  before(async () => {
    site = await startSite(scope);
  });

  const together = concurrentTests();

  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    together(`after ${signal} serves the same tunnel at the same address without intervention`, async () => {
      const relay = await Relay.start(scope);
      const { api, key } = await new AccountPool(relay).take();
      const { tunnel } = await kind.start(scope, relay, key, { localPort: site.port });
      const host = hostOf(tunnel, relay);
      assert.equal(readEcho(await visit(relay.port, { host, target: '/before' })).url, '/before');
      const exit = await relay.stop(signal);
      assert.deepEqual(exit, signal === 'SIGTERM' ? { code: 0, signal: null } : { code: null, signal });
      await relay.restart();
      await eventually(25_000, async () =>
        assert.equal(readEcho(await visit(relay.port, { host, target: '/after' })).url, '/after'),
      );
      const { id, slug, created_at, expires_at, public_url } = await api.get(tunnel.id);
      assert.deepEqual(
        { id, slug, created_at, expires_at, public_url },
        {
          id: tunnel.id,
          slug: tunnel.slug,
          created_at: tunnel.created_at,
          expires_at: tunnel.expires_at,
          public_url: tunnel.public_url,
        },
      );
      assert.equal((await api.list()).length, 1, 'no tunnel was made anew');
    });
  }

  together('lets a response in progress finish before it ends, and exits 0', async () => {
    const relay = await Relay.start(scope);
    const { key } = await new AccountPool(relay).take();
    const { tunnel } = await kind.start(scope, relay, key, { localPort: site.port });
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: hostOf(tunnel, relay), target: '/held' }));
    const head = await visitor.finalHead();
    // As from GNU timeout, which signals its whole group.
    relay.child.kill('SIGTERM');
    const exit = relay.stop('SIGTERM', 20_000);
    await eventually(20_000, () =>
      assert.rejects(
        visit(relay.port, { host: 'localhost', target: '/healthz' }),
        'it still takes connections',
      ),
    );
    site.held.pop()?.end(', and the rest');
    assert.equal((await visitor.rest(head)).text, 'first, and the rest');
    assert.deepEqual(await exit, { code: 0, signal: null });
  });
});

describe('a relay that ends', () => {
  const scope = suiteScope();
  const together = concurrentTests();

  together('ends immediately at the second SIGTERM', async () => {
    const relay = await Relay.start(scope);
    const client = await ManualClient.start(scope, relay, new AccountPool(relay));
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: client.host }));
    const data = await client.accept();
    data.send('HTTP/1.1 200 OK\r\n\r\nendless');
    await visitor.finalHead();
    relay.child.kill('SIGTERM');
    await client.control.closed;
    assert.equal(relay.child.hasExited, false, 'it waits for the open connection');
    // Within half a second it would be the same signal.
    await eventually(20_000, () => {
      relay.child.kill('SIGTERM');
      assert.ok(relay.child.hasExited);
    });
  });

  together('closes idle keep-alive connections immediately', async () => {
    const relay = await Relay.start(scope);
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.request({ host: 'localhost', target: '/healthz' });
    assert.deepEqual(await relay.stop('SIGTERM', 20_000), { code: 0, signal: null });
    assert.equal(await visitor.ending, 'end');
  });

  together('loses no acknowledged tunnel, no matter how it ends', async () => {
    const relay = await Relay.start(scope);
    const { api } = await new AccountPool(relay).take();
    const created = await Promise.all([1, 2, 3, 4, 5].map((port) => api.create({ local_port: port })));
    await relay.stop('SIGKILL');
    await relay.restart();
    const ids = (await api.list()).map(({ id }) => id);
    assert.deepEqual(ids.sort(), created.map(({ id }) => id).sort());
  });

  together('remembers an acknowledged extend and close', async () => {
    const relay = await Relay.start(scope);
    const { api } = await new AccountPool(relay).take();
    const [kept, closed] = await Promise.all([api.create({ local_port: 1 }), api.create({ local_port: 2 })]);
    const [extended] = await Promise.all([api.extend(kept.id, { ttl: '5h' }), api.close(closed.id)]);
    await relay.stop('SIGKILL');
    await relay.restart();
    assert.deepEqual(await api.list(), [extended]);
  });
});
