/** `culvert http --fail` and `--delay` (docs/start/debug-a-webhook.md): requests that fail or wait on purpose. */
import assert from 'node:assert/strict';
import { createAccount } from '../support/accounts.ts';
import { Culvert, spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { RawConnection, visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { startHttpService } from '../support/services/listen.ts';

describe('a rehearsal', () => {
  const { relay, scope } = sharedRelaySuite();

  it('fails and delays requests on purpose, and marks them in the log', async () => {
    const seen: string[] = [];
    const service = await startHttpService(scope, (request, response) => {
      let size = 0;
      request.on('data', (piece: Buffer) => (size += piece.length));
      request.on('end', () => {
        seen.push(`${String(request.method)} ${String(request.url)} ${size}`);
        response.end('served');
      });
    });
    const { key } = await createAccount(relay);
    const rules = ['--fail', 'POST /hooks 503 x2', '--delay', '/slow 300ms x1'];
    const folder = temporaryDirectory(scope);
    const environment = { XDG_RUNTIME_DIR: folder, TMPDIR: folder };
    const { tunnel } = await Culvert.start(scope, relay, key, service.port, rules, environment);
    const host = `${tunnel.slug}.localhost:${relay.port}`;

    // Three requests in one piece, the first two with bodies: the relay sends one after the other.
    const body = 'x'.repeat(100_000);
    const post = `POST /hooks HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const last = `GET /last HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
    const connection = await RawConnection.open(scope, relay.port);
    await connection.write(post + post + post + last);
    const statuses: number[] = [];
    for (const method of ['POST', 'POST', 'POST', 'GET'])
      statuses.push((await connection.response(method)).status);
    assert.deepEqual(statuses, [503, 503, 200, 200]);
    assert.deepEqual(seen, [`POST /hooks ${body.length}`, 'GET /last 0']);

    const begun = performance.now();
    assert.equal((await visit(relay.port, { host, target: '/slow/a' })).text, 'served');
    assert.ok(performance.now() - begun >= 300);
    assert.equal((await visit(relay.port, { host, target: '/slow' })).text, 'served');

    const inspect = spawnCulvert(scope, ['inspect', 'list', '--json'], environment);
    assert.equal((await inspect.exit()).code, 0, inspect.stderr);
    const { requests } = JSON.parse(inspect.lines.join('')) as {
      requests: readonly { target: string; status: number; rehearsed?: string }[];
    };
    assert.deepEqual(
      requests
        .map(({ target, status, rehearsed }) => `${target} ${status} ${rehearsed ?? 'passed'}`)
        .toReversed(),
      [
        '/hooks 503 failed',
        '/hooks 503 failed',
        '/hooks 200 passed',
        '/last 200 passed',
        '/slow/a 200 delayed',
        '/slow 200 passed',
      ],
    );
  });
});
