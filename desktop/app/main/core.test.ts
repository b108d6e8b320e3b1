import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onPosix } from '../../../shared/testing/posix.ts';
import { RelayRefusal, RelayUnreachable } from '../../client/relay/errors.ts';
import {
  again,
  type App,
  failsWith,
  FORM,
  KEY,
  SIGN_IN,
  signedIn,
  start,
  until,
} from '../../testing/core-app.ts';
import { fakeEncryption, fakeSystem } from '../../testing/fake-platform.ts';
import type { PortScan } from './ports.ts';

describe('the app', () => {
  describe('signing in', () => {
    it('starts signed out, and shows how a key can be stored', async () => {
      const { core } = await start();
      assert.deepEqual(core.snapshots.make().session, {
        state: 'signed-out',
        relay: undefined,
        problem: undefined,
        keeps: ['system', 'session', 'file'],
      });
    });

    it('shows the account', async () => {
      const { core } = await signedIn();
      const { session } = core.snapshots.make();
      assert.ok(session.state === 'signed-in');
      assert.equal(session.relay, 'https://relay.example.com');
      assert.deepEqual([session.account.name, session.account.maxTtl], ['default', 604_800]);
      assert.equal(session.keyKept, 'system');
    });

    it('rejects a malformed key before anything is sent', async () => {
      const { call, api } = await start();
      await assert.rejects(call('session:sign-in', { ...SIGN_IN, key: 'sk_live' }), failsWith('bad-key'));
      assert.deepEqual(api.calls, []);
    });

    it('sends a key over the network only encrypted, even a stored one', async () => {
      const { core, call, api } = await start();
      for (const relay of ['http://relay.example.com', 'http://192.0.2.7:8080'])
        await assert.rejects(call('session:sign-in', { ...SIGN_IN, relay }), failsWith('not-encrypted'));
      assert.deepEqual([api.calls, core.snapshots.make().session.state], [[], 'signed-out']);
      await call('session:sign-in', { ...SIGN_IN, relay: 'http://127.0.0.1:8080' });

      const system = again(await signedIn());
      const path = join(system.platform.dataDirectory, 'culvert.json');
      writeFileSync(path, readFileSync(path, 'utf8').replace('https://', 'http://'));
      const app = await start(system);
      const { session } = app.core.snapshots.make();
      assert.ok(session.state === 'signed-out');
      assert.equal(session.problem?.code, 'not-encrypted');
    });

    it('signs out when the relay refuses the key', async () => {
      const { core, call, api } = await start();
      api.failure = new RelayRefusal(401, 'invalid api key');
      await assert.rejects(call('session:sign-in', SIGN_IN), RelayRefusal);
      assert.equal(core.snapshots.make().session.state, 'signed-out');
    });

    it('asks the form for another key before it reports what was wrong with the previous one', async () => {
      const { core, call, api } = await start();
      const states: string[] = [];
      core.snapshots.listen(({ session }) => void states.push(session.state));
      api.failure = new RelayRefusal(401, 'invalid api key');
      await assert.rejects(call('session:sign-in', SIGN_IN), RelayRefusal);
      assert.deepEqual(states, ['signing-in', 'signed-out']);
    });

    onPosix('stores the key encrypted, in a file for its owner only', async () => {
      const { platform } = await signedIn();
      const path = join(platform.dataDirectory, 'key.json');
      assert.ok(!readFileSync(path, 'utf8').includes(KEY));
      assert.equal(statSync(path).mode & 0o777, 0o600);
    });

    it('keeps the key only in memory if the system has no encryption', async () => {
      const system = fakeSystem();
      const app = await start({
        ...system,
        platform: { ...system.platform, encryption: fakeEncryption(false) },
      });
      await app.call('session:sign-in', SIGN_IN);
      const { session } = app.core.snapshots.make();
      assert.equal(session.state === 'signed-in' && session.keyKept, 'session');
      assert.ok(!existsSync(join(app.platform.dataDirectory, 'key.json')));
    });

    onPosix('writes a plain file if the user asks for that', async () => {
      const app = await start();
      await app.call('session:sign-in', { ...SIGN_IN, keep: 'file' });
      const path = join(app.platform.dataDirectory, 'key.json');
      assert.ok(readFileSync(path, 'utf8').includes(KEY));
      assert.equal(statSync(path).mode & 0o777, 0o600);
    });

    it('is restored after a restart, even while the relay is unreachable', async () => {
      const system = again(await signedIn());
      const cause = new Error('ECONNREFUSED');
      system.api.failure = new RelayUnreachable('The relay cannot be reached: nothing listens', { cause });
      const { core } = await start(system);
      const session = await until(() => {
        const view = core.snapshots.make().session;
        return view.state === 'signed-in' && view.problem !== undefined ? view : undefined;
      });
      assert.equal(session.account.name, 'default');
      assert.deepEqual(session.problem, {
        code: 'unreachable',
        text: 'The relay cannot be reached: nothing listens. Culvert keeps trying.',
      });
    });

    it('can be cancelled and tried again', async () => {
      const app = await start();
      const getAccount = app.api.getAccount.bind(app.api);
      app.api.getAccount = () => new Promise(() => {});
      const trying = app.call('session:sign-in', SIGN_IN);
      await app.call('session:cancel', undefined);
      await assert.rejects(trying, failsWith('cancelled'));
      assert.equal(app.core.snapshots.make().session.state, 'signed-out');
      await app.call('session:cancel', undefined);
      app.api.getAccount = getAccount;
      await app.call('session:sign-in', SIGN_IN);
      assert.equal(app.core.snapshots.make().session.state, 'signed-in');
    });

    it('forgets key and tunnels at sign-out, and closes them at the relay', async () => {
      const app = await signedIn();
      await app.call('tunnel:create', FORM);
      await app.call('session:sign-out', undefined);
      assert.equal(app.serve.last.isStopped, true);
      await app.core.undos.commitAll();
      assert.deepEqual(app.api.tunnels, []);
      const { core } = await start(again(app));
      assert.equal(core.snapshots.make().session.state, 'signed-out');
      assert.deepEqual(core.snapshots.make().tunnels, []);
    });
  });

  describe('tunnels', () => {
    it('are served and on disk before create responds', async () => {
      const app = await signedIn();
      const { key } = await app.call('tunnel:create', { ...FORM, name: 'my-app' });
      assert.equal(app.serve.last.tunnelId, app.api.tunnels[0]?.id);
      assert.ok(readFileSync(join(app.platform.dataDirectory, 'culvert.json'), 'utf8').includes(key));
      const [view] = app.core.snapshots.make().tunnels;
      assert.deepEqual(
        [view?.key, view?.url, view?.localPort],
        [key, 'http://my-app.tunnels.test:8080', 3000],
      );
    });

    it('follow the state of the engine', async () => {
      const app = await signedIn();
      await app.call('tunnel:create', FORM);
      const status = (): string | undefined => app.core.snapshots.make().tunnels[0]?.status.name;
      assert.equal(status(), 'connecting');
      app.serve.last.onState({ name: 'online' });
      assert.equal(status(), 'online');
      app.serve.last.onState({ name: 'reconnecting', attempt: 1, retryInMs: 500, why: 'No connection.' });
      assert.equal(status(), 'reconnecting');
      app.serve.last.onState({ name: 'offline', reason: 'expired', why: 'The tunnel has expired.' });
      assert.equal(status(), 'ended');
    });

    it('are closed at the relay when stopped, and created again with the same settings when started again', async () => {
      const app = await signedIn();
      const { key } = await app.call('tunnel:create', { ...FORM, name: 'my-app' });
      await app.call('tunnel:stop', { key });
      assert.equal(app.serve.last.isStopped, true);
      await app.core.undos.commitAll();
      assert.deepEqual(app.api.tunnels, []);
      await app.call('tunnel:start', { key });
      assert.deepEqual(
        app.api.tunnels.map(({ slug }) => slug),
        ['my-app'],
      );
      assert.equal(app.core.snapshots.make().tunnels.length, 1);
    });

    it('are created once when started twice', async () => {
      const app = await signedIn();
      const { key } = await app.call('tunnel:create', FORM);
      await app.call('tunnel:stop', { key });
      await app.core.undos.commitAll();
      await Promise.all([app.call('tunnel:start', { key }), app.call('tunnel:start', { key })]);
      assert.equal(app.api.tunnels.length, 1);
    });

    it('stop here immediately when the relay is unreachable, and at the relay once it can be reached', async () => {
      const app = await signedIn();
      const { key } = await app.call('tunnel:create', FORM);
      app.api.failure = new RelayUnreachable('gone');
      await app.call('tunnel:stop', { key });
      assert.equal(app.serve.last.isStopped, true);
      await app.core.undos.commitAll();
      app.api.failure = undefined;
      await app.core.tunnelList.refresh();
      assert.deepEqual(app.api.tunnels, []);
    });

    it('are taken over from another client without creating a new tunnel', async () => {
      const app = await signedIn();
      const { key } = await app.call('tunnel:create', FORM);
      app.serve.last.onState({ name: 'offline', reason: 'replaced', why: 'Another client.' });
      const id = app.serve.last.tunnelId;
      await app.call('tunnel:start', { key });
      assert.equal(app.serve.last.tunnelId, id);
      assert.equal(app.serve.all.length, 2);
    });

    it('are served again after a restart, except those that had ended', async () => {
      const app = await signedIn();
      const { key } = await app.call('tunnel:create', FORM);
      const stopped = await app.call('tunnel:create', { ...FORM, port: 4000 });
      await app.call('tunnel:stop', stopped);
      const system = again(app);
      const { core } = await start(system);
      const names = core.snapshots.make().tunnels.map((view) => [view.key, view.status.name]);
      assert.deepEqual(names, [
        [stopped.key, 'ended'],
        [key, 'connecting'],
      ]);
      assert.equal(system.serve.all.length, 1);
    });

    it('are served with a new key of the same account if the old one was revoked', async () => {
      const app = await signedIn();
      await app.call('tunnel:create', FORM);
      await app.call('tunnel:create', { ...FORM, port: 4000 });
      for (const served of app.serve.all) {
        served.onState({ name: 'offline', reason: 'key-refused', why: 'The API key was revoked.' });
      }
      const problem = await until(() => {
        const { session } = app.core.snapshots.make();
        return session.state === 'signed-out' ? session.problem : undefined;
      });
      assert.equal(problem.code, 'key-refused');
      assert.deepEqual(
        app.seen.notices.map(({ kind }) => kind),
        ['key-refused'],
      );
      assert.ok(
        existsSync(join(app.platform.dataDirectory, 'key.json')),
        'only its user makes the app forget a key',
      );
      await app.call('session:sign-in', SIGN_IN);
      assert.equal(app.serve.all.length, 4);
      assert.equal(app.core.snapshots.make().tunnels[0]?.status.name, 'connecting');
    });

    it('connect immediately when the user does not want to wait', async () => {
      const app = await signedIn();
      await app.call('tunnel:create', FORM);
      await app.call('relay:try', undefined);
      assert.deepEqual(app.serve.last.sleep, ['wake']);
    });

    it('that are lost together cause one notice, and none while the window is in front', async () => {
      const app = await signedIn();
      for (let count = 0; count < 3; count += 1) await app.call('tunnel:create', FORM);
      const online = (): void => app.serve.all.forEach(({ onState }) => onState({ name: 'online' }));
      const lose = (): void => {
        for (const { onState } of app.serve.all)
          onState({ name: 'reconnecting', attempt: 1, retryInMs: 1000, why: 'No connection.' });
        for (let ticks = 0; ticks < 8; ticks += 1) app.clock.advance(5000);
      };
      const titles = () => app.seen.notices.map(({ title }) => title);
      online();
      app.core.setInFront(true);
      lose();
      online();
      app.clock.advance(5000);
      assert.deepEqual(titles(), []);
      app.core.setInFront(false);
      lose();
      online();
      app.clock.advance(5000);
      assert.deepEqual(titles(), ['3 tunnels are offline', 'All 3 tunnels are back']);
    });

    it('leave the list only when they have ended', async () => {
      const app = await signedIn();
      const { key } = await app.call('tunnel:create', FORM);
      await assert.rejects(app.call('tunnel:forget', { key }), failsWith('still-live'));
      await app.call('tunnel:stop', { key });
      await app.call('tunnel:forget', { key });
      await assert.rejects(app.call('tunnel:stop', { key }), failsWith('no-such-tunnel'));
    });

    it("show the relay's counters while the window is visible", async () => {
      const app = await signedIn();
      await app.call('tunnel:create', FORM);
      app.core.setVisible(true);
      app.api.tunnels = app.api.tunnels.map((tunnel) => ({ ...tunnel, requests: 7 }));
      await until(() => {
        app.clock.advance(2000);
        return app.core.snapshots.make().tunnels[0]?.requests === 7 || undefined;
      });
      assert.equal(app.core.snapshots.make().tunnels[0]?.requests, 7);
    });

    it('show the domain of their names once one is known', async () => {
      const app = await signedIn();
      await app.call('tunnel:create', FORM);
      const domain = await until(() => {
        app.clock.advance(30_000);
        const { session } = app.core.snapshots.make();
        return (session.state === 'signed-in' && session.account.nameDomain) || undefined;
      });
      assert.equal(domain, 'tunnels.test:8080');
    });

    it('disconnect when the machine goes to sleep, and reconnect immediately when it wakes', async () => {
      const app = await signedIn();
      await app.call('tunnel:create', FORM);
      app.core.suspend();
      app.core.wake();
      assert.deepEqual(app.serve.last.sleep, ['suspend', 'wake']);
    });

    it('are copied and opened by their address, and only web addresses are opened', async () => {
      const app = await signedIn();
      const { key } = await app.call('tunnel:create', { ...FORM, name: 'my-app' });
      await app.call('tunnel:copy-url', { key });
      await app.call('tunnel:open-url', { key });
      assert.deepEqual(app.seen.copied, ['http://my-app.tunnels.test:8080']);
      assert.deepEqual(app.seen.opened, ['http://my-app.tunnels.test:8080']);
      app.api.tunnels = app.api.tunnels.map((tunnel) => ({ ...tunnel, public_url: 'file:///bin/sh' }));
      await app.core.tunnelList.refresh();
      await assert.rejects(app.call('tunnel:open-url', { key }), failsWith('bad-address'));
      assert.equal(app.seen.opened.length, 1);
    });
  });

  it('asks to quit when the user wants to', async () => {
    const { call, seen } = await start();
    await call('app:quit', undefined);
    assert.equal(seen.quits, 1);
  });

  describe('polling', () => {
    it('asks the relay every 2 s while the window is visible', async () => {
      const app = await signedIn();
      app.core.setVisible(true);
      assert.deepEqual(await counts(app, lists(app), [1999, 1, 1999, 1]), [0, 1, 0, 1]);
    });

    it('asks the relay every 30 s while the window is hidden', async () => {
      const app = await signedIn();
      assert.deepEqual(await counts(app, lists(app), [29_999, 1, 29_999, 1]), [0, 1, 0, 1]);
    });

    it('scans ports every 4 s while the window is visible', async () => {
      const system = fakeSystem();
      let scans = 0;
      const scanPorts = () => Promise.resolve(void (scans += 1));
      const app = await start({ ...system, platform: { ...system.platform, scanPorts } });
      assert.deepEqual(await counts(app, () => scans, [8000]), [0]);
      app.core.setVisible(true);
      assert.deepEqual(await counts(app, () => scans, [3999, 1, 3999, 1]), [0, 1, 0, 1]);
    });

    it('scans ports when a tunnel is new: immediately, or after the running scan', async () => {
      const { app, looks } = await looking();
      await app.call('tunnel:create', FORM);
      assert.equal(looks.length, 1);
      looks[0]?.resolve(found());
      await settle();
      assert.equal(looks.length, 2);
      looks[1]?.resolve(found());
      await settle();
      app.serve.last.onState({ name: 'online' });
      assert.equal(looks.length, 2);
    });

    it('checks for notifications every 5 s', async () => {
      const system = fakeSystem();
      let looks = 0;
      const hasNetwork = () => (looks++, true);
      const app = await start({ ...system, platform: { ...system.platform, hasNetwork } });
      assert.deepEqual(await counts(app, () => looks, [4999, 1, 4999, 1]), [0, 1, 0, 1]);
    });
  });

  describe('an outdated port scan', () => {
    it('does not blame a server that has started since', async () => {
      const { app, looks, problem } = await looking();
      await app.call('tunnel:create', FORM);
      app.serve.last.onState({ name: 'online' });
      looks[0]?.resolve(found());
      await settle();
      assert.equal(problem(), undefined);
      looks[1]?.resolve(found());
      await settle();
      assert.equal(problem(), 'local-refused');
      // The same tunnel, served again.
      const { key } = app.core.snapshots.make().tunnels[0] ?? {};
      assert.ok(key !== undefined);
      await app.call('tunnel:stop', { key });
      await app.call('tunnel:start', { key });
      app.serve.last.onState({ name: 'online' });
      assert.equal(problem(), undefined);
      looks[2]?.resolve(found());
      await settle();
      assert.equal(problem(), 'local-refused');
      assert.deepEqual(app.seen.reports, []);
    });

    it('gives way to a problem that a visitor has had since, and never hides it', async () => {
      const { app, looks, problem } = await looking();
      await app.call('tunnel:create', FORM);
      app.serve.last.onState({ name: 'online' });
      looks[0]?.resolve(found());
      await settle();
      app.serve.last.onProblem({ code: 'local-refused', text: 'Nothing answers.' });
      assert.equal(problem(), 'local-refused');
      looks[1]?.resolve(found(FORM.port));
      await settle();
      assert.equal(problem(), 'local-refused');
      // However many visitors meet it, only the usual look follows.
      app.serve.last.onProblem({ code: 'local-refused', text: 'Nothing answers.' });
      assert.equal(looks.length, 2);
      app.clock.advance(4000);
      looks[2]?.resolve(found(FORM.port));
      await settle();
      assert.equal(problem(), undefined);
    });

    it('gives way to problems of visitors while the window is hidden', async () => {
      const { app, looks, problem } = await looking();
      await app.call('tunnel:create', FORM);
      app.serve.last.onState({ name: 'online' });
      looks[0]?.resolve(found(FORM.port));
      await settle();
      looks[1]?.resolve(found(FORM.port));
      await settle();
      app.serve.last.onProblem({ code: 'local-refused', text: 'Nothing answers.' });
      app.clock.advance(4000);
      looks[2]?.resolve(found(FORM.port));
      await settle();
      assert.equal(problem(), undefined);
      app.core.setVisible(false);
      assert.equal(problem(), 'local-refused');
    });
  });

  it('rebuilds the tray menu at most once a second', async () => {
    const app = await signedIn();
    await app.call('tunnel:create', FORM);
    let made = 0;
    app.core.tray.listen(() => void (made += 1));
    for (let ms = 0; ms < 1000; ms += 100) {
      app.serve.last.onState({ name: ms % 200 === 0 ? 'online' : 'connecting' });
      app.clock.advance(ms === 900 ? 99 : 100);
    }
    assert.equal(made, 1);
    app.clock.advance(1);
    assert.equal(made, 2);
  });

  describe('settings', () => {
    it('are kept across a restart', async () => {
      const app = await start();
      await app.call('settings:change', { theme: 'dark', startsAtLogin: true });
      assert.deepEqual([app.seen.themes, app.seen.autostart], [['dark'], [true]]);
      const { core } = await start(again(app));
      assert.equal(core.snapshots.make().settings.theme, 'dark');
    });

    it('change the language immediately: of the window, of the tray, and of later messages', async () => {
      const app = await start();
      let menus = 0;
      app.core.localeChanged.listen(() => (menus += 1));
      await app.call('settings:change', { language: 'de' });
      assert.deepEqual(app.core.snapshots.make().locale, { language: 'de', tag: 'de' });
      assert.equal(app.core.tray.make().tooltip, 'Culvert: abgemeldet');
      assert.equal(menus, 1);
      const { core } = await start(again(app));
      assert.equal(core.snapshots.make().locale.language, 'de');
      await app.call('settings:change', { language: 'en' });
      assert.equal(app.core.tray.make().tooltip, 'Culvert: signed out');
    });

    it('that cannot be read are set aside, and the user is told', async () => {
      const system = fakeSystem();
      writeFileSync(join(system.platform.dataDirectory, 'culvert.json'), '{"version":1,"data":{"settin');
      const { seen, platform } = await start(system);
      assert.equal(seen.problems[0]?.code, 'settings-bad');
      const aside = readdirSync(platform.dataDirectory).filter((name) => name.includes('.bad-'));
      assert.equal(aside.length, 1);
    });

    it('show what the system will do at login, even if that was changed there', async () => {
      const app = await start();
      await app.call('settings:change', { startsAtLogin: true });
      app.seen.autostart.push(false);
      app.core.setVisible(true);
      await until(() => !app.core.snapshots.make().settings.startsAtLogin || undefined);
    });

    it('that the system refuses are not stored', async () => {
      const system = fakeSystem();
      const autostart = {
        isOn: () => Promise.resolve(false),
        set: () => Promise.reject(new Error('read-only')),
      };
      const app = await start({ ...system, platform: { ...system.platform, autostart } });
      await assert.rejects(app.call('settings:change', { startsAtLogin: true }), failsWith('autostart'));
      assert.equal(app.core.snapshots.make().settings.startsAtLogin, false);
    });
  });

  it('never reveals the key to the page', async () => {
    const app = await signedIn();
    await app.call('tunnel:create', FORM);
    assert.ok(!JSON.stringify(app.core.snapshots.make()).includes(KEY));
  });
});

/** Lets promises that wait for nothing outside of this process settle. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** An app with a visible window, whose port scans end when the test says so. */
async function looking(): Promise<{
  readonly app: App;
  readonly looks: PromiseWithResolvers<PortScan>[];
  readonly problem: () => string | undefined;
}> {
  const system = fakeSystem();
  const looks: PromiseWithResolvers<PortScan>[] = [];
  const scanPorts = async (): Promise<PortScan> => {
    const look = Promise.withResolvers<PortScan>();
    looks.push(look);
    return await look.promise;
  };
  const app = await signedIn({ ...system, platform: { ...system.platform, scanPorts } });
  app.core.setVisible(true);
  return { app, looks, problem: () => app.core.snapshots.make().tunnels[0]?.localProblem?.code };
}

/** A look that has found these ports and no others. */
function found(...listening: number[]): PortScan {
  return { listening: new Set(listening), isComplete: true, ports: [] };
}

/** How often something happens in each of the given spans of ms, one after another. */
async function counts(app: App, count: () => number, spans: readonly number[]): Promise<number[]> {
  const seen: number[] = [];
  await settle();
  for (const ms of spans) {
    const before = count();
    app.clock.advance(ms);
    await settle();
    seen.push(count() - before);
  }
  return seen;
}

function lists({ api }: App): () => number {
  return () => api.calls.filter((call) => call === 'list').length;
}
