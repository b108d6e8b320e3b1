import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Tunnel } from '../../shared/tunnel.ts';
import { eventually } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { Relay, spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { formatRequest, RawConnection, visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';

const RESETS = 4000;
const AT_ONCE = 40;
/**
 * Turns of this process's event loop after which a visitor leaves: from before its request arrives until its response
 * has begun.
 */
const TURNS_MAX = 40;

describe('visitors of a shared folder who reset the connection', () => {
  const scope = suiteScope();

  it(`leave culvert as it was, ${RESETS} of them`, async () => {
    const folder = temporaryDirectory(scope);
    writeFileSync(join(folder, 'small.txt'), 'small');
    writeFileSync(join(folder, 'large.bin'), Buffer.alloc(4 * 1024 * 1024));
    const relay = await Relay.start(scope, { CULVERT_ADDRESS_CONNECTIONS: '100000' });
    const child = spawnCulvert(scope, ['share', folder, '--json'], {
      CULVERT_RELAY: relay.url,
      CULVERT_API_KEY: relay.bootstrapKey,
    });
    const { tunnel } = await child.line((line) => JSON.parse(line) as { tunnel: Tunnel });
    const host = hostOf(tunnel, relay);
    const descriptors = (): number => readdirSync(`/proc/${child.pid}/fd`).length;

    let visits = 0;
    async function wave(count: number): Promise<void> {
      await Promise.all(
        Array.from({ length: count }, async () => {
          visits += 1;
          const target = visits % 2 === 0 ? '/small.txt' : '/large.bin';
          const turns = visits % TURNS_MAX;
          const visitor = await RawConnection.open(scope, relay.port);
          await visitor.write(formatRequest({ host, target }));
          for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
          visitor.reset();
        }),
      );
    }

    // From now on, trunks and local connections exist.
    await wave(AT_ONCE);
    assert.equal((await visit(relay.port, { host, target: '/small.txt' })).text, 'small');
    let base = Infinity;
    await eventually(20_000, () => {
      const now = descriptors();
      const isSettled = now === base;
      base = now;
      assert.ok(isSettled, `${now} descriptors`);
    });
    while (visits < RESETS) await wave(AT_ONCE);
    assert.equal((await visit(relay.port, { host, target: '/small.txt' })).text, 'small', child.stderr);
    await eventually(20_000, () => {
      const now = descriptors();
      assert.ok(now <= base, `${now} descriptors, ${base} before`);
    });
  });
});
