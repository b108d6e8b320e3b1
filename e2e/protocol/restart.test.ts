import assert from 'node:assert/strict';
import { AccountPool } from '../support/accounts.ts';
import { bothClients } from '../support/clients.ts';
import { eventually } from '../support/deadline.ts';
import { hostOf, ManualClient } from '../support/manual-client.ts';
import { Relay } from '../support/programs.ts';
import { formatRequest, RawConnection, visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { readEcho, type Site, startSite } from '../support/services/echo.ts';

bothClients('a relay that restarts', (kind) => {
  const scope = suiteScope();
  let site: Site;

  before(async () => {
    site = await startSite(scope);
  });

  it('lets a response in progress finish, and serves the same tunnel again without intervention', async () => {
    const relay = await Relay.start(scope);
    const { api, key } = await new AccountPool(relay).take();
    const { tunnel } = await kind.start(scope, relay, key, { localPort: site.port });
    const host = hostOf(tunnel, relay);
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host, target: '/held' }));
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
    for (const target of ['/after-SIGTERM', '/after-SIGKILL']) {
      await relay.restart();
      await eventually(25_000, async () =>
        assert.equal(readEcho(await visit(relay.port, { host, target })).url, target),
      );
      const { id, slug, created_at, expires_at, public_url } = await api.get(tunnel.id);
      assert.deepEqual(
        [id, slug, created_at, expires_at, public_url],
        [tunnel.id, tunnel.slug, tunnel.created_at, tunnel.expires_at, tunnel.public_url],
      );
      assert.equal((await api.list()).length, 1, 'no tunnel was made anew');
      await relay.stop('SIGKILL');
    }
  });
});

describe('a relay that ends', () => {
  const scope = suiteScope();

  it('closes idle connections immediately, and others at the second SIGTERM', async () => {
    const relay = await Relay.start(scope);
    const client = await ManualClient.start(scope, relay, new AccountPool(relay));
    const idle = await RawConnection.open(scope, relay.port);
    await idle.request({ host: 'localhost', target: '/healthz' });
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: client.host }));
    const data = await client.accept();
    data.send('HTTP/1.1 200 OK\r\n\r\nendless');
    await visitor.finalHead();
    relay.child.kill('SIGTERM');
    await client.control.closed;
    assert.equal(await idle.ending, 'end');
    assert.equal(relay.child.hasExited, false, 'it waits for the open connection');
    // Within half a second it would be the same signal.
    await eventually(20_000, () => {
      relay.child.kill('SIGTERM');
      assert.ok(relay.child.hasExited);
    });
  });

  it('remembers each acknowledged create, extend and close, no matter how it ends', async () => {
    const relay = await Relay.start(scope);
    const { api } = await new AccountPool(relay).take();
    const [kept, closed] = await Promise.all([api.create({ local_port: 1 }), api.create({ local_port: 2 })]);
    const [extended] = await Promise.all([api.extend(kept.id, { ttl: '5h' }), api.close(closed.id)]);
    const created = await api.create({ local_port: 3 });
    await relay.stop('SIGKILL');
    await relay.restart();
    assert.deepEqual(await api.list(), [created, extended]);
  });
});
