import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onPosix } from '../../../shared/testing/posix.ts';
import { RelayRefusal, RelayUnreachable } from '../../client/relay/errors.ts';
import { checkApp } from '../../testing/app-script.ts';
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
import { fakeEncryption, fakeSystem, type FakeSystem } from '../../testing/fake-platform.ts';
import type { PortScan } from './ports.ts';
import { trayFeed } from './tray.ts';

const session = ({ core }: App) => core.snapshots.make().session;
const problemOf = ({ core }: App) => core.snapshots.make().tunnels[0]?.localProblem?.code;
const fileOf = ({ platform }: App, name: string): string => join(platform.dataDirectory, name);
const systemWith = (changes: Partial<FakeSystem['platform']>): FakeSystem => {
  const system = fakeSystem();
  return { ...system, platform: { ...system.platform, ...changes } };
};

it('tells the window that the desktop shows no tray icons, until the user has read it', async () => {
  const app = await start(systemWith({ showsTrayIcons: () => Promise.resolve(false) }));
  await until(() => app.core.snapshots.make().isTrayMissing || undefined);
  await app.call('settings:change', { saysTrayMissing: false });
  const stored = await start(again(app));
  assert.deepEqual(
    [app, stored].map(({ core }) => core.snapshots.make().settings.saysTrayMissing),
    [false, false],
  );
});

describe('signing in', () => {
  it('shows how a key can be stored, and then the account', async () => {
    const app = await start();
    assert.deepEqual(session(app), {
      state: 'signed-out',
      relay: undefined,
      problem: undefined,
      keeps: ['system', 'session', 'file'],
    });
    await app.call('session:sign-in', SIGN_IN);
    const view = session(app);
    assert.ok(view.state === 'signed-in');
    assert.deepEqual(
      [view.relay, view.account.name, view.account.maxTtl, view.keyKept],
      ['https://relay.example.com', 'default', 604_800, 'system'],
    );
  });

  it('sends no malformed key, and a key over the network only encrypted, even a stored one', async () => {
    const app = await start();
    const refused = [
      ['bad-key', { ...SIGN_IN, key: 'sk_live' }],
      ['not-encrypted', { ...SIGN_IN, relay: 'http://relay.example.com' }],
      ['not-encrypted', { ...SIGN_IN, relay: 'http://192.0.2.7:8080' }],
    ] as const;
    for (const [code, form] of refused)
      await assert.rejects(app.call('session:sign-in', form), failsWith(code));
    assert.deepEqual([app.api.calls, session(app).state], [[], 'signed-out']);
    await app.call('session:sign-in', { ...SIGN_IN, relay: 'http://127.0.0.1:8080' });

    const system = again(await signedIn());
    const path = join(system.platform.dataDirectory, 'culvert.json');
    writeFileSync(path, readFileSync(path, 'utf8').replace('https://', 'http://'));
    const view = session(await start(system));
    assert.equal(view.state === 'signed-out' && view.problem?.code, 'not-encrypted');
  });

  it('asks the form for another key before it reports that the relay refuses the previous one', async () => {
    const app = await start();
    const states: string[] = [];
    app.core.snapshots.listen((view) => void states.push(view.session.state));
    app.api.failure = new RelayRefusal(401, 'invalid api key');
    await assert.rejects(app.call('session:sign-in', SIGN_IN), RelayRefusal);
    assert.deepEqual(states, ['signing-in', 'signed-out']);
  });

  onPosix('stores the key encrypted, or plain if the user asks for that, for its owner only', async () => {
    for (const keep of ['system', 'file'] as const) {
      const app = await start();
      await app.call('session:sign-in', { ...SIGN_IN, keep });
      const path = fileOf(app, 'key.json');
      assert.equal(readFileSync(path, 'utf8').includes(KEY), keep === 'file');
      assert.equal(statSync(path).mode & 0o777, 0o600);
    }
  });

  it('keeps the key only in memory if the system has no encryption, and always from the page', async () => {
    const app = await signedIn(systemWith({ encryption: fakeEncryption(false) }));
    const view = session(app);
    assert.equal(view.state === 'signed-in' && view.keyKept, 'session');
    assert.ok(!existsSync(fileOf(app, 'key.json')));
    await app.call('tunnel:create', FORM);
    assert.ok(!JSON.stringify(app.core.snapshots.make()).includes(KEY));
  });

  it('is restored after a restart, even while the relay is unreachable', async () => {
    const system = again(await signedIn());
    system.api.failure = new RelayUnreachable('The relay cannot be reached: nothing listens', {
      cause: new Error('ECONNREFUSED'),
    });
    const app = await start(system);
    const view = await until(() => {
      const now = session(app);
      return now.state === 'signed-in' && now.problem !== undefined ? now : undefined;
    });
    assert.equal(view.account.name, 'default');
    assert.deepEqual(view.problem, {
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
    assert.equal(session(app).state, 'signed-out');
    await app.call('session:cancel', undefined);
    app.api.getAccount = getAccount;
    await app.call('session:sign-in', SIGN_IN);
    assert.equal(session(app).state, 'signed-in');
  });
});

describe('tunnels', () => {
  const OPENED = 'create shop: create 3000, serve 1, shop connecting';
  const SIGNED_OUT = 'undo You signed out, and your tunnel was closed.';
  const scripts: Readonly<Record<string, string>> = {
    'follow the state of the client': `${OPENED};
      online: shop online; lost: shop reconnecting; offline expired: stop, shop ended`,
    'stop here immediately and at the relay 8 s later, and are created again with the same settings': `${OPENED};
      stop: stop, shop ended, undo Stopped shop.; +7999; +1: close 1, no undo; undo: fails too-late;
      start: create 3000, serve 2, shop connecting`,
    'stop at the relay once it can be reached, at the latest before they are started again': `${OPENED}; gone;
      stop: stop, shop ended, undo Stopped shop.; commit: close 1, no undo; back; refresh: close 1; refresh;
      start: create 3000, serve 2, shop connecting; gone; stop: stop, shop ended, undo Stopped shop.;
      commit: close 2, no undo; back; start: close 2, create 3000, serve 3, shop connecting`,
    'continue at the same address if a stop is undone, or they are started within that time': `
      create: create 3000, serve 1, slug-1 connecting;
      stop: stop, slug-1 ended, undo Stopped slug-1.; undo: serve 1, no undo, slug-1 connecting; +8000;
      stop: stop, slug-1 ended, undo Stopped slug-1.; start: serve 1, no undo, slug-1 connecting; +8000`,
    'are taken over from another client without creating a new tunnel': `${OPENED};
      offline replaced: stop, shop ended; start: serve 1, shop connecting`,
    'are served again after a restart, except those that had ended': `
      create: create 3000, serve 1, slug-1 connecting; create other: create 3000, serve 2, other connecting;
      stop other: stop, other ended, undo Stopped other.; restart: close 2, serve 1, no undo`,
    'are served with a new key of the same account if the old one was revoked': `${OPENED};
      create: create 3000, serve 2, slug-2 connecting;
      offline key-refused: stop, stop, notice Your API key was rejected, signed-out key-refused, slug-2 ended, shop ended;
      sign-in: serve 2, serve 1, signed-in, slug-2 connecting, shop connecting`,
    'connect immediately when the user does not want to wait, or the machine wakes': `${OPENED};
      try: wake; suspend: suspend; wake: wake`,
    'leave the list only when they have ended, and come back if that is undone': `${OPENED};
      forget: fails still-live; stop: stop, shop ended, undo Stopped shop.;
      forget: no shop ended, undo Removed shop.; stop: fails no-such-tunnel;
      undo 0: serve 1, no undo, no undo, shop connecting; stop: stop, shop ended, undo Stopped shop.;
      forget: no shop ended, undo Removed shop.; undo: no undo, shop ended; undo: serve 1, no undo, shop connecting`,
    'are closed with the sign-out, which can be undone with key and addresses': `${OPENED};
      sign-out: stop, no shop connecting, signed-out, ${SIGNED_OUT};
      undo: serve 1, no undo, signed-in, shop connecting; +8000;
      sign-out: stop, no shop connecting, signed-out, ${SIGNED_OUT}; sign-in: close 1, no undo, signed-in`,
    'are closed at the next start if the app ended before the relay knew of their stop': `${OPENED};
      stop: stop, shop ended, undo Stopped shop.; forget: no shop ended, undo Removed shop.;
      restart: close 1, no undo, no undo, shop ended`,
    'are copied and opened by their address': `${OPENED};
      copy: copied http://shop.tunnels.test:8080; open: opened http://shop.tunnels.test:8080`,
  };
  for (const [title, script] of Object.entries(scripts)) it(title, async () => void (await checkApp(script)));

  it('are served and on disk before create responds', async () => {
    const app = await signedIn();
    const { key } = await app.call('tunnel:create', { ...FORM, name: 'my-app' });
    assert.ok(readFileSync(fileOf(app, 'culvert.json'), 'utf8').includes(key));
    const [view] = app.core.snapshots.make().tunnels;
    assert.deepEqual(
      [view?.key, view?.url, view?.localPort, app.serve.last.tunnelId],
      [key, 'http://my-app.tunnels.test:8080', 3000, app.api.tunnels[0]?.id],
    );
  });

  it('are created once when started twice', async () => {
    const app = await checkApp(
      `${OPENED}; stop: stop, shop ended, undo Stopped shop.; commit: close 1, no undo`,
    );
    const key = app.core.chosen.tunnelList.tunnels[0]?.key ?? '';
    await Promise.all([app.call('tunnel:start', { key }), app.call('tunnel:start', { key })]);
    assert.equal(app.api.tunnels.length, 1);
  });

  it('give up the name of a stopped one when the next one needs it', async () => {
    const app = await checkApp(`${OPENED}; stop: stop, shop ended, undo Stopped shop.`);
    const create = app.api.createTunnel.bind(app.api);
    app.api.createTunnel = (request) =>
      app.api.tunnels.length > 0
        ? Promise.reject(new RelayRefusal(409, 'the name is taken'))
        : create(request);
    await checkApp('create shop: close 1, create 3000, serve 2, no undo, shop connecting', app);
  });

  it('are forgotten with the key at a sign-out that is final', async () => {
    const app = await checkApp(`${OPENED}; sign-out: stop, no shop connecting, signed-out, ${SIGNED_OUT}`);
    assert.equal(existsSync(fileOf(app, 'key.json')), false, 'the key is forgotten at once');
    await checkApp('commit: close 1, no undo; restart: ', app);
  });

  it('keep the stored key when it is refused, until the user has the app forget it', async () => {
    const app = await signedIn();
    await app.call('tunnel:create', FORM);
    app.serve.last.onState({ name: 'offline', reason: 'key-refused', why: 'The API key was revoked.' });
    await until(() => session(app).state === 'signed-out' || undefined);
    assert.ok(existsSync(fileOf(app, 'key.json')));
  });

  it('that are lost together cause one notice, and none while the window is in front', async () => {
    const app = await checkApp(
      `create: create 3000, serve 1, slug-1 connecting; create: create 3000, serve 2, slug-2 connecting;
       online: slug-2 online, slug-1 online`,
    );
    const lose = (): void => {
      for (const { onState } of app.serve.all)
        onState({ name: 'reconnecting', attempt: 1, retryInMs: 1000, why: 'No connection.' });
      for (let ticks = 0; ticks < 8; ticks += 1) app.clock.advance(5000);
      for (const { onState } of app.serve.all) onState({ name: 'online' });
      app.clock.advance(5000);
    };
    app.core.setInFront(true);
    lose();
    assert.deepEqual(app.seen.notices, []);
    app.core.setInFront(false);
    lose();
    assert.deepEqual(
      app.seen.notices.map(({ title }) => title),
      ['2 tunnels are offline', 'All 2 tunnels are back'],
    );
  });

  it("show the relay's counters while the window is visible, and the domain of their names", async () => {
    const app = await signedIn();
    await app.call('tunnel:create', FORM);
    app.core.setVisible(true);
    app.api.tunnels = app.api.tunnels.map((tunnel) => ({ ...tunnel, requests: 7 }));
    await until(() => {
      app.clock.advance(2000);
      return app.core.snapshots.make().tunnels[0]?.requests === 7 || undefined;
    });
    const view = session(app);
    assert.equal(view.state === 'signed-in' && view.account.nameDomain, 'tunnels.test:8080');
  });

  it('are opened only at a web address', async () => {
    const app = await checkApp(OPENED);
    app.api.tunnels = app.api.tunnels.map((tunnel) => ({ ...tunnel, public_url: 'file:///bin/sh' }));
    await checkApp('refresh; open: fails bad-address', app);
  });
});

it('asks to quit when the user wants to', async () => {
  const { call, seen } = await start();
  await call('app:quit', undefined);
  assert.equal(seen.quits, 1);
});

describe('polling', () => {
  it('asks the relay every 2 s while the window is visible, otherwise every 30 s', async () => {
    const app = await signedIn();
    assert.deepEqual(await counts(app, lists(app), [29_999, 1, 29_999, 1]), [0, 1, 0, 1]);
    app.core.setVisible(true);
    assert.deepEqual(await counts(app, lists(app), [1999, 1, 1999, 1]), [0, 1, 0, 1]);
  });

  it('scans ports every 4 s while the window is visible, and never otherwise', async () => {
    let scans = 0;
    const app = await start(systemWith({ scanPorts: () => Promise.resolve(void (scans += 1)) }));
    assert.deepEqual(await counts(app, () => scans, [8000]), [0]);
    app.core.setVisible(true);
    assert.deepEqual(await counts(app, () => scans, [3999, 1, 3999, 1]), [0, 1, 0, 1]);
  });

  it('checks for notifications every 5 s', async () => {
    let looks = 0;
    const app = await start();
    app.core.chosen.lookForNotices = () => {
      looks += 1;
      return [];
    };
    assert.deepEqual(await counts(app, () => looks, [4999, 1, 4999, 1]), [0, 1, 0, 1]);
  });

  it('rebuilds the tray menu at most once a second', async () => {
    const app = await signedIn();
    await app.call('tunnel:create', FORM);
    let made = 0;
    trayFeed(app.core).listen(() => void (made += 1));
    for (let ms = 0; ms < 1000; ms += 100) {
      app.serve.last.onState({ name: ms % 200 === 0 ? 'online' : 'connecting' });
      app.clock.advance(ms === 900 ? 99 : 100);
    }
    assert.equal(made, 1);
    app.clock.advance(1);
    assert.equal(made, 2);
  });
});

describe('an outdated port scan', () => {
  it('is repeated for a new tunnel, and does not blame a server that has started since', async () => {
    const { app, key, looks, found } = await looking();
    assert.equal(looks.length, 1);
    assert.equal(await found(0), undefined);
    assert.equal(looks.length, 2);
    assert.equal(await found(1), 'local-refused');
    // The same tunnel, served again.
    await app.call('tunnel:stop', { key });
    await app.call('tunnel:start', { key });
    app.serve.last.onState({ name: 'online' });
    assert.equal(problemOf(app), undefined);
    assert.equal(await found(2), 'local-refused');
    assert.deepEqual([app.seen.reports, looks.length], [[], 3]);
  });

  it('gives way to a problem that a visitor has had since, and never hides it', async () => {
    const { app, looks, found, visitorFails } = await looking();
    await found(0);
    assert.equal(visitorFails(), 'local-refused');
    assert.equal(await found(1, FORM.port), 'local-refused');
    // However many visitors meet it, only the usual look follows.
    visitorFails();
    assert.equal(looks.length, 2);
    app.clock.advance(4000);
    assert.equal(await found(2, FORM.port), undefined);
    app.core.setVisible(false);
    assert.equal(problemOf(app), 'local-refused', 'nobody looks while the window is hidden');
  });
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
    const tray = trayFeed(app.core);
    assert.deepEqual([tray.make().tooltip, menus], ['Culvert: abgemeldet', 1]);
    const { core } = await start(again(app));
    assert.equal(core.snapshots.make().locale.language, 'de');
    await app.call('settings:change', { language: 'en' });
    assert.equal(tray.make().tooltip, 'Culvert: signed out');
  });

  it('that cannot be read are set aside, and the user is told', async () => {
    const system = fakeSystem();
    writeFileSync(join(system.platform.dataDirectory, 'culvert.json'), '{"version":1,"data":{"settin');
    const { seen, platform } = await start(system);
    assert.equal(seen.problems[0]?.code, 'settings-bad');
    assert.equal(readdirSync(platform.dataDirectory).filter((name) => name.includes('.bad-')).length, 1);
  });

  it('show what the system will do at login, even if that was changed there', async () => {
    const app = await start();
    await app.call('settings:change', { startsAtLogin: true });
    app.seen.autostart.push(false);
    app.core.setVisible(true);
    await until(() => !app.core.snapshots.make().settings.startsAtLogin || undefined);
  });

  it('that the system refuses are not stored', async () => {
    const autostart = {
      isOn: () => Promise.resolve(false),
      set: () => Promise.reject(new Error('read-only')),
    };
    const app = await start(systemWith({ autostart }));
    await assert.rejects(app.call('settings:change', { startsAtLogin: true }), failsWith('autostart'));
    assert.equal(app.core.snapshots.make().settings.startsAtLogin, false);
  });
});

/** Lets promises that wait for nothing outside of this process settle. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
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

/** A tunnel of an app with a visible window, whose port scans end when the test says so. */
async function looking() {
  const looks: PromiseWithResolvers<PortScan>[] = [];
  const scanPorts = async (): Promise<PortScan> => {
    const look = Promise.withResolvers<PortScan>();
    looks.push(look);
    return await look.promise;
  };
  const app = await signedIn(systemWith({ scanPorts }));
  app.core.setVisible(true);
  const { key } = await app.call('tunnel:create', FORM);
  app.serve.last.onState({ name: 'online' });
  /** Ends the scan with these ports and no others. @returns the problem that is shown then */
  const found = async (at: number, ...listening: number[]): Promise<string | undefined> => {
    looks[at]?.resolve({ listening: new Set(listening), isComplete: true, ports: [] });
    await settle();
    return problemOf(app);
  };
  const visitorFails = (): string | undefined => {
    app.serve.last.onProblem({ code: 'local-refused', text: 'Nothing answers.' });
    return problemOf(app);
  };
  return { app, key, looks, found, visitorFails };
}
