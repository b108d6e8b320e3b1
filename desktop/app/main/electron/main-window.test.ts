import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { App, BrowserWindow, Protocol, Rectangle, WebContents } from 'electron';
import { fakeEmitter, fakeEvent } from '../../../testing/fake-electron.ts';
import { temporaryDirectory } from '../../../../shared/testing/temporary-directory.ts';
import { CONTENT_SECURITY_POLICY } from '../page-files.ts';
import type { WindowPlace } from '../settings/app-store.ts';
import {
  besideTray,
  denyNavigation,
  denyPermissions,
  keptPlace,
  type LockableSession,
  MainWindow,
  PAGE_URL,
  registerPageScheme,
  servePage,
  windowOptions,
} from './main-window.ts';

const TRAY = {
  tray: { x: 900, y: 0, width: 20, height: 20 },
  area: { x: 0, y: 25, width: 1000, height: 775 },
};

function setUp(place: { at: typeof TRAY | undefined } = { at: TRAY }) {
  const state = { visible: false, focused: false, quitting: false, now: 0 };
  const seen = {
    urls: [] as string[],
    visible: [] as boolean[],
    front: [] as boolean[],
    places: [] as WindowPlace[],
    sent: [] as unknown[],
    toTray: 0,
    at: [0, 0],
  };
  const members = {
    loadURL: (url: string) => Promise.resolve(void seen.urls.push(url)),
    isVisible: () => state.visible,
    isFocused: () => state.focused,
    isMinimized: () => false,
    isDestroyed: () => false,
    getNormalBounds: (): Rectangle => ({ x: 30, y: 40, width: 900, height: 700 }),
    getBounds: (): Rectangle => ({ x: 0, y: 0, width: 400, height: 640 }),
    setPosition: (x: number, y: number) => void (seen.at = [x, y]),
    restore() {},
    focus: () => void (state.focused = true),
    show() {
      state.visible = true;
      window.emit('show');
    },
    hide() {
      state.visible = false;
      window.emit('hide');
    },
  } satisfies Partial<Pick<BrowserWindow, keyof BrowserWindow>>;
  const window = fakeEmitter({
    ...members,
    webContents: { send: (...sent: unknown[]) => void seen.sent.push(sent), mainFrame: {} },
  });
  const main = new MainWindow({
    window: window as unknown as BrowserWindow,
    isQuitting: () => state.quitting,
    now: () => state.now,
    onVisible: (isVisible) => void seen.visible.push(isVisible),
    onFront: (isInFront) => void seen.front.push(isInFront),
    onClosedToTray: () => void (seen.toTray += 1),
    hasOwnPlace: false,
    onPlace: (kept) => void seen.places.push(kept),
    trayPlace: () => place.at,
  });
  return { main, window, state, seen };
}

describe('MainWindow', () => {
  it('shows only the page, without Node', () => {
    assert.deepEqual(setUp().seen.urls, [PAGE_URL]);
    const { webPreferences, width, height } = windowOptions('preload.cjs', 'icon.png', {});
    assert.deepEqual([width, height], [400, 640]);
    assert.equal(webPreferences?.sandbox, true);
    assert.equal(webPreferences.contextIsolation, true);
    assert.equal(webPreferences.nodeIntegration, false);
    assert.equal(webPreferences.webSecurity, true);
    assert.equal(webPreferences.webviewTag, false);
  });

  it('hides instead of closing, until the app quits', () => {
    const { window, state, seen } = setUp();
    const close = fakeEvent({});
    window.emit('close', close);
    assert.deepEqual([close.isPrevented, seen.toTray], [true, 1]);
    state.quitting = true;
    const last = fakeEvent({});
    window.emit('close', last);
    assert.deepEqual([last.isPrevented, seen.toTray], [false, 1]);
  });

  it('reports when it can be seen', () => {
    const { main, window, seen } = setUp();
    main.show();
    window.hide();
    assert.deepEqual(seen.visible, [true, false]);
  });

  it('reports when it is in front', () => {
    const { window, seen } = setUp();
    window.emit('focus');
    window.emit('blur');
    window.emit('hide');
    assert.deepEqual(seen.front, [true, false, false]);
  });

  it('opens beside the icon of the tray, and hides at a second click', () => {
    const { main, state, seen } = setUp();
    main.toggle();
    assert.deepEqual(seen.at, [592, 33]);
    main.toggle();
    assert.equal(state.visible, false);
  });

  it('hides at a second click that has taken its focus, and shows if it had lost focus earlier', () => {
    const { main, window, state } = setUp();
    main.toggle();
    state.now = 10_000;
    state.focused = false;
    window.emit('blur');
    state.now += 100;
    main.toggle();
    assert.equal(state.visible, false);
    main.toggle();
    state.focused = false;
    window.emit('blur');
    state.now += 5000;
    main.toggle();
    assert.deepEqual([state.visible, state.focused], [true, true]);
  });

  it('keeps its size, and its position once the user has moved it', () => {
    const { main, window, seen } = setUp();
    const size = { width: 900, height: 700 };
    main.show();
    window.hide();
    window.emit('will-move');
    window.hide();
    assert.deepEqual(seen.places, [size, { x: 30, y: 40, ...size }]);
    main.toggle();
    assert.deepEqual(seen.at, [0, 0], 'not beside the tray');
    const { width, x } = windowOptions('preload.cjs', 'icon.png', { x: 30, y: 40, ...size });
    assert.deepEqual([width, x], [900, 30]);
  });

  it('keeps its position if the system does not report where the icon is', () => {
    const { main, state, seen } = setUp({ at: undefined });
    main.toggle();
    assert.deepEqual([state.visible, seen.at], [true, [0, 0]]);
  });

  it('sends to the page once it is loaded', async () => {
    const { main, seen } = setUp();
    await main.push('form:open', { port: 3000 });
    assert.deepEqual(seen.sent, [['form:open', { port: 3000 }]]);
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

describe('keptPlace', () => {
  const screens = [{ x: 0, y: 25, width: 1000, height: 775 }];
  const size = { width: 800, height: 600 };

  it('is the previous position of the window', () => {
    assert.deepEqual(keptPlace({ x: 150, y: 60, ...size }, screens), { x: 150, y: 60, ...size });
    assert.deepEqual(keptPlace(undefined, screens), {});
  });

  it('is only its size if that screen is gone', () => {
    for (const [x, y] of [
      [1500, 60],
      [-790, 60],
      [150, -500],
      [150, 790],
    ] as const)
      assert.deepEqual(keptPlace({ x, y, ...size }, screens), size);
  });
});

function lockDownSetUp() {
  const app = fakeEmitter({});
  denyNavigation(app as unknown as Pick<App, 'on'>);
  let open: (() => { action: string }) | undefined;
  const contents = fakeEmitter({
    setWindowOpenHandler: (handler: () => { action: string }) => void (open = handler),
  });
  app.emit('web-contents-created', {}, contents);
  return { contents, open: () => open?.() };
}

describe('lock-down', () => {
  it('grants no permission', () => {
    const answers: boolean[] = [];
    const session = {
      setPermissionRequestHandler(handler) {
        const details = {} as Parameters<NonNullable<typeof handler>>[3];
        handler?.({} as WebContents, 'media', (granted) => answers.push(granted), details);
      },
      setPermissionCheckHandler(handler) {
        const details = {} as Parameters<NonNullable<typeof handler>>[3];
        answers.push(handler?.(null, 'clipboard-read', '', details) ?? true);
      },
      setDevicePermissionHandler(handler) {
        answers.push(handler?.({} as Parameters<NonNullable<typeof handler>>[0]) ?? true);
      },
    } satisfies LockableSession;
    denyPermissions(session);
    assert.deepEqual(answers, [false, false, false]);
  });

  describe('of pages', () => {
    it('denies further windows', () => {
      assert.deepEqual(lockDownSetUp().open(), { action: 'deny' });
    });

    for (const event of ['will-navigate', 'will-frame-navigate']) {
      it(`denies ${event} to any other page`, () => {
        const { contents } = lockDownSetUp();
        for (const url of [
          'https://evil.example/',
          'file:///etc/passwd',
          `${PAGE_URL}/../x`,
          'culvert-app://b/',
        ]) {
          const navigation = fakeEvent({ url, isMainFrame: true });
          contents.emit(event, navigation);
          assert.equal(navigation.isPrevented, true, url);
        }
        const reload = fakeEvent({ url: PAGE_URL, isMainFrame: true });
        contents.emit(event, reload);
        assert.equal(reload.isPrevented, false);
      });
    }

    it('denies frames, redirects and webviews', () => {
      const { contents } = lockDownSetUp();
      const frame = fakeEvent({ url: PAGE_URL, isMainFrame: false });
      contents.emit('will-frame-navigate', frame);
      const redirect = fakeEvent({ url: PAGE_URL });
      contents.emit('will-redirect', redirect);
      const webview = fakeEvent({});
      contents.emit('will-attach-webview', webview);
      assert.deepEqual(
        [frame, redirect, webview].map(({ isPrevented }) => isPrevented),
        [true, true, true],
      );
    });
  });
});

type SchemeHandler = (request: Request) => Response | Promise<Response>;

function pageServer(): (url: string, method?: string) => Promise<Response> {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'index.html'), '<p>page');
  writeFileSync(join(directory, 'secret'), 'none of the page');
  let answer: SchemeHandler | undefined;
  const protocol = {
    handle: (_scheme: string, handler: SchemeHandler) => void (answer = handler),
  } satisfies Pick<Protocol, 'handle'>;
  servePage(protocol, directory);
  // Node's Request takes no address with a scheme that it does not know.
  return async (url, method = 'GET') => {
    if (answer === undefined) throw new Error('nobody answers');
    return answer({ url, method } as Request);
  };
}

describe('the scheme of the page', () => {
  it('is one with an origin and no further privileges', () => {
    let schemes: unknown;
    registerPageScheme({
      registerSchemesAsPrivileged: (list) => void (schemes = list),
    } satisfies Pick<Protocol, 'registerSchemesAsPrivileged'>);
    assert.deepEqual(schemes, [
      { scheme: 'culvert-app', privileges: { standard: true, secure: true, codeCache: true } },
    ]);
  });

  it('serves the page with the policy as a header', async () => {
    const response = await pageServer()(PAGE_URL);
    assert.equal(await response.text(), '<p>page');
    assert.equal(response.headers.get('content-security-policy'), CONTENT_SECURITY_POLICY);
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
  });

  it('has a policy without network, inline code and other origins', () => {
    assert.match(CONTENT_SECURITY_POLICY, /default-src 'none'/);
    assert.match(CONTENT_SECURITY_POLICY, /connect-src 'none'/);
    assert.ok(!/unsafe|https?:|\*/.test(CONTENT_SECURITY_POLICY));
  });

  const others = [
    'culvert-app://other/index.html',
    'culvert-app://app/secret',
    'culvert-app://app/none.html',
    'culvert-app://app/../index.html/x.html',
    'culvert-app://app/%2e%2e/package.json.html',
    'culvert-app://app/',
  ];
  for (const url of others) {
    it(`answers ${url} with 404`, async () => {
      assert.equal((await pageServer()(url)).status, 404);
    });
  }

  it('accepts only GET', async () => {
    assert.equal((await pageServer()(PAGE_URL, 'POST')).status, 404);
  });
});
