import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { openRelayDatabase } from '../support/database.ts';
import { eventually } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { newApiKey, spawnRelay, temporaryDirectory } from '../support/programs.ts';
import { formatRequest, RawConnection, type Request, visit, WEBSOCKET } from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { startEchoService } from '../support/services/echo.ts';
import { SpecClient } from '../support/spec-client/client.ts';

interface LogLine {
  readonly level: string;
  readonly time: string;
  readonly msg: string;
  readonly tunnel?: string;
  readonly code?: number;
}

/** A stand-in for confidential data. */
const SECRET = 'hunter2-s3cr3t';

describe('the log of the relay (docs/reference/log-events.md)', () => {
  const { scope, relay, pool } = relaySuite({ CULVERT_LOG_LEVEL: 'debug', CULVERT_METRICS_PORT: '0' });
  let account: TestAccount;
  let client: SpecClient;

  before(async () => {
    account = await pool.take();
    const service = await startEchoService(scope);
    client = await SpecClient.start(scope, relay, account.key, { local_port: service.port });
  });

  function lines(): LogLine[] {
    const texts = relay.child.stderr.split('\n').slice(0, -1);
    return texts.map((text) => JSON.parse(text) as LogLine);
  }

  it('reports what happens to a tunnel, one line per event', async () => {
    const { tunnel, account: owner } = await pool.tunnel();
    await owner.api.extend(tunnel.id, { ttl: '1m' });
    await owner.api.close(tunnel.id);
    await eventually(20_000, () => {
      const events = lines().filter((line) => line.tunnel === tunnel.id);
      assert.deepEqual(
        events.map(({ level, msg }) => `${level} ${msg}`),
        ['info tunnel created', 'info tunnel extended', 'info tunnel closed'],
      );
    });
  });

  it('reports that a client connects and disconnects, and with which code', async () => {
    const { key } = await pool.take();
    const come = await SpecClient.start(scope, relay, key, { local_port: 1 });
    await come.stop();
    await eventually(20_000, () => {
      const events = lines().filter((line) => line.tunnel === come.tunnel.id);
      assert.deepEqual(
        events.map(({ msg, code }) => (code === undefined ? msg : `${msg} ${code}`)),
        ['tunnel created', 'client online', 'tunnel closed', 'client offline 4001'],
      );
    });
  });

  it('reports once that the store fails, and once that it works again', async () => {
    const { api } = await createAccount(relay);
    const database = await openRelayDatabase(scope, relay);
    await database.holdWrites();
    for (let i = 0; i < 2; i += 1) {
      const answer = await api.send('POST', '/v1/tunnels', {
        json: { local_port: 1, name: 'secret' },
      });
      assert.equal(answer.status, 503);
    }
    await database.release();
    await api.create({ local_port: 1 });
    await eventually(20_000, () => {
      const events = lines().filter(({ msg }) => /^store (?:failing|recovered)$/.test(msg));
      assert.deepEqual(
        events.map(({ msg }) => msg),
        ['store failing', 'store recovered'],
      );
    });
  });

  describe('after confidential data was sent', () => {
    const wrongKey = newApiKey();
    let log: string;

    before(async () => {
      const host = `localhost:${relay.port}`;
      const authorization = ['Authorization', `Bearer ${account.key}`] as const;
      const key = account.key;
      const requests: Request[] = [
        { host, target: '/v1/tunnels', headers: [authorization, ['Cookie', SECRET]] },
        { host, target: '/v1/tunnels', headers: [['Authorization', `Bearer ${wrongKey}`]] },
        { host, target: '/v1/tunnels', headers: [['Authorization', `Basic ${SECRET}`]] },
        { host, target: `/v1/tunnels?key=${key}&token=${SECRET}`, headers: [authorization] },
        { host, target: `/v1/tunnels/${key}`, headers: [authorization] },
        { host, target: `/v1/${SECRET}/${key}` },
        { host, target: `/ws/control?tunnel_id=${key}`, headers: [authorization, ...WEBSOCKET] },
        { host, target: `/ws/data?id=${key}`, headers: [authorization, ...WEBSOCKET] },
        {
          host,
          target: `/ws/data?tunnel_id=${SECRET}`,
          headers: [['Authorization', `Bearer ${wrongKey}`], ...WEBSOCKET],
        },
        {
          method: 'POST',
          host,
          target: '/v1/tunnels',
          headers: [authorization],
          body: `{"local_port":"${key}`,
        },
        {
          method: 'POST',
          host,
          target: '/v1/tunnels',
          headers: [authorization],
          body: `{"name":"${SECRET}"}`,
        },
        { method: 'POST', host, target: '/v1/tunnels', headers: [authorization], body: SECRET.repeat(2000) },
        {
          host: hostOf(client.tunnel, relay),
          target: `/${SECRET}?${key}`,
          headers: [authorization],
          body: SECRET,
        },
        {
          host,
          target: `/t/${client.tunnel.slug}/${SECRET}?${key}`,
          headers: [['Cookie', SECRET]],
          body: key,
        },
        { host: `${SECRET}.${host}`, headers: [authorization] },
      ];
      for (const request of requests) await visit(relay.port, request);
      const malformed = [
        `GET /${SECRET} HTTP/1.1\r\nHost: ${host}\r\nAuthorization : Bearer ${key}\r\n\r\n`,
        `GET /${key} HTTP/9.9\r\nHost: ${host}\r\n\r\n`,
        `GET / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${SECRET}\r\n\r\n`,
        `POST / HTTP/1.1\r\nHost: ${hostOf(client.tunnel, relay)}\r\nTransfer-Encoding: chunked\r\n\r\n${SECRET}\r\n`,
        `${key} ${SECRET}\r\n\r\n`,
      ];
      for (const bytes of malformed) {
        const connection = await RawConnection.open(scope, relay.port);
        await connection.write(bytes);
        await connection.ending;
      }
      const gone = await RawConnection.open(scope, relay.port);
      const half = formatRequest({
        method: 'POST',
        host,
        target: '/v1/tunnels',
        headers: [authorization],
        body: SECRET,
      });
      await gone.write(half.subarray(0, -3));
      gone.reset();
      await client.stop();
      assert.deepEqual(await relay.stop('SIGTERM'), { code: 0, signal: null });
      log = relay.child.stderr;
    });

    it('shows none of it', () => {
      for (const secret of [relay.bootstrapKey, account.key, wrongKey, SECRET]) {
        assert.ok(!log.includes(secret), `the log shows ${secret}`);
      }
      assert.doesNotMatch(log, /cvt_|Bearer|Basic/);
    });

    it('has only lines of JSON, each with a level, a time and a documented event', async () => {
      const page = await readFile(new URL('../../docs/reference/log-events.md', import.meta.url), 'utf8');
      const documented = new Set(
        [...page.matchAll(/^\| `([a-z ]+)` +\| \w+ +\|/gm)].map(([, event]) => event),
      );
      for (const { level, time, msg } of lines()) {
        assert.ok(documented.has(msg), msg);
        assert.match(level, /^(?:debug|info|warn|error)$/);
        assert.equal(new Date(time).toISOString(), time);
      }
    });

    it('has no line for a request', () => {
      assert.deepEqual(
        lines()
          .filter((line) => Object.keys(line).some((field) => /path|url|target|method/.test(field)))
          .map(({ msg }) => msg),
        ['metrics listening', 'listening'],
      );
    });

    it('reports the end of the relay, and stdout has only its one line', () => {
      const ends = lines().filter(({ msg }) => msg.startsWith('relay stop'));
      assert.deepEqual(
        ends.map(({ msg }) => msg),
        ['relay stopping', 'relay stopped'],
      );
      assert.equal(relay.child.lines.length, 1);
    });
  });

  it('is human-readable if configured', async () => {
    const child = spawnRelay(scope, ['serve', '--log-format', 'pretty'], {
      CULVERT_DATA_DIR: temporaryDirectory(scope),
      CULVERT_PORT: '0',
      CULVERT_BOOTSTRAP_KEY: newApiKey(),
    });
    await child.line((line) => (line.startsWith('listening') ? line : undefined));
    await child.stop('SIGTERM');
    assert.match(child.stderr, /^\d\d:\d\d:\d\d\.\d{3} INFO {2}relay starting version=\S+ node=\S+\n/);
    assert.match(child.stderr, /INFO {2}listening url=http:\/\/127\.0\.0\.1:\d+\n/);
  });

  it('reports why the relay does not start', async () => {
    const child = spawnRelay(scope, ['serve'], {
      CULVERT_DATA_DIR: temporaryDirectory(scope),
      CULVERT_HOST: '192.0.2.1',
      CULVERT_BOOTSTRAP_KEY: newApiKey(),
    });
    assert.equal((await child.exit()).code, 1);
    const last = JSON.parse(child.stderr.trim().split('\n').at(-1) ?? '') as LogLine & { reason: string };
    assert.deepEqual([last.level, last.msg], ['error', 'start refused']);
    assert.match(last.reason, /192\.0\.2\.1/);
  });
});
