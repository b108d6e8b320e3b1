import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeOnPosix } from '../../../../shared/testing/posix.ts';
import { findTunnels, Inspector } from '../../../client/inspector/inspector.ts';
import { InspectorServer } from '../../../client/inspector/inspector-server.ts';
import { LOG_START } from '../../../client/inspector/records.ts';
import { type RuntimeFolder, runtimeFolder } from '../../../client/inspector/runtime-folder.ts';
import { localPort } from '../../../client/local/local-service.ts';
import { CallRefused } from '../../../client/methods/method.ts';
import { fakeHost } from '../../../testing/served.ts';
import { closeServers, startHttp } from '../../../testing/servers.ts';
import { SPEC } from '../../../testing/tunnel-spec.ts';
import { OPEN } from '../../../../shared/access.ts';
import { RemoteLog } from './remote-log.ts';

const read = (log: RemoteLog, since = LOG_START) => log.call('log:changes', { since });
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
    return { log, visit, served, nextChange: () => changed.promise };
  }

  it('has the requests so far, and tells of those that follow', async () => {
    const { log, visit, nextChange } = await other();
    visit('/1');
    visit('/2');
    const first = await read(log);
    assert.deepEqual(
      first.requests.map(({ target }) => target),
      ['/1', '/2'],
    );
    assert.deepEqual([first.isMore, first.oldest], [false, 1]);
    assert.deepEqual((await read(log, first.at)).requests, []);
    const { point } = log;
    const told = nextChange();
    visit('/3');
    await told;
    assert.notDeepEqual(log.point, point);
    const next = await read(log, first.at);
    assert.deepEqual(
      next.requests.map(({ target }) => target),
      ['/3'],
    );
  });

  it('shows a request without its secrets, finds it by its words, and sends it again', async () => {
    const { log, visit, served } = await other();
    visit('/find-me');
    assert.deepEqual((await log.call('log:detail', { id: 1 })).request.fields[1], ['Cookie', '[redacted]']);
    assert.deepEqual((await log.call('log:search', { words: 'find-me' })).ids, [1]);
    assert.equal(await log.call('log:replay', { id: 1 }), 2);
    const edit = { method: 'PUT', target: '/edited', fields: [], body: undefined };
    assert.equal(await log.call('log:edit', { id: 1, edit }), 3);
    // It keeps no secrets of senders.
    await assert.rejects(
      log.call('log:replay', { id: 1, signs: true }),
      (error) => error instanceof CallRefused && error.code === 'no-secret',
    );
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
    const { log, visit, served, nextChange } = await other();
    visit('/1');
    await read(log);
    const { epoch } = log.point;
    const lost = nextChange();
    server.stop();
    await lost;
    assert.equal(log.point.epoch, epoch + 1);
    await assert.rejects(read(log), isGone);
    await assert.rejects(log.call('log:detail', { id: 1 }), isGone);
    // Nothing to read: only one that was followed can be lost.
    assert.equal(log.point.epoch, epoch + 1);
    server = new InspectorServer(folder);
    server.add(served);
    await server.start();
    assert.equal((await read(log)).requests.length, served.log.list().length);
  });
});
