import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeOnPosix } from '../../../../shared/testing/posix.ts';
import { findTunnels, Inspector } from '../../../client/inspector/inspector.ts';
import { InspectorServer } from '../../../client/inspector/inspector-server.ts';
import { type RuntimeFolder, runtimeFolder } from '../../../client/inspector/runtime-folder.ts';
import { localPort } from '../../../client/local/local-service.ts';
import { CallRefused } from '../../../client/methods/method.ts';
import { fakeHost } from '../../../testing/served.ts';
import { closeServers, startHttp } from '../../../testing/servers.ts';
import { SPEC } from '../../../testing/tunnel-spec.ts';
import { OPEN } from '../../../../shared/access.ts';
import { LOG_START } from '../../ipc/request-views.ts';
import { RemoteLog } from './remote-log.ts';

const isGone = (error: unknown): boolean => error instanceof CallRefused && error.code === 'no-answer';

describeOnPosix('the log of a tunnel that another process serves', () => {
  let base: string;
  let folder: RuntimeFolder;
  let server: InspectorServer;
  const logs: RemoteLog[] = [];

  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'culvert-test-'));
    folder = runtimeFolder({ XDG_RUNTIME_DIR: base, TMPDIR: base }, 'linux');
  });
  afterEach(() => {
    for (const log of logs.splice(0)) log.stop();
    server.stop();
    closeServers();
    rmSync(base, { recursive: true, force: true });
  });

  /** Another process, as far as this test can tell, and the log as the window reads it. */
  async function other() {
    const { port } = await startHttp((_request, response) => response.end('hello'));
    server = new InspectorServer(folder);
    await server.start();
    const { host } = fakeHost({ inspector: server });
    const served = await host.create({ settings: { ...SPEC, target: localPort(port) }, access: OPEN });
    const [found] = await findTunnels(folder);
    assert.ok(found);
    let changed = Promise.withResolvers<void>();
    const log = new RemoteLog({
      inspector: new Inspector(found),
      onChange() {
        changed.resolve();
        changed = Promise.withResolvers();
      },
    });
    logs.push(log);
    const visit = (path: string): void =>
      served.log.open().toLocal(Buffer.from(`GET ${path} HTTP/1.1\r\nHost: a\r\nCookie: s3cret\r\n\r\n`));
    return { log, visit, served, found, nextChange: () => changed.promise };
  }

  it('has the requests so far, and tells of those that follow', async () => {
    const { log, visit, nextChange } = await other();
    visit('/1');
    visit('/2');
    const first = await log.update(LOG_START);
    assert.deepEqual(
      first.requests.map(({ target }) => target),
      ['/1', '/2'],
    );
    assert.deepEqual([first.at, first.isMore, first.oldest], [log.point, false, 1]);
    assert.deepEqual((await log.update(first.at)).requests, []);
    const told = nextChange();
    visit('/3');
    await told;
    assert.notDeepEqual(log.point, first.at);
    const next = await log.update(first.at);
    assert.deepEqual(
      next.requests.map(({ target }) => target),
      ['/3'],
    );
  });

  it('shows a request without its secrets, finds it by its words, and sends it again', async () => {
    const { log, visit, served } = await other();
    visit('/find-me');
    assert.deepEqual((await log.detail(1, false)).request.fields[1], ['Cookie', '[redacted]']);
    assert.match(await log.curl(1, 'https://my-app.test', true), /s3cret/);
    assert.deepEqual((await log.search('find-me')).ids, [1]);
    assert.equal(await log.replay(1), 2);
    const edit = { method: 'PUT', target: '/edited', fields: [], body: undefined };
    assert.equal(await log.replayEdited(1, edit), 3);
    assert.deepEqual(
      served.log.list().map(({ method, status }) => [method, status]),
      [
        ['PUT', 200],
        ['GET', 200],
        ['GET', undefined],
      ],
    );
  });

  it('says that its process does not answer, and is read again once it does', async () => {
    const { log, visit, served, found } = await other();
    visit('/1');
    server.stop();
    await assert.rejects(log.update(LOG_START), isGone);
    await assert.rejects(log.detail(1, false), isGone);
    server = new InspectorServer(folder);
    server.add({ ...found, log: served.log, replayer: served.replayer, host: 'a' });
    await server.start();
    assert.equal((await log.update(LOG_START)).requests.length, served.log.list().length);
  });
});
