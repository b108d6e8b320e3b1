import assert from 'node:assert/strict';
import { createAccount } from '../support/accounts.ts';
import { concurrentTests } from '../support/scope.ts';
import { eventually, within } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { Culvert, spawnCulvert } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { readEcho, startEchoService } from '../support/services/echo.ts';
import type { HttpService } from '../support/services/listen.ts';
import { ControlSocket } from '../support/spec-client/client.ts';

describe('resuming a tunnel (protocol.md section 3.2)', () => {
  const { scope, relay } = sharedRelaySuite();
  let service: HttpService;

  before(async () => {
    service = await startEchoService(scope);
  });

  const together = concurrentTests();

  together(
    "a create with take_over returns the account's existing tunnel, with the requested terms",
    async () => {
      const account = await createAccount(relay);
      const tunnel = await account.api.create({ local_port: 3000, name: 'taken', ttl: '4h' });
      const json = { local_port: 4000, name: 'taken', ttl: '30m', idle_ttl: true, take_over: true };
      const { status, head, json: body } = await account.api.send('POST', '/v1/tunnels', { json });
      assert.deepEqual([status, head.field('location')], [200, undefined]);
      const { expires_at, ...rest } = await account.api.get(tunnel.id);
      const { expires_at: before, ...same } = tunnel;
      assert.deepEqual(rest, { ...same, local_port: 4000, ttl: '30m0s', idle_ttl: true });
      assert.ok(Date.parse(expires_at) < Date.parse(before), 'ends earlier than it would have');
      assert.deepEqual(body, { ...rest, expires_at });
    },
  );

  together(
    'reports whether the client is connected, and keeps its control socket until a newer one connects',
    async () => {
      const account = await createAccount(relay);
      const tunnel = await account.api.create({ local_port: 3000, name: 'kept-open' });
      assert.equal(tunnel.online, false);
      const control = await ControlSocket.open(scope, relay, account.key, tunnel.id);
      await eventually(20_000, async () => assert.equal((await account.api.get(tunnel.id)).online, true));
      const json = { local_port: 1, name: 'kept-open', take_over: true };
      const taken = await account.api.send('POST', '/v1/tunnels', { json });
      assert.equal((taken.json as { online: boolean }).online, true);
      await ControlSocket.open(scope, relay, account.key, tunnel.id);
      assert.equal((await within(10_000, 'replacement', control.closed)).code, 4000);
    },
  );

  together("does not take another account's name", async () => {
    const owner = await createAccount(relay);
    await owner.api.create({ local_port: 1, name: 'not-yours' });
    const { api } = await createAccount(relay);
    const json = { local_port: 1, name: 'not-yours', take_over: true };
    assert.equal((await api.send('POST', '/v1/tunnels', { json })).status, 409);
  });

  together('a culvert that was killed gets its previous address again, and serves it', async () => {
    const { key, api } = await createAccount(relay);
    const first = await Culvert.start(scope, relay, key, service.port, ['--name', 'killed']);
    await first.child.stop('SIGKILL');
    await eventually(10_000, async () => assert.equal((await api.get(first.tunnel.id)).online, false));
    const { tunnel } = await Culvert.start(scope, relay, key, service.port, ['--name', 'killed']);
    assert.deepEqual([tunnel.id, tunnel.public_url], [first.tunnel.id, first.tunnel.public_url]);
    const answer = await visit(relay.port, { host: hostOf(tunnel, relay), target: '/again' });
    assert.equal(readEcho(answer).url, '/again');
  });

  together('a culvert does not evict another one if it cannot ask for confirmation', async () => {
    const { key } = await createAccount(relay);
    await Culvert.start(scope, relay, key, service.port, ['--name', 'driven']);
    const env = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key };
    const second = spawnCulvert(scope, ['http', '3000', '--name', 'driven'], env);
    assert.equal((await second.exit()).code, 1);
    assert.match(second.stderr, /Another client is serving your tunnel "driven".*culvert close driven/);
    const list = spawnCulvert(scope, ['list'], env);
    await list.exit();
    assert.match(list.lines.join('\n'), /driven +online/);
  });
});
