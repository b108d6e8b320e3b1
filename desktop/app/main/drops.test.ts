import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { temporaryDirectory } from '../../../shared/testing/temporary-directory.ts';
import { again, type App, failsWith, FORM, signedIn, start, until } from '../../testing/core-app.ts';
import type { FakeServe } from '../../testing/fake-platform.ts';
import { CHANNELS } from './handlers/channels.ts';

type Served = FakeServe['last'];

/** A request as the client sends it to the local service for a visitor. */
async function visit({ local }: Pick<Served, 'local'>, path = '/'): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const headers = { host: local.hostHeader };
  request({ host: '127.0.0.1', port: local.port, path, headers, agent: false }, (response) => {
    text(response).then(resolve, reject);
  })
    .on('error', reject)
    .end();
  return promise;
}

const refused = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';

describe('a dropped folder', () => {
  let above: string;
  let site: string;
  const apps: App[] = [];

  beforeEach(() => {
    above = temporaryDirectory();
    site = join(above, 'site');
    mkdirSync(site);
    writeFileSync(join(site, 'index.html'), 'hello from a folder');
  });
  afterEach(() => {
    for (const { core } of apps.splice(0))
      for (const tunnel of core.chosen.tunnelList.tunnels) tunnel.served.end('stopped', 'The test is over.');
  });

  async function open(app: Promise<App> = signedIn()): Promise<App> {
    const opened = await app;
    apps.push(opened);
    return opened;
  }

  /** Drops the folder and confirms. */
  async function share(app: App): Promise<{ key: string; served: Served }> {
    await app.call('folder:drop', { paths: [site] });
    const { drop } = app.core.snapshots.make();
    const { key } = await app.call('folder:share', { id: drop?.id ?? '' });
    return { key, served: await until(() => app.serve.all.at(-1)) };
  }

  it('is named, and shared once after the user confirms, however often', async () => {
    const app = await open();
    const before = app.api.calls.length;
    const drop = async (): Promise<string> => {
      await app.call('folder:drop', { paths: [site] });
      const { drop: view, tunnels } = app.core.snapshots.make();
      assert.deepEqual(view, { id: view?.id, state: 'folder', name: 'site', isProject: false });
      assert.deepEqual([tunnels.length, app.api.calls.length - before], [0, 0]);
      return view.id;
    };
    const dismissed = await drop();
    await app.call('folder:dismiss', { id: dismissed });
    assert.equal(app.core.snapshots.make().drop, undefined);
    await assert.rejects(app.call('folder:share', { id: dismissed }), failsWith('no-folder'));
    const id = await drop();
    const first = app.call('folder:share', { id });
    await assert.rejects(app.call('folder:share', { id }), failsWith('no-folder'));
    await first;
    assert.equal(app.core.chosen.tunnelList.tunnels.length, 1);
  });

  it('is served only to visitors, named on its card, and the last hop of its diagnostics', async () => {
    const app = await open();
    const { key, served } = await share(app);
    const { drop, tunnels } = app.core.snapshots.make();
    assert.deepEqual([drop, tunnels[0]?.folder], [undefined, 'site']);
    assert.equal(await visit(served), 'hello from a folder');
    const stranger = { local: { ...served.local, hostHeader: 'localhost' } };
    assert.equal(await visit(stranger), 'Not through the tunnel\n');
    assert.equal(JSON.stringify(app.core.snapshots.make()).includes(above), false, 'the page knows no path');
    await app.call('checkup:start', { key });
    assert.deepEqual(app.examined.at(-1)?.local, { folder: site });
  });

  it('is no longer served after a stop or its hour, until that is undone or it is started again', async () => {
    const app = await open();
    const { key, served } = await share(app);
    await app.call('tunnel:stop', { key });
    assert.equal(served.isStopped, true);
    await assert.rejects(visit(served), refused);
    await app.call('undo:take', { id: app.core.snapshots.make().undos[0]?.id ?? '' });
    const back = await until(() => app.serve.all[1]);
    assert.equal(await visit(back), 'hello from a folder');
    assert.equal(back.local.hostHeader, served.local.hostHeader, 'its requests can be repeated');
    back.onState({ name: 'offline', reason: 'expired', why: 'The tunnel has expired.' });
    await assert.rejects(visit(back), refused);
    await app.call('tunnel:start', { key });
    assert.equal(await visit(await until(() => app.serve.all[2])), 'hello from a folder');
  });

  it('is served again after a restart of the app, or shows why not', async () => {
    const app = await open();
    await share(app);
    const second = await open(start(again(app)));
    assert.equal(await visit(await until(() => second.serve.all[0])), 'hello from a folder');
    rmSync(site, { recursive: true });
    const third = await open(start(again(second)));
    const status = await until(() => {
      const now = third.core.snapshots.make().tunnels[0]?.status;
      return now?.name === 'ended' ? now : undefined;
    });
    assert.match(status.why, /cannot be read \(ENOENT\)/);
    // The folder is back, and the relay still has its tunnel.
    mkdirSync(site);
    const creates = third.api.calls.filter((call) => call.startsWith('create')).length;
    await third.call('tunnel:start', { key: third.core.chosen.tunnelList.tunnels[0]?.key ?? '' });
    await until(() => third.serve.all[0]);
    assert.equal(third.api.calls.filter((call) => call.startsWith('create')).length, creates);
  });

  it('is rejected if it is a file, unreadable, one of several, or the user is signed out', async () => {
    const app = await open();
    const file = join(site, 'index.html');
    const cases: [string[], RegExp][] = [
      [[file], /index\.html" is not a folder\. Choose one folder/],
      [[site, above], /Drop one folder at a time/],
      [[''], /not a folder on this computer\. Drop a single folder/],
      [[], /not a folder on this computer\. Drop a single folder/],
      [[join(above, 'nothing')], /cannot be read \(ENOENT\)\. Choose one folder/],
    ];
    for (const [paths, words] of cases) {
      await app.call('folder:drop', { paths });
      const { drop } = app.core.snapshots.make();
      assert.ok(drop?.state === 'refused', basename(paths[0] ?? ''));
      assert.match(drop.problem.text, words);
      await assert.rejects(app.call('folder:share', { id: drop.id }), failsWith('no-folder'));
    }
    const out = await open(start());
    await out.call('folder:drop', { paths: [site] });
    const { drop } = out.core.snapshots.make();
    assert.match(drop?.state === 'refused' ? drop.problem.text : '', /Sign in first/);
  });

  it('can be chosen in a system dialog, one at a time', async () => {
    const app = await open();
    await app.call('folder:choose', undefined);
    assert.equal(app.core.snapshots.make().drop, undefined, 'the user wanted none');
    const asked = Promise.withResolvers<string>();
    let dialogs = 0;
    Object.assign(app.platform, {
      chooseFolder: () => {
        dialogs += 1;
        return asked.promise;
      },
    });
    const first = app.call('folder:choose', undefined);
    await app.call('project:choose', undefined);
    asked.resolve(site);
    await first;
    assert.equal(dialogs, 1);
    const { drop } = app.core.snapshots.make();
    assert.deepEqual(drop, { id: drop?.id, state: 'folder', name: 'site', isProject: false });
  });

  it('offers the project instead if it contains a culvert.yml', async () => {
    const app = await open();
    writeFileSync(join(site, 'culvert.yml'), 'tunnels: {web: {port: 3000}}');
    await app.call('folder:drop', { paths: [site] });
    const { drop } = app.core.snapshots.make();
    assert.ok(drop?.state === 'folder' && drop.isProject);
    await app.call('project:open', { id: drop.id });
    const now = app.core.snapshots.make();
    assert.deepEqual([now.drop, now.project?.name, now.tunnels.length], [undefined, 'site', 0]);
    await assert.rejects(app.call('project:open', { id: drop.id }), failsWith('no-folder'));
  });

  it('cannot be named by the page', () => {
    assert.throws(() => CHANNELS['tunnel:create'].payload.validateSync({ ...FORM, folder: site }), /folder/);
    assert.throws(
      () => CHANNELS['folder:drop'].payload.validateSync({ paths: ['', '', ''] }),
      /at most|less than/,
    );
  });
});
