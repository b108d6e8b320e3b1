/** Subversion and WebDAV clients copy, move and lock what Apache and nginx serve through a tunnel. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runNginx, startApacheSite } from '../../support/native-server.ts';
import { Authority } from '../../support/certificates.ts';
import { Culvert, type Relay, RelayProgram, temporaryDirectory } from '../../support/programs.ts';
import { sharedRelaySuite } from '../../support/relay-suite.ts';
import { closedPort, type HttpService, startHttpService } from '../../support/services/listen.ts';

const execute = promisify(execFile);

async function run(program: string, ...args: string[]): Promise<string> {
  const { stdout, stderr } = await execute(program, args, { timeout: 60_000 });
  return stdout + stderr;
}

describe('WebDAV through a tunnel', () => {
  const { scope, relay } = sharedRelaySuite();
  let folder: string;
  let apache: number;
  /** with TLS, because Apache compares schemes before it copies a file */
  let secure: RelayProgram;
  let authority: Authority;
  let proxy: HttpService;

  before(async () => {
    folder = temporaryDirectory(scope);
    mkdirSync(join(folder, 'dav'));
    await run('svnadmin', 'create', join(folder, 'shop'));
    // The server's processes run as another user.
    await run('chmod', '-R', 'a+rwX', folder);
    ({ port: apache } = await startApacheSite(scope, [
      ...['dav', 'dav_fs', 'dav_svn', 'alias'].map(
        (name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`,
      ),
      `DavLockDB ${join(folder, 'locks')}`,
      `Alias /dav ${join(folder, 'dav')}`,
      '<Location /dav>',
      'DAV On',
      '</Location>',
      '<Location /svn>',
      'DAV svn',
      `SVNParentPath ${folder}`,
      '</Location>',
    ]));
    authority = new Authority(scope);
    const { cert, key } = authority.issue('webdav.localhost');
    secure = await RelayProgram.start(scope, { CULVERT_TLS_CERT: cert, CULVERT_TLS_KEY: key });
    // These programs do not know that names below localhost are this machine; cadaver asks the relay itself.
    proxy = await startHttpService(scope, (_request, response) => void response.writeHead(501).end());
    proxy.server.on('connect', (_request, client: Socket) => {
      const relayed = connect(secure.port, '127.0.0.1', () => client.write('HTTP/1.1 200 OK\r\n\r\n'));
      relayed.on('error', () => client.destroy());
      client.pipe(relayed).pipe(client);
    });
  });

  const open = async (over: Relay, environment = {}): Promise<Culvert['tunnel']['urls']> => {
    const args = ['--host-header', 'local', ...(over === secure ? ['--name', 'webdav'] : [])];
    const culvert = await Culvert.start(scope, over, over.bootstrapKey, apache, args, environment);
    return culvert.tunnel.urls;
  };

  const svn = async (command: string, ...args: string[]): Promise<string> => {
    const options = [
      'http-proxy-host=127.0.0.1',
      `http-proxy-port=${proxy.port}`,
      `ssl-authority-files=${authority.path}`,
    ].flatMap((option) => ['--config-option', `servers:global:${option}`]);
    const common = ['--non-interactive', '--config-dir', join(folder, 'svn'), ...options];
    return await run('svn', command, ...common, ...args);
  };

  it('copies, moves and commits with svn', async () => {
    const { subdomain } = await open(secure, { NODE_EXTRA_CA_CERTS: authority.path });
    const root = `${subdomain}/svn/shop`;
    await svn('mkdir', '-m', 'a', `${root}/trunk`, `${root}/tags`);
    await svn('cp', '-m', 'b', `${root}/trunk`, `${root}/tags/v1`);
    await svn('mv', '-m', 'c', `${root}/tags/v1`, `${root}/tags/v2`);
    const copy = join(folder, 'copy');
    await svn('checkout', '--quiet', root, copy);
    writeFileSync(join(copy, 'trunk/file'), 'text');
    await svn('add', '--quiet', join(copy, 'trunk/file'));
    await svn('cp', join(copy, 'trunk'), join(copy, 'tags/v3'));
    await svn('commit', '-m', 'd', copy);
    assert.equal(
      await svn('ls', '-R', root),
      'tags/\ntags/v2/\ntags/v3/\ntags/v3/file\ntrunk/\ntrunk/file\n',
    );
  });

  it('copies, moves and locks with cadaver', async () => {
    const { subdomain } = await open(relay);
    const file = join(folder, 'file');
    writeFileSync(file, 'text');
    const script = join(folder, 'script');
    const commands = ['put FILE a', 'copy a b', 'move b c', 'lock c', 'put FILE c', 'unlock c', 'quit'];
    writeFileSync(script, `open ${subdomain}/dav/\n${commands.join('\n').replaceAll('FILE', file)}\n`);
    const said = await run('sh', '-c', `HOME=${folder} cadaver -p 127.0.0.1:${relay.port} < ${script}`);
    assert.equal(said.match(/succeeded/g)?.length, commands.length - 1, said);
    assert.deepEqual(readdirSync(join(folder, 'dav')).sort(), ['a', 'c'], said);
  });

  it('names the same resources in the path form', async () => {
    const { path } = await open(relay);
    const [from, to] = [`${path}/dav/from`, `${path}/dav/to`];
    const send = (method: string, headers: Record<string, string> = {}, body?: string): Promise<Response> =>
      fetch(from, { method, headers, ...(body === undefined ? {} : { body }) });
    assert.equal((await send('PUT', {}, 'text')).status, 201);
    const lock =
      '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';
    const token = (await send('LOCK', {}, lock)).headers.get('lock-token') ?? '';
    assert.equal((await send('PUT', { If: `<${from}> (${token})` }, 'more')).status, 204);
    assert.equal((await send('MOVE', { Destination: to, If: `<${from}> (${token})` })).status, 201);
    assert.equal(readFileSync(join(folder, 'dav/to'), 'utf8'), 'more');
  });

  it('moves a file of nginx in the path form', async () => {
    const files = temporaryDirectory(scope);
    await run('chmod', 'a+rwx', files);
    const port = await closedPort();
    await runNginx(
      scope,
      port,
      `server { listen 127.0.0.1:${port}; root ${files}; dav_methods PUT MOVE; create_full_put_path on; }`,
    );
    const culvert = await Culvert.start(scope, relay, relay.bootstrapKey, port, ['--name', 'nginx']);
    const url = culvert.tunnel.urls.path;
    writeFileSync(join(files, 'a'), 'text');
    const moved = await fetch(`${url}/a`, { method: 'MOVE', headers: { Destination: `${url}/b` } });
    assert.equal(moved.status, 204);
    assert.equal(readFileSync(join(files, 'b'), 'utf8'), 'text');
  });
});
