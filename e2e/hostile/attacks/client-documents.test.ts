/**
 * Documents of MCP clients (protocol.md section 11.6): anybody can make the relay fetch one, so it must reach nothing that
 * only the relay can reach, nor wait or read for long.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryDirectory } from '../../support/programs.ts';
import { testScope } from '../../support/scope.ts';

const HOSTS = `127.0.0.1 localhost
127.0.0.1 private.test
203.0.113.80 app.test
203.0.113.80 away.test
203.0.113.80 big.test
203.0.113.80 slow.test
203.0.113.80 page.test
203.0.113.80 missing.test
203.0.113.80 compressed.test
203.0.113.80 untrusted.test
203.0.113.80 mixed.test
127.0.0.1 mixed.test
0.0.0.0 unknown.test
`;
/** In a network and with files of its own. */
const SCRIPT = `set -e
ip link set lo up
ip addr add 203.0.113.80/32 dev lo
mount --bind "$0/hosts" /etc/hosts
mount --bind "$0/resolv.conf" /etc/resolv.conf
exec "$1" "$2"`;

interface Said {
  readonly outcomes: Readonly<Record<string, number>>;
  readonly seen: Readonly<Record<string, readonly string[]>>;
  readonly visitors: readonly unknown[];
  readonly agents: readonly unknown[];
}

/** of the relay */
const PROCESSES = Number(process.env['CULVERT_WORKERS'] ?? 1);

describe('the document of a client', () => {
  const scope = testScope();

  it('is fetched from the internet alone, without redirects, small, soon, and whoever the name leads to later', async () => {
    const folder = temporaryDirectory(scope);
    writeFileSync(join(folder, 'hosts'), HOSTS);
    writeFileSync(join(folder, 'resolv.conf'), 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n');
    const scene = fileURLToPath(new URL('documents-scene.ts', import.meta.url));
    const inside = [
      '--net',
      '--mount',
      '--pid',
      '--fork',
      '--kill-child',
      '--mount-proc',
      'sh',
      '-c',
      SCRIPT,
      folder,
      process.execPath,
      scene,
    ];
    const { stdout } = await promisify(execFile)('unshare', inside, { timeout: 120_000 });
    const said = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Said;
    const good = Object.entries(said.outcomes).filter(([, status]) => status === 200);
    assert.deepEqual(
      good.map(([name]) => name),
      ['app.test', 'turns.test'],
    );
    assert.deepEqual(new Set(Object.values(said.outcomes)), new Set([200, 400]));
    assert.deepEqual(said.seen['127.0.0.1'], []);
    assert.equal(said.seen['203.0.113.80']?.filter((host) => host === 'turns.test').length, 1);
    // Each process keeps one of them; the other is about another client.
    const ofApp = said.seen['203.0.113.80'].filter((host) => host === 'app.test').length;
    assert.ok(ofApp >= 2 && ofApp <= PROCESSES + 1, `${ofApp} fetches`);
    assert.deepEqual(said.visitors, ['agent:app.test']);
    const agent = ['Claude', 'app.test', '127.0.0.1'];
    assert.deepEqual(said.agents, [agent, agent]);
  });
});
