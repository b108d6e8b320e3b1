/** Tunnels without a chosen lifetime live as long as their client (docs/reference/culvert.md). */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount } from '../support/accounts.ts';
import type { Child } from '../support/child.ts';
import { eventually } from '../support/deadline.ts';
import { concurrentTests } from '../support/scope.ts';
import { Culvert, spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { relaySuite } from '../support/relay-suite.ts';

/** The default lifetime at this relay, long enough for half of it on a busy machine. */
const LIFE_MS = 12_000;

describe('the lifetime of a tunnel of culvert', () => {
  const { scope, relay, pool } = relaySuite({ CULVERT_DEFAULT_TTL: `${LIFE_MS / 1000}s` });

  const together = concurrentTests();

  together('is that of the command, for culvert http and culvert start', async () => {
    const http = await pool.take();
    const culvert = await Culvert.start(scope, relay, http.key, 1);
    const start = await createAccount(relay);
    const file = join(temporaryDirectory(scope), 'culvert.yml');
    writeFileSync(file, 'tunnels:\n  kept: {port: 1}\n  chosen: {port: 1, ttl: 8s}\n');
    const environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: start.key };
    const child = spawnCulvert(scope, ['start', '--json', '--config', file], environment);
    // Half of it is over when it is extended.
    await eventually(LIFE_MS, async () => {
      const { expires_at } = await http.api.get(culvert.tunnel.id);
      assert.ok(expires_at > culvert.tunnel.expires_at);
      const left = Date.parse(expires_at) - Date.now();
      assert.ok(left > 0 && left <= LIFE_MS, `${left} ms left`);
    });
    await child.line((line) => (line.includes('"name":"chosen","reason":"expired"') ? true : undefined));
    assert.deepEqual(
      (await start.api.list()).map(({ ttl }) => ttl),
      ['12s'],
    );
    assert.equal((await culvert.child.stop('SIGINT')).code, 0);
    assert.equal((await child.stop('SIGINT')).code, 4);
  });

  together('is that of --ttl, and of --idle without visitors', async () => {
    const [one, two] = await Promise.all([pool.take(), pool.take()]);
    const chosen = await Culvert.start(scope, relay, one.key, 1, ['--ttl', '8s']);
    const idle = await Culvert.start(scope, relay, two.key, 1, ['--idle']);
    assert.equal((await chosen.child.exit()).code, 4);
    assert.equal((await idle.child.exit()).code, 4);
  });

  together('begins later if the relay limits how many tunnels can be created', async () => {
    const { key, api } = await createAccount(relay);
    const environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key };
    const create = async (): Promise<boolean> => {
      const { status, json } = await api.send('POST', '/v1/tunnels', { json: { local_port: 1 } });
      if (status === 201) await api.close((json as { id: string }).id);
      return status === 201;
    };
    let child: Child;
    do {
      while (await create());
      child = spawnCulvert(scope, ['http', '1', '--json'], environment);
      // A creation is allowed every 6 s, which a busy machine may need to start the client.
      while (child.stderr === '' && child.lines.length === 0) await create();
      await child.line((line) => (line.includes('"event":"online"') ? true : undefined));
      // It was the client that got the one that became allowed.
    } while (child.stderr === '' && (await child.stop('SIGINT')).code === 0);
    // The test's last creation may have delayed the client's a second time.
    for (const line of child.stderr.trimEnd().split('\n'))
      assert.match(line, /^culvert: The relay limits .* Trying again in \d+ s\.$/);
    assert.equal((await child.stop('SIGINT')).code, 0);
  });
});
