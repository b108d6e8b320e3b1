import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { Api } from '../support/api.ts';
import { type Child, runScript } from '../support/child.ts';
import { eventually } from '../support/deadline.ts';
import { visit } from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { startHttpService } from '../support/services/listen.ts';

/** The program of section 9, as a reader would copy it. */
async function documentedClient(): Promise<string> {
  const page = await readFile('docs/reference/protocol.md', 'utf8');
  const [, program] = /^```js\n([\s\S]*?)^```$/m.exec(page) ?? [];
  assert.ok(program !== undefined, 'docs/reference/protocol.md has no program');
  return program;
}

describe('the client in docs/reference/protocol.md', () => {
  const { scope, relay } = relaySuite();
  let port: number;
  let program: string;

  before(async () => {
    program = await documentedClient();
    ({ port } = await startHttpService(scope, (request, response) => {
      if (request.url === '/broken') return response.write('half', () => response.destroy());
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      return request.on('end', () => response.end(`${request.method} ${request.url} ${body}`));
    }));
  });

  /** Runs the program from standard input, so that it resolves its imports from here. */
  function run(key: string): Child {
    const child = runScript('-', [], { RELAY: relay.url, KEY: key, PORT: String(port) }, program);
    scope.defer(() => child.kill('SIGKILL'));
    return child;
  }

  /** @returns the Host of the address that the program prints */
  async function online(child: Child): Promise<string> {
    const address = await child.line((line) => (line.startsWith('http') ? new URL(line) : undefined));
    await eventually(30_000, async () => {
      assert.equal((await visit(relay.port, { host: address.host, target: '/' })).status, 200);
    });
    return address.host;
  }

  it('serves visitors, keeps broken responses broken, and reconnects to a relay that was killed', async () => {
    const host = await online(run(relay.bootstrapKey));
    const posted = await visit(relay.port, { host, method: 'POST', target: '/form', body: 'a=1' });
    assert.equal(posted.body.toString(), 'POST /form a=1');
    await assert.rejects(visit(relay.port, { host, target: '/broken' }));
    await relay.stop('SIGKILL');
    await relay.restart();
    await eventually(60_000, async () => {
      const { body } = await visit(relay.port, { host, target: '/again' });
      assert.equal(body.toString(), 'GET /again ');
    });
  }).timeout(600_000);

  it('stops permanently when its tunnel is closed', async () => {
    const child = run(relay.bootstrapKey);
    const host = await online(child);
    const api = new Api(relay, relay.bootstrapKey);
    const tunnel = (await api.list()).find(({ public_url }) => new URL(public_url).host === host);
    assert.ok(tunnel !== undefined);
    await api.close(tunnel.id);
    await child.exit();
    assert.match(child.stderr, /offline: 4001/);
  });

  it('reports what is wrong with its key', async () => {
    const child = run(`cvt_${'x'.repeat(32)}`);
    const { code } = await child.exit();
    assert.equal(code, 1);
    assert.match(child.stderr, /invalid api key/);
  });
});
