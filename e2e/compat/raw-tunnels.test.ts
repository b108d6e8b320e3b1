/** Programs that speak other protocols than HTTP work the same through a TLS or TCP tunnel as without one. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Authority, begin, type CertificateFiles, resume } from '../support/certificates.ts';
import { Child } from '../support/child.ts';
import { runNginx, runServer } from '../support/native-server.ts';
import { PostgresServer } from '../support/postgres.ts';
import { Culvert, Relay, temporaryDirectory } from '../support/programs.ts';
import { RedisServer } from '../support/redis.ts';
import { suiteScope } from '../support/scope.ts';
import { closedPort, closedPorts } from '../support/services/listen.ts';
import { SSHD, sshFiles } from '../support/ssh.ts';

/** Longer than the 8 MiB after which a stream gets a connection of its own. */
const FILE_BYTES = 48 * 1024 * 1024;
const TIMEOUT_MS = 120_000;

/** @returns what it prints */
async function run(program: string, args: readonly string[], environment = {}): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, {
    timeout: TIMEOUT_MS,
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, ...environment },
  });
  return stdout;
}

function sha256(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

describe('through a TCP tunnel', () => {
  const scope = suiteScope();
  let relay: Relay;
  let account: TestAccount;

  before(async () => {
    relay = await Relay.start(scope, { CULVERT_TCP_PORTS: await closedPorts(4) });
    account = await createAccount(relay, { plan: 'team' });
  });

  /** @returns the port of the relay */
  async function expose(port: number, ...options: string[]): Promise<number> {
    const { tunnel } = await Culvert.run(scope, relay, account.key, ['tcp', String(port), ...options]);
    return Number(new URL(tunnel.public_url).port);
  }

  it('ssh runs commands, and scp copies large files both ways', async () => {
    const local = await closedPort();
    const { settings, options } = sshFiles(scope, '127.0.0.1', local, 'Subsystem sftp internal-sftp\n');
    await runServer(scope, local, SSHD, ['-D', '-e', '-f', settings]);
    const port = String(await expose(local));
    const host = `${userInfo().username}@127.0.0.1`;
    assert.equal(await run('ssh', [...options, '-p', port, host, 'printf %s hello']), 'hello');
    const folder = temporaryDirectory(scope);
    const [sent, there, back] = ['sent', 'there', 'back'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(sent, randomBytes(FILE_BYTES));
    await run('scp', [...options, '-P', port, sent, `${host}:${there}`]);
    assert.equal(sha256(there), sha256(sent));
    await run('scp', [...options, '-P', port, `${host}:${there}`, back]);
    assert.equal(sha256(back), sha256(sent));
  });

  it('psql queries and loads a database', async () => {
    const server = await PostgresServer.start();
    scope.defer(() => server.remove());
    const url = new URL(server.url);
    url.port = String(await expose(server.port, '--allow', '127.0.0.1'));
    const sql =
      'create table t as select g from generate_series(1, 300000) g; select count(*), sum(g) from t';
    assert.match(await run('psql', ['-XtA', '-c', sql, url.href]), /^300000\|45000150000$/m);
    const rows = await run('psql', ['-XtA', '-c', 'copy t to stdout', url.href]);
    assert.equal(rows.length, Array.from({ length: 300_000 }, (_, index) => index + 1).join('\n').length + 1);
  });

  it('redis-cli writes, reads and waits', async () => {
    const server = await RedisServer.start(scope);
    const cli = ['-h', '127.0.0.1', '-p', String(await expose(server.port))];
    const waiting = run('redis-cli', [...cli, 'BLPOP', 'queue', '60']);
    assert.equal(await run('redis-cli', [...cli, 'SET', 'a', 'b']), 'OK\n');
    assert.equal(await run('redis-cli', [...cli, 'GET', 'a']), 'b\n');
    await run('redis-cli', [...cli, 'RPUSH', 'queue', 'job']);
    assert.equal(await waiting, 'queue\njob\n');
  });

  it('mosquitto passes messages on', async () => {
    const local = await closedPort();
    const settings = join(temporaryDirectory(scope), 'mosquitto.conf');
    writeFileSync(settings, `listener ${local} 127.0.0.1\nallow_anonymous true\nuser root\n`);
    await runServer(scope, local, '/usr/sbin/mosquitto', ['-c', settings]);
    const broker = ['-h', '127.0.0.1', '-p', String(await expose(local)), '-t', 'door'];
    const publish = (...message: string[]) => run('mosquitto_pub', [...broker, '-q', '2', ...message]);
    await publish('-r', '-m', 'ready');
    const heard = new Child('mosquitto_sub', [...broker, '-C', '2']);
    scope.defer(() => heard.end());
    // The retained message shows that it has subscribed.
    await heard.line((line) => (line === 'ready' ? line : undefined));
    await publish('-m', 'open');
    assert.equal((await heard.exit()).code, 0);
    assert.deepEqual(heard.lines, ['ready', 'open']);
  });
});

describe('through a TLS tunnel', () => {
  const scope = suiteScope();
  let authority: Authority;
  let relay: Relay;
  let host: string;
  let client: CertificateFiles;

  before(async () => {
    authority = new Authority(scope);
    const { cert, key } = authority.issue();
    const tls = { CULVERT_TLS_CERT: cert, CULVERT_TLS_KEY: key, CULVERT_TUNNEL_DOMAIN: 'tunnels.test' };
    relay = await Relay.start(scope, tls);
    host = 'secret.tunnels.test';
    const own = authority.issue(host);
    client = authority.issue();
    const port = await closedPort();
    const verify = `ssl_verify_client on; ssl_client_certificate ${authority.path};`;
    const seen = '$ssl_protocol $server_protocol $ssl_client_verify $ssl_server_name';
    await runNginx(
      scope,
      port,
      `server {
        listen 127.0.0.1:${port} ssl http2; ssl_certificate ${own.cert}; ssl_certificate_key ${own.key};
        ssl_protocols TLSv1.2 TLSv1.3; ssl_session_tickets on; ssl_session_cache shared:all:1m; ${verify}
        location / { return 200 "${seen}\\n"; }
      }`,
    );
    const words = ['tls', String(port), '--name', 'secret'];
    const trust = { NODE_EXTRA_CA_CERTS: authority.path };
    const { tunnel } = await Culvert.run(scope, relay, relay.bootstrapKey, words, trust);
    assert.equal(tunnel.public_url, `tls://${host}:${relay.port}`);
  });

  for (const [version, option] of [
    ['TLSv1.2', ['--tls-max', '1.2']],
    ['TLSv1.3', ['--tlsv1.3']],
  ] as const)
    it(`curl presents its certificate to the service itself, and agrees on HTTP/2, with ${version}`, async () => {
      const url = `https://${host}:${relay.port}/`;
      const resolve = ['--resolve', `${host}:${relay.port}:127.0.0.1`, '--cacert', authority.path];
      const own = ['--cert', client.cert, '--key', client.key];
      const text = await run('curl', ['-sS', ...option, ...resolve, ...own, url]);
      assert.equal(text, `${version} HTTP/2.0 SUCCESS ${host}\n`);
      assert.match(await run('curl', ['-sS', ...option, ...resolve, url]), /No required SSL certificate/);
    });

  for (const version of ['tls1_2', 'tls1_3'] as const)
    it(`openssl resumes its session with ${version}`, () => {
      const session = join(temporaryDirectory(scope), 'session');
      const handshake = { port: relay.port, authority: authority.path, version, host, client, session };
      assert.equal(begin(handshake).reused, false);
      assert.equal(resume(handshake).reused, true);
    });
});
