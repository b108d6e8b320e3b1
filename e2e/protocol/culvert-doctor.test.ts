import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { createAccount } from '../support/accounts.ts';
import type { ApiResponse } from '../support/api.ts';
import { Authority } from '../support/certificates.ts';
import { newApiKey, Relay, spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import type { Scope } from '../support/scope.ts';
import { startEchoService } from '../support/services/echo.ts';
import {
  closedPort,
  type HttpService,
  type Service,
  startHttpService,
  startRawService,
} from '../support/services/listen.ts';
import { WITH_TRUNKS } from '../support/trunk-world.ts';

interface Result {
  readonly hop: string;
  readonly result: string;
  readonly detail: string;
  readonly fix?: string;
}

describe('culvert doctor', () => {
  const { scope, relay, pool } = sharedRelaySuite(WITH_TRUNKS);
  let service: HttpService;
  let authority: Authority;
  /** a relay with TLS */
  let secure: Relay;

  before(async () => {
    service = await startEchoService(scope);
    authority = new Authority(scope);
    const { cert, key } = authority.issue();
    secure = await Relay.start(scope, { ...WITH_TRUNKS, CULVERT_TLS_CERT: cert, CULVERT_TLS_KEY: key });
  });

  async function doctor(args: string[], environment: Record<string, string>) {
    const child = spawnCulvert(scope, ['doctor', '--json', ...args], environment);
    const { code } = await child.exit();
    const results = child.lines.map((line) => JSON.parse(line) as Result);
    const byName = (wanted: string): string[] =>
      results.filter(({ result }) => result === wanted).map(({ hop }) => hop);
    return { code, results, ok: byName('ok'), failed: byName('failed') };
  }

  it('finds no fault, sends a request through a tunnel, and closes it again', async () => {
    const { key, api } = await pool.take();
    const environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key };
    const { code, ok, failed, results } = await doctor([String(service.port)], environment);
    assert.deepEqual(failed, []);
    assert.deepEqual(ok, [
      'dns',
      'connect',
      'relay',
      'key',
      'control',
      'data',
      'address',
      'trunk',
      'tcp',
      'local',
    ]);
    assert.equal(code, 0);
    const compress = results.find(({ hop }) => hop === 'compress');
    assert.deepEqual(
      [compress?.result, compress?.detail],
      ['skipped', `off (auto), because the relay is on this machine: ${new URL(relay.url).hostname}`],
    );
    assert.deepEqual(await api.list(), []);
  });

  it('names an unreachable relay, and still checks the local port', async () => {
    const url = `http://localhost:${await closedPort()}`;
    const { code, ok, failed, results } = await doctor([String(service.port)], { CULVERT_RELAY: url });
    assert.equal(code, 1);
    assert.deepEqual([ok, failed], [['dns', 'local'], ['connect']]);
    assert.match(results.find(({ hop }) => hop === 'connect')?.fix ?? '', /culvert-relay/);
  });

  it('does not read an endless response', async () => {
    const endless = await startHttpService(scope, (_request, response) =>
      response.end('x'.repeat(512 * 1024 + 1)),
    );
    const { code, failed } = await doctor([], { CULVERT_RELAY: `http://127.0.0.1:${endless.port}` });
    assert.deepEqual([code, failed], [1, ['relay']]);
  });

  it('names a refused key, and a local port on which nothing listens', async () => {
    const environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: newApiKey() };
    const { code, failed, results } = await doctor([String(await closedPort())], environment);
    assert.equal(code, 1);
    assert.deepEqual(failed, ['key', 'local']);
    assert.match(results.find(({ hop }) => hop === 'key')?.fix ?? '', /culvert login/);
  });

  it('continues without a test tunnel if the relay limits creates', async () => {
    const { key, api } = await createAccount(relay);
    let response: ApiResponse;
    do response = await api.send('POST', '/v1/tunnels', { json: { local_port: 1 } });
    while (response.status === 201);
    const limiting = await startLimiting(scope, relay, response);
    const environment = { CULVERT_RELAY: `http://localhost:${limiting.port}`, CULVERT_API_KEY: key };
    const { code, results, failed } = await doctor([], environment);
    assert.equal(code, 0);
    assert.deepEqual(failed, []);
    const control = results.find(({ hop }) => hop === 'control')?.detail ?? '';
    assert.match(control, /WebSockets reach the relay, but there is no test tunnel: rate limit exceeded/);
  });

  it('names a certificate that is not trusted, and trusts a given authority', async () => {
    const environment = { CULVERT_RELAY: secure.url, CULVERT_API_KEY: secure.bootstrapKey };
    const without = await doctor([], environment);
    assert.deepEqual(without.failed, ['tls']);
    assert.match(without.results.find(({ hop }) => hop === 'tls')?.fix ?? '', /--ca/);
    const { failed, ok } = await doctor(['--ca', authority.path], environment);
    assert.deepEqual(failed, []);
    assert.deepEqual(ok, ['dns', 'connect', 'tls', 'relay', 'key', 'control', 'data', 'trunk', 'tcp']);
  });

  it('does not mistake another server for a relay', async () => {
    const other = await startHttpService(scope, (_request, response) => response.end('{"status":"ok"}'));
    const { failed, results } = await doctor([], { CULVERT_RELAY: `http://127.0.0.1:${other.port}` });
    assert.deepEqual(failed, ['relay']);
    assert.match(
      results.find(({ hop }) => hop === 'relay')?.detail ?? '',
      /did not identify itself as a Culvert relay/,
    );
  });

  it('names a relay that expects TLS but is addressed without; an authority given to login is kept', async () => {
    const plain = secure.url.replace(/^https/, 'http');
    const { failed, results } = await doctor([], { CULVERT_RELAY: plain });
    assert.deepEqual(failed, ['relay']);
    assert.match(
      results.find(({ hop }) => hop === 'relay')?.detail ?? '',
      /it uses TLS, so its address must begin with https/,
    );
    const folder = { XDG_CONFIG_HOME: temporaryDirectory(scope) };
    const options = ['--relay', secure.url, '--key', secure.bootstrapKey, '--ca', authority.path];
    assert.equal((await spawnCulvert(scope, ['login', ...options], folder).exit()).code, 0);
    const list = spawnCulvert(scope, ['list'], folder);
    assert.equal((await list.exit()).code, 0, list.stderr);
  });
});

/**
 * A proxy in front of a relay that replays a refused create: the relay itself would accept another one seconds later.
 */
async function startLimiting(scope: Scope, relay: Relay, refusal: ApiResponse): Promise<Service> {
  const { status, reason, fields } = refusal.head;
  const lines = [`HTTP/1.1 ${status} ${reason}`, ...fields.map((field) => field.join(': '))];
  const bytes = `${lines.join('\r\n')}\r\n\r\n${JSON.stringify(refusal.json)}`;
  return await startRawService(scope, (socket) => {
    const there = connect(relay.port, '127.0.0.1');
    there.on('error', () => socket.destroy());
    socket.on('close', () => there.destroy());
    there.pipe(socket);
    socket.on('data', (chunk) => {
      if (chunk.toString('latin1').startsWith('POST /v1/tunnels ')) socket.end(bytes);
      else there.write(chunk);
    });
  });
}
