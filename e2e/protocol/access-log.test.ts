import assert from 'node:assert/strict';
import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { onPosix } from '../../shared/testing/posix.ts';
import { eventually } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { newApiKey, Relay, spawnRelay, temporaryDirectory } from '../support/programs.ts';
import { formatRequest, RawConnection, type Request, visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { startEchoService } from '../support/services/echo.ts';
import { SpecClient } from '../support/spec-client/client.ts';

type Line = Readonly<Record<string, unknown>>;

const SECRET = 'hunter2-s3cr3t';

describe('the access log of the relay (docs/operating/monitoring.md)', () => {
  const scope = suiteScope();
  let relay: Relay;
  let client: SpecClient;
  let file: string;
  let host: string;

  before(async () => {
    file = join(temporaryDirectory(scope), 'access.log');
    relay = await Relay.start(scope, { CULVERT_ACCESS_LOG: file, CULVERT_TRUST_PROXY: '127.0.0.1' });
    const service = await startEchoService(scope);
    client = await SpecClient.start(scope, relay, relay.bootstrapKey, { local_port: service.port });
    host = hostOf(client.tunnel, relay);
  });

  function lines(at = file): Line[] {
    const texts = readFileSync(at, 'utf8').split('\n').slice(0, -1);
    return texts.map((text) => JSON.parse(text) as Line);
  }

  /** Waits until a request with this path is logged. */
  async function lineOf(path: string): Promise<Line> {
    return await eventually(20_000, () => lines().find((line) => line['path'] === path) ?? assert.fail(path));
  }

  it("has a line for each request, with its tunnel's account and the bytes transferred", async () => {
    const request: Request = { method: 'POST', host, target: '/orders/1?token=x', body: 'hello' };
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.request({ host, target: '/first' });
    const before = visitor.socket.bytesRead;
    await visitor.request(request);
    const { time, ms, ...line } = await lineOf('/orders/1');
    assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/);
    assert.ok(Number(ms) >= 0);
    assert.deepEqual(line, {
      address: '127.0.0.1',
      method: 'POST',
      host,
      path: '/orders/1',
      status: 200,
      outcome: 'answered',
      bytes_in: formatRequest(request).length,
      bytes_out: visitor.socket.bytesRead - before,
      tunnel: client.tunnel.id,
      slug: client.tunnel.slug,
      account: line['account'],
    });
    assert.match(String(line['account']), /^[\da-f-]{36}$/);
  });

  it('has the address that a trusted proxy forwards, and not one that a visitor forges', async () => {
    const list = '198.51.100.1, 203.0.113.7';
    await visit(relay.port, { host, target: '/proxied', headers: [['X-Forwarded-For', list]] });
    assert.equal((await lineOf('/proxied'))['address'], '203.0.113.7');
  });

  it('has the responses of the relay itself, even to heads that it cannot parse', async () => {
    await visit(relay.port, { host: 'nobody.localhost', target: '/nobody' });
    const unknown = await lineOf('/nobody');
    assert.deepEqual(
      [unknown['status'], unknown['outcome'], unknown['error'], unknown['tunnel']],
      [404, 'refused', 'tunnel-unknown', undefined],
    );
    const broken = await RawConnection.open(scope, relay.port);
    await broken.write(`GET /broken HTTP/1.1\r\nHost: ${host}\r\nA B: c\r\n\r\n`);
    await broken.response();
    const line = await eventually(
      20_000,
      () => lines().find(({ error }) => error === 'bad-request') ?? assert.fail(),
    );
    assert.deepEqual([line['status'], line['path'], line['bytes_in'] !== 0], [400, undefined, true]);
    await visit(relay.port, { host: 'localhost', target: '/v1/openapi.json?x' });
    const own = await lineOf('/v1/openapi.json');
    assert.deepEqual([own['status'], own['outcome'], own['slug']], [200, 'answered', undefined]);
  });

  it('has no token of an invitation, regardless of how a request for it is spelled', async () => {
    const token = 'Ab3-_'.repeat(6) + 'xy';
    const spelled = Buffer.from(token).toString('hex').replaceAll(/../g, '%$&');
    const before = lines().length;
    const targets = [
      `/invite/${token}`,
      `http://localhost/invite/${token}`,
      `/%69nvite/${token}`,
      `/invite/${spelled}`,
      `//invite/${token}/?${token}`,
    ];
    for (const target of targets) await visit(relay.port, { host: 'localhost', target });
    const headers: [string, string][] = [['Referer', `http://localhost/invite/${token}`]];
    for (const at of ['elsewhere.example', 'nobody.localhost', 'localhost'])
      await visit(relay.port, { host: at, target: `/invite/${token}`, headers });
    await visit(relay.port, { host: 'localhost', target: '/last-of-them', headers });
    await lineOf('/last-of-them');
    assert.equal(lines().length, before + targets.length + 4);
    const text = readFileSync(file, 'utf8') + relay.child.stderr;
    for (const secret of [token, spelled]) assert.ok(!text.includes(secret));
  });

  it('has visitors who left early, and sockets of clients', async () => {
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(`POST /left HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 9\r\n\r\nhalf`);
    visitor.reset();
    assert.equal((await lineOf('/left'))['outcome'], 'abandoned');
    const control = lines().find(({ path }) => path === '/ws/control');
    assert.deepEqual([control?.['outcome'], control?.['status']], ['upgraded', 101]);
  });

  it('has no query, cookie, key, field or body, and no control characters for terminals', async () => {
    await visit(relay.port, {
      method: 'PUT',
      host,
      target: `/\u009b2J${newApiKey()}?${SECRET}`,
      headers: [
        ['Cookie', SECRET],
        ['Authorization', `Bearer ${SECRET}`],
        ['User-Agent', SECRET],
      ],
      body: SECRET,
    });
    await lineOf('/\u009b2Jcvt_…');
    const text = readFileSync(file, 'utf8');
    assert.match(text, /^[\n -~]*$/);
    assert.doesNotMatch(text, new RegExp(`${SECRET}|cvt_[0-9a-z]|token=`));
  });

  onPosix('continues in a new file after SIGHUP, and the relay continues with it', async () => {
    renameSync(file, `${file}.1`);
    relay.child.kill('SIGHUP');
    await eventually(20_000, () => assert.ok(existsSync(file)));
    await visit(relay.port, { host, target: '/after' });
    await lineOf('/after');
    assert.ok(lines(`${file}.1`).length > 0);
  });

  onPosix('costs nobody a response when its disk is full', async () => {
    const full = await Relay.start(scope, { CULVERT_ACCESS_LOG: '/dev/full' });
    for (let count = 0; count < 3; count += 1)
      assert.equal((await visit(full.port, { host: 'localhost', target: '/healthz' })).status, 200);
    await eventually(20_000, () => assert.match(full.child.stderr, /"msg":"access log failing"/));
    assert.deepEqual(await full.stop('SIGTERM'), { code: 0, signal: null });
  });

  it('ends the start with code 2 if it cannot be opened', async () => {
    const place = { CULVERT_ACCESS_LOG: '/nonexistent/access.log', CULVERT_PORT: '0' };
    const settings = { CULVERT_DATA_DIR: temporaryDirectory(scope), ...place };
    const child = spawnRelay(scope, ['serve'], settings);
    assert.equal((await child.exit()).code, 2);
    assert.match(child.stderr, /^culvert-relay: CULVERT_ACCESS_LOG must be .*\n$/);
  });

  it('can share its destination with the log', async () => {
    const other = await Relay.start(scope, { CULVERT_ACCESS_LOG: 'stderr' });
    await visit(other.port, { host: 'localhost', target: '/healthz' });
    await eventually(20_000, () => assert.match(other.child.stderr, /"path":"\/healthz","status":200/));
    for (const line of other.child.stderr.trim().split('\n')) JSON.parse(line);
  });
});
