import assert from 'node:assert/strict';
import { SPEC_DEFAULTS } from '../../client/config/tunnel-spec.ts';
import { NO_HEADER_CHANGES } from '../../../shared/header-changes.ts';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { API_ERRORS } from '../../../shared/errors.ts';
import { describeOnPosix } from '../../../shared/testing/posix.ts';
import { RelayRefusal, RelayUnreachable } from '../../client/relay/errors.ts';
import { temporaryDirectory } from '../../../shared/testing/temporary-directory.ts';
import { again, type App, failsWith, FORM, signedIn, start, until } from '../../testing/core-app.ts';
import { TUNNEL } from '../../testing/fake-platform.ts';
import type { ProjectTunnelView } from '../ipc/tunnel-views.ts';
import { hasProject } from './projects.ts';
import { POLL_VISIBLE_MS, RECENT_PROJECTS_MAX } from './core.ts';

const why = (tunnel: ProjectTunnelView | undefined): string =>
  tunnel !== undefined && 'why' in tunnel.status ? tunnel.status.why : '';

const created = ({ api }: App): string[] => api.calls.filter((call) => call.startsWith('create'));

const atRelay = (name: string, online: boolean, id: string) => ({
  ...TUNNEL,
  id,
  name,
  slug: name,
  online,
});

const names = (one: App) => one.core.snapshots.make().projects.map(({ name }) => name);

function project({ core }: App) {
  const { project: view } = core.snapshots.make();
  if (view === undefined) throw new Error('no project is shown');
  return view;
}

function listed(app: App): readonly ProjectTunnelView[] {
  const view = project(app);
  return view.state === 'open' ? view.tunnels : assert.fail(view.why);
}

function problem(app: App): string {
  const view = project(app);
  return view.state === 'refused' ? view.why : assert.fail('it is open');
}

const statuses = (app: App): string[] => listed(app).map(({ status }) => status.name);
const startAll = (app: App) =>
  app.call('project:start', { id: project(app).id, labels: listed(app).map(({ label }) => label) });

describe('an opened project', () => {
  let above: string;
  let folder: string;
  const apps: App[] = [];

  beforeEach(() => {
    above = temporaryDirectory();
    folder = join(above, 'shop');
    mkdirSync(folder);
  });
  afterEach(() => {
    for (const { core } of apps.splice(0))
      for (const tunnel of core.chosen.tunnelList.tunnels) tunnel.served.end('stopped', 'The test is over.');
  });

  async function opened(text: string, app: Promise<App> = signedIn()): Promise<App> {
    writeFileSync(join(folder, 'culvert.yml'), text);
    const running = await app;
    apps.push(running);
    running.answers.folder = folder;
    await running.call('project:choose', undefined);
    return running;
  }

  it('is shown with everything it would open, and opens nothing before the user confirms', async () => {
    mkdirSync(join(folder, 'public'));
    const app = await opened(`tunnels:
  web: {port: 3000, name: my-app, ttl: 4h}
  api: {port: 4000, local_https: true, domain: api.example.com, auth: "ann:secret-word-1", links: true}
  docs: {share: ./public, password: true}
`);
    const anyone = { kind: 'anyone' } as const;
    assert.deepEqual(listed(app), [
      {
        label: 'web',
        address: 'my-app',
        leadsTo: 'http://localhost:3000',
        lock: anyone,
        ttl: '4h',
        status: { name: 'ready' },
      },
      {
        label: 'api',
        address: 'api.example.com',
        leadsTo: 'https://localhost:4000',
        lock: { kind: 'other', parts: ['users', 'links'], password: undefined },
        ttl: undefined,
        status: { name: 'ready' },
      },
      {
        label: 'docs',
        address: undefined,
        leadsTo: './public',
        lock: { kind: 'password', password: undefined },
        ttl: undefined,
        status: { name: 'ready' },
      },
    ]);
    const { name } = project(app);
    assert.equal(name, 'shop');
    assert.deepEqual([created(app), app.core.chosen.tunnelList.tunnels], [[], []]);
    const shown = JSON.stringify(project(app));
    assert.ok(!shown.includes('secret-word-1') && !shown.includes(above), shown);
    await app.call('project:dismiss', { id: project(app).id });
    assert.equal(app.core.snapshots.make().project, undefined);
  });

  it('creates its tunnels as the file defines them, with their targets and access policies', async () => {
    mkdirSync(join(folder, 'public'));
    const app = await opened(`tunnels:
  web: {port: 3000, name: my-app, host_header: shop.test, local_host: 127.0.0.1, local_https: true, upstream: h2, wait: 10, compress: on, response_header: 'A: b'}
  api: {port: 4000, allow: 10.0.0.0/8, auth: "ann:secret-word-1", links: true, password: true, knock: true}
  docs: {share: ./public, password: mild-oak-tree, idle: true}
`);
    assert.deepEqual(await startAll(app), { started: 3, failed: 0 });
    assert.equal(app.core.snapshots.make().project, undefined);
    const [docs, api, web] = app.core.chosen.tunnelList.tunnels;
    const target = {
      port: 3000,
      hostHeader: 'shop.test',
      upstream: 'h2',
      host: '127.0.0.1',
      https: true,
      waitMs: 10_000,
    } as const;
    assert.deepEqual(web?.served.settings, {
      label: 'web',
      project: 'shop',
      target,
      name: 'my-app',
      domain: undefined,
      wildcard: false,
      ttl: undefined,
      idle: false,
      compress: 'on',
      keepBodies: SPEC_DEFAULTS.keepBodies,
      headers: { ...NO_HEADER_CHANGES, responseHeader: ['A: b'] },
    });
    const [, asked, onDocs] = app.api.asked;
    assert.deepEqual(
      [asked?.allow, asked?.basic, asked?.links, asked?.knock, onDocs?.password],
      [['10.0.0.0/8'], [{ user: 'ann', password: 'secret-word-1' }], true, true, 'mild-oak-tree'],
    );
    // The generated password is shown on its card.
    assert.ok(
      api?.lock.kind === 'other' && api.lock.password === asked?.password && asked?.password !== undefined,
    );
    assert.deepEqual(
      [docs?.served.settings.target, docs?.served.settings.idle],
      [{ folder: join(folder, 'public'), hidden: [join(folder, 'culvert.yml')] }, true],
    );
    // The app begins again with what it has kept.
    const second = await start(again(app));
    apps.push(second);
    assert.deepEqual(
      second.core.chosen.tunnelList.tunnels.map(({ served }) => served.settings.target),
      [docs?.served.settings.target, api?.served.settings.target, target],
    );
  });

  it('never opens a tunnel without its access policy: one whose variable is not set is not started', async () => {
    const app = await opened(`tunnels:
  api: {port: 4000, auth: "ann:\${CULVERT_TEST_UNSET}"}
  web: {port: 3000}
`);
    const [web, api] = listed(app);
    assert.deepEqual([web?.label, web?.status.name], ['web', 'ready']);
    assert.deepEqual([api?.label, api?.status.name, api?.lock], ['api', 'blocked', undefined]);
    assert.match(why(api), /auth: the variable CULVERT_TEST_UNSET is not set.*Run culvert start/);
    assert.deepEqual(await startAll(app), { started: 1, failed: 0 });
    assert.deepEqual(created(app), ['create 3000']);
  });

  it('opens no port of another machine, and no folder outside its own', async () => {
    symlinkSync(above, join(folder, 'up'), 'junction');
    const app = await opened(`tunnels:
  nas: {port: 80, local_host: 192.0.2.7}
  up: {share: ./up}
  gone: {share: ./gone}
`);
    const [nas, up, gone] = listed(app);
    assert.deepEqual(statuses(app), ['blocked', 'blocked', 'blocked']);
    assert.match(why(nas), /another machine, 192\.0\.2\.7, .*--allow-other-hosts/);
    assert.match(why(up), /is outside the folder that contains the file/);
    assert.match(why(gone), /cannot be read \(ENOENT\)/);
    assert.deepEqual(await startAll(app), { started: 0, failed: 0 });
    assert.deepEqual(created(app), []);
  });

  it('is not opened if the file is wrong, and lists every line with an error', async () => {
    const app = await opened('tunnels:\n  web:\n    prot: 3000\n  api: {port: 0}\n');
    const lines = problem(app).split('\n');
    assert.equal(lines.length, 3);
    assert.match(
      lines.join(' '),
      /culvert\.yml:3: tunnels\.web\.prot: .*Did you mean port\?.*culvert\.yml:4: tunnels\.api\.port/,
    );
    await assert.rejects(
      app.call('project:start', { id: project(app).id + 'x', labels: ['web'] }),
      failsWith('no-project'),
    );
    rmSync(join(folder, 'culvert.yml'));
    await app.call('project:choose', undefined);
    assert.match(problem(app), /This folder has no culvert\.yml/);
    rmSync(folder, { recursive: true });
    await app.call('project:choose', undefined);
    assert.match(problem(app), /cannot be read \(ENOENT\)/);
  });

  it('is not opened at a relay other than the one it names, or while signed out', async () => {
    const app = await opened('relay: https://other.example\ntunnels: {web: {port: 3000}}');
    assert.match(
      problem(app),
      /for the relay https:\/\/other\.example, but the window shows your account at https:\/\/relay\.example\.com/,
    );
    const own = await opened('relay: https://relay.example.com\ntunnels: {web: {port: 3000}}');
    assert.deepEqual(statuses(own), ['ready']);
    const out = await opened('tunnels: {web: {port: 3000}}', start());
    assert.match(problem(out), /Sign in first/);
  });

  it('recognises its running tunnels, in this app or elsewhere, and takes over an abandoned one', async () => {
    const app = await signedIn();
    await app.call('tunnel:create', { ...FORM, name: 'web' });
    const locked = { ...atRelay('locked', false, 'o3'), access: { links: true as const } };
    app.api.tunnels = [...app.api.tunnels, atRelay('api', true, 'o1'), atRelay('left', false, 'o2'), locked];
    app.core.setVisible(true);
    app.clock.advance(POLL_VISIBLE_MS);
    await until(() => (app.core.snapshots.make().others.length === 3 ? true : undefined));
    const requests: unknown[] = [];
    const create = app.api.createTunnel.bind(app.api);
    app.api.createTunnel = (request) => {
      requests.push(request);
      return create(request);
    };
    await opened(
      'tunnels: {a: {port: 1, name: web}, b: {port: 2, name: api}, c: {port: 3, name: left}, d: {port: 4, name: locked}}',
      Promise.resolve(app),
    );
    assert.deepEqual(statuses(app), ['online', 'online', 'ready', 'ready']);
    assert.deepEqual(await startAll(app), { started: 1, failed: 1 });
    assert.match(why(listed(app)[3]), /"locked" is open with a different access policy/);
    assert.deepEqual(
      requests.map((request) => (request as { take_over?: boolean }).take_over),
      [true],
    );
  });

  it('shows why each tunnel could not be started, and retries it', async () => {
    const app = await opened('tunnels: {web: {port: 3000, name: web}, api: {port: 4000}}');
    const create = app.api.createTunnel.bind(app.api);
    const { text, code } = API_ERRORS.nameTaken;
    app.api.createTunnel = (request) =>
      request.name === 'web' ? Promise.reject(new RelayRefusal(409, text, { code })) : create(request);
    assert.deepEqual(await startAll(app), { started: 1, failed: 1 });
    assert.deepEqual(statuses(app), ['failed', 'started']);
    assert.match(why(listed(app)[0]), /Another account is using it/);
    app.api.createTunnel = create;
    assert.deepEqual(await startAll(app), { started: 1, failed: 0 });
    assert.deepEqual(created(app), ['create 4000', 'create 3000']);
    assert.equal(app.core.snapshots.make().project, undefined);
  });

  it('asks an unreachable relay once, not for every tunnel', async () => {
    const app = await opened('tunnels: {web: {port: 3000}, api: {port: 4000}}');
    app.api.failure = new RelayUnreachable('no route', { cause: new Error('EHOSTUNREACH') });
    assert.deepEqual(await startAll(app), { started: 0, failed: 1 });
    assert.deepEqual(statuses(app), ['failed', 'ready']);
  });

  it('starts no further tunnels once it is closed, but completes those in progress', async () => {
    const app = await opened('tunnels: {web: {port: 3000}, api: {port: 4000}}');
    const { id } = project(app);
    const asked = Promise.withResolvers<void>();
    const create = app.api.createTunnel.bind(app.api);
    app.api.createTunnel = async (request) => {
      await asked.promise;
      return create(request);
    };
    const starting = startAll(app);
    await until(() => (statuses(app)[0] === 'starting' ? true : undefined));
    await assert.rejects(startAll(app), failsWith('no-project'));
    await app.call('project:dismiss', { id });
    asked.resolve();
    assert.deepEqual(await starting, { started: 1, failed: 0 });
    assert.deepEqual(created(app), ['create 3000']);
    assert.equal(app.core.snapshots.make().project, undefined);
  });

  it('is offered again as one of the last five, and never by a path from the page', async () => {
    const app = await opened('tunnels: {web: {port: 3000}}');
    for (let count = 0; count < RECENT_PROJECTS_MAX; count += 1) {
      const other = join(above, `other-${count}`);
      mkdirSync(other);
      writeFileSync(join(other, 'culvert.yml'), 'tunnels: {web: {port: 3000}}');
      app.answers.folder = other;
      await app.call('project:choose', undefined);
    }
    assert.deepEqual(names(app), ['other-4', 'other-3', 'other-2', 'other-1', 'other-0']);
    const second = await signedIn(again(app));
    assert.deepEqual(names(second), names(app));
    await second.call('project:reopen', { folder: join(above, 'other-0') });
    assert.deepEqual([project(second).name, names(second)[0]], ['other-0', 'other-0']);
    await assert.rejects(second.call('project:reopen', { folder }), failsWith('no-project'));
  });
});

describeOnPosix('the culvert.yml of a folder', () => {
  it('is rejected if it is not a file', async () => {
    const folder = temporaryDirectory();
    mkdirSync(join(folder, 'culvert.yml'));
    assert.equal(await hasProject(folder), false);
    assert.equal(await hasProject(join(folder, 'gone')), false);
  });
});
