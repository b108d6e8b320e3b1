/** Programs that support HTTP Basic can visit a tunnel that asks for it (docs/guides/sharing-safely.md). */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createAccount } from '../../support/accounts.ts';
import { Culvert, Relay, temporaryDirectory } from '../../support/programs.ts';
import { suiteScope } from '../../support/scope.ts';
import { startHttpService } from '../../support/services/listen.ts';
import { git, startGitServer } from './git-server.ts';

const run = promisify(execFile);
const NOBODY = ['-c', 'user.name=t', '-c', 'user.email=t@localhost', '-c', 'commit.gpgsign=false'];

/** The address with a user and a password in it. */
function as(address: URL, password: string): string {
  const own = new URL(address);
  own.username = 'ann';
  own.password = password;
  return own.href;
}

describe('a tunnel with HTTP Basic', () => {
  const scope = suiteScope();
  let relay: Relay;

  before(async () => {
    relay = await Relay.start(scope);
  });

  /** Exposes a service through a tunnel of a new account that only ann may visit. */
  async function share(port: number): Promise<URL> {
    const account = await createAccount(relay);
    const { tunnel } = await Culvert.start(scope, relay, account.key, port);
    const access = { basic: [{ user: 'ann', password: 'fern' }] };
    const { status } = await account.api.send('PUT', `/v1/tunnels/${tunnel.id}/access`, { json: access });
    assert.equal(status, 200);
    return new URL(tunnel.public_url);
  }

  it('can be cloned from and pushed to by git, but not with a wrong password', async () => {
    const root = temporaryDirectory(scope);
    const origin = join(root, 'origin');
    mkdirSync(origin);
    await git(origin, 'init', '--quiet', '--initial-branch=main');
    await git(origin, 'config', 'http.receivepack', 'true');
    writeFileSync(join(origin, 'one'), 'one');
    await git(origin, 'add', '.');
    await git(origin, ...NOBODY, 'commit', '--quiet', '--message', 'one');
    const server = await startGitServer(scope, root);
    const address = await share(server.port);
    await assert.rejects(
      git(root, 'clone', '--quiet', `${as(address, 'wrong')}origin/.git`, 'none'),
      /Authentication failed/,
    );
    await git(root, 'clone', '--quiet', `${as(address, 'fern')}origin/.git`, 'copy');
    const copy = join(root, 'copy');
    writeFileSync(join(copy, 'two'), 'x'.repeat(3_000_000));
    await git(copy, 'add', '.');
    await git(copy, ...NOBODY, 'commit', '--quiet', '--message', 'two');
    await git(copy, 'push', '--quiet', 'origin', 'main:two');
    assert.equal(await git(origin, 'rev-parse', 'two'), await git(copy, 'rev-parse', 'HEAD'));
  });

  it('can be requested and uploaded to with curl', async () => {
    const service = await startHttpService(scope, (asked, response) => {
      let bytes = 0;
      asked.on('data', (piece: Buffer) => (bytes += piece.length));
      asked.on('end', () => response.end(`${String(asked.headers['culvert-visitor'])} ${bytes}`));
    });
    const address = await share(service.port);
    const file = join(temporaryDirectory(scope), 'file');
    writeFileSync(file, Buffer.alloc(5_000_000));
    const curl = async (...args: string[]): Promise<string> => {
      const to = ['--resolve', `${address.hostname}:${address.port}:127.0.0.1`];
      return (await run('curl', ['--silent', '--max-time', '60', ...to, ...args, address.href])).stdout;
    };
    assert.equal(await curl('--user', 'ann:fern'), 'basic:ann 0');
    assert.equal(await curl('--anyauth', '--user', 'ann:fern'), 'basic:ann 0');
    assert.equal(await curl('--user', 'ann:fern', '--data-binary', `@${file}`), 'basic:ann 5000000');
    assert.match(await curl('--user', 'ann:wrong', '--data-binary', `@${file}`), /"code":"access-required"/);
    assert.match(await curl(), /"code":"access-required"/);
  });
});
