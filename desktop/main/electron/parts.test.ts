/** The small parts on Electron: each with the members that it uses, as Electron has them. */
import assert from 'node:assert/strict';
import type {
  App,
  Dialog,
  NativeImage,
  NotificationConstructorOptions,
  SafeStorage,
  Settings,
} from 'electron';
import { fakeEmitter, fakeEvent } from '../../testing/electron/emitter.ts';
import { askQuit } from './ask-quit.ts';
import { systemEncryption } from './encryption.ts';
import { collectLinks, listenToSystem } from './events.ts';
import { loginItem } from './login-item.ts';
import { newVersionNotice } from '../notices/notices.ts';
import { Notifier, type ShownNotification } from './notifier.ts';
import { besideTray } from './place.ts';
import { trayImages } from './tray-images.ts';

const storage = (isAvailable: boolean, backend: ReturnType<SafeStorage['getSelectedStorageBackend']>) =>
  ({
    isAsyncEncryptionAvailable: () => Promise.resolve(isAvailable),
    encryptStringAsync: (text) => Promise.resolve(Buffer.from(text)),
    decryptStringAsync: (bytes) => Promise.resolve({ shouldReEncrypt: false, result: bytes.toString() }),
    getSelectedStorageBackend: () => backend,
  }) satisfies Parameters<typeof systemEncryption>[0];

describe('systemEncryption', () => {
  const cases: [string, boolean, NodeJS.Platform, boolean, 'basic_text' | 'unknown' | 'kwallet6'][] = [
    ['is real with a wallet', true, 'linux', true, 'kwallet6'],
    ['is none where the key is known to all', false, 'linux', true, 'basic_text'],
    ['is none where it is unknown what does it', false, 'linux', true, 'unknown'],
    ['is none where there is none', false, 'linux', false, 'kwallet6'],
    ['is real on macOS', true, 'darwin', true, 'unknown'],
    ['is none on Windows where it is not available', false, 'win32', false, 'unknown'],
  ];
  for (const [title, isReal, platform, isAvailable, backend] of cases) {
    it(title, async () => {
      assert.equal(await systemEncryption(storage(isAvailable, backend), platform).isReal(), isReal);
    });
  }

  it('reads what it wrote', async () => {
    const encryption = systemEncryption(storage(true, 'kwallet6'), 'linux');
    assert.equal(await encryption.decrypt(await encryption.encrypt('key')), 'key');
  });
});

function notifierOn(platform: NodeJS.Platform) {
  const options: NotificationConstructorOptions[] = [];
  const seen = { shows: 0, extended: [] as string[], releases: 0 };
  const notification = fakeEmitter({ show() {} });
  const notifier = new Notifier({
    create(given) {
      options.push(given);
      return notification as unknown as ShownNotification;
    },
    platform,
    isSupported: () => true,
    onShow: () => void (seen.shows += 1),
    onExtend: (key) => void seen.extended.push(key),
    onReleases: () => void (seen.releases += 1),
  });
  return { notifier, notification, options, seen };
}

describe('Notifier', () => {
  const NOTICE = { kind: 'expires-soon', key: 'k', title: 't', text: 'After that.' } as const;

  it('has a button to extend where there are buttons', () => {
    const { notifier, notification, options, seen } = notifierOn('darwin');
    notifier.notify(NOTICE);
    assert.deepEqual(options[0]?.actions, [{ type: 'button', text: 'Extend by 1 hour' }]);
    notification.emit('action');
    notification.emit('click');
    assert.deepEqual(seen, { shows: 1, extended: ['k'], releases: 0 });
  });

  it('shows where a new version is, which it does not install', () => {
    const { notifier, notification, seen } = notifierOn('linux');
    notifier.notify(newVersionNotice('0.2.0'));
    notification.emit('click');
    assert.deepEqual(seen, { shows: 0, extended: [], releases: 1 });
  });

  it('extends at a click where there are none, and says so', () => {
    const { notifier, notification, options, seen } = notifierOn('linux');
    notifier.notify(NOTICE);
    assert.match(options[0]?.body ?? '', /Click to extend/);
    notification.emit('click');
    assert.deepEqual(seen, { shows: 0, extended: ['k'], releases: 0 });
  });

  it('shows the window at a click on any other', () => {
    const { notifier, notification, seen } = notifierOn('linux');
    notifier.notify({ ...NOTICE, kind: 'expired' });
    notification.emit('click');
    notification.emit('action');
    assert.deepEqual(seen, { shows: 1, extended: [], releases: 0 });
  });
});

function listening(mayQuit: boolean) {
  const seen: string[] = [];
  const app = fakeEmitter({});
  const power = fakeEmitter({});
  const links = collectLinks(app as unknown as Pick<App, 'on'>);
  app.emit('open-url', fakeEvent({}), 'culvert://new?port=1');
  listenToSystem(
    app as unknown as Pick<App, 'on'>,
    power as unknown as Parameters<typeof listenToSystem>[1],
    links,
    {
      onShow: () => void seen.push('show'),
      onLink: (link) => void seen.push(link),
      onSuspend: () => void seen.push('suspend'),
      onWake: () => void seen.push('wake'),
      onShutdown: () => void seen.push('shutdown'),
      onQuit: () => mayQuit,
    },
  );
  return { app, power, seen };
}

describe('listenToSystem', () => {
  it('opens links, those from before it was ready too', () => {
    const { app, seen } = listening(true);
    app.emit('open-url', fakeEvent({}), 'culvert://new?port=2');
    app.emit('second-instance', {}, ['culvert', 'culvert://new?port=3']);
    assert.deepEqual(seen, ['culvert://new?port=1', 'culvert://new?port=2', 'culvert://new?port=3']);
  });

  it('shows the window for a second start, lets go for a sleep, and connects again at once after it', () => {
    const { app, power, seen } = listening(true);
    app.emit('second-instance', {}, ['culvert']);
    power.emit('suspend');
    power.emit('resume');
    power.emit('unlock-screen');
    assert.deepEqual(seen.slice(1), ['show', 'suspend', 'wake', 'wake']);
  });

  it('holds up no shutdown of the system', () => {
    const { power, seen } = listening(false);
    power.emit('shutdown');
    assert.equal(seen.at(-1), 'shutdown');
  });

  it('ends only when it may', () => {
    for (const mayQuit of [true, false]) {
      const quit = fakeEvent({});
      listening(mayQuit).app.emit('before-quit', quit);
      assert.equal(quit.isPrevented, !mayQuit);
    }
  });
});

const ask = (response: number): Pick<Dialog, 'showMessageBox'> => ({
  showMessageBox: () => Promise.resolve({ response, checkboxChecked: false }),
});

describe('askQuit', () => {
  it('takes each button for what it says, and a closed question for "stay"', async () => {
    const choices = await Promise.all([0, 1, 2, 9].map((button) => askQuit(ask(button), 2)));
    assert.deepEqual(choices, ['close', 'leave', 'stay', 'stay']);
  });
});

describe('loginItem', () => {
  it('starts hidden', async () => {
    const seen: (Settings | undefined)[] = [];
    const app = {
      setLoginItemSettings: (settings) => void seen.push(settings),
    } satisfies Pick<App, 'setLoginItemSettings'>;
    await loginItem(app).set(true);
    assert.deepEqual(seen, [{ openAtLogin: true, args: ['--hidden'] }]);
  });
});

const pathOf = (image: NativeImage): string => (image as unknown as { path: string }).path;

describe('trayImages', () => {
  it('are for the colour of the bar, and a template on macOS', () => {
    const templates: boolean[] = [];
    const load = (path: string): NativeImage =>
      ({ path, setTemplateImage: (is: boolean) => void templates.push(is) }) as unknown as NativeImage;
    assert.equal(pathOf(trayImages('/a', 'linux', () => true, load)('idle')), '/a/tray-idle-dark.png');
    assert.equal(pathOf(trayImages('/a', 'win32', () => false, load)('online')), '/a/tray-online-light.png');
    assert.equal(
      pathOf(trayImages('/a', 'darwin', () => true, load)('offline')),
      '/a/tray-offline-light.png',
    );
    assert.deepEqual(templates, [true]);
  });
});

describe('besideTray', () => {
  const size = { width: 400, height: 640 };
  it('is below a bar at the top', () => {
    const place = besideTray(
      { x: 500, y: 0, width: 20, height: 24 },
      { x: 0, y: 24, width: 1440, height: 876 },
      size,
    );
    assert.deepEqual(place, { x: 310, y: 32 });
  });

  it('is above a bar at the bottom, and within the screen', () => {
    const place = besideTray(
      { x: 1400, y: 860, width: 20, height: 40 },
      { x: 0, y: 0, width: 1440, height: 860 },
      size,
    );
    assert.deepEqual(place, { x: 1032, y: 212 });
  });
});
