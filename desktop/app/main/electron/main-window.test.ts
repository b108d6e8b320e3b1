import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { App, BrowserWindow, Protocol, Rectangle, WebContents } from 'electron';
import { checkScript } from '../../../../shared/testing/script.ts';
import { fakeEmitter, fakeEvent } from '../../../testing/fake-electron.ts';
import { temporaryDirectory } from '../../../../shared/testing/temporary-directory.ts';
import { CONTENT_SECURITY_POLICY } from '../page-files.ts';
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

/**
 * A window with its steps, each with what then happens: what is reported, and whether the window is shown and focused.
 *
 * @param tray where its icon is, if the system reports that
 */
function setUp(tray: typeof TRAY | null = TRAY) {
  const state = { visible: false, focused: false, quitting: false, tray: true, now: 0 };
  const did: string[] = [];
  const members = {
    loadURL: (url: string) => Promise.resolve(void did.push(url)),
    isVisible: () => state.visible,
    isFocused: () => state.focused,
    isMinimized: () => false,
    isDestroyed: () => false,
    getNormalBounds: (): Rectangle => ({ x: 30, y: 40, width: 900, height: 700 }),
    getBounds: (): Rectangle => ({ x: 0, y: 0, width: 400, height: 640 }),
    setPosition: (x: number, y: number) => void did.push(`at ${x} ${y}`),
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
    webContents: { send: (...sent: unknown[]) => void did.push(JSON.stringify(sent)), mainFrame: {} },
  });
  const main = new MainWindow({
    window: window as unknown as BrowserWindow,
    isQuitting: () => state.quitting,
    now: () => state.now,
    onVisible: (isVisible) => void did.push(isVisible ? 'shown' : 'hidden'),
    onFront: (isInFront) => void did.push(isInFront ? 'front' : 'behind'),
    onClose() {
      did.push(state.tray ? 'to tray' : 'wants to quit');
      return state.tray;
    },
    hasOwnPlace: false,
    onPlace: (kept) => void did.push(`keeps ${Object.values(kept).join(' ')}`),
    trayPlace: () => tray ?? undefined,
  });
  const steps: Readonly<Record<string, () => unknown>> = {
    load: () => {},
    show: () => main.show(),
    toggle: () => main.toggle(),
    hide: () => window.hide(),
    quit: () => (state.quitting = true),
    'no tray': () => (state.tray = false),
    close() {
      const event = fakeEvent({});
      window.emit('close', event);
      if (event.isPrevented) did.push('stays');
    },
    /** Another window takes the focus. */
    blur() {
      state.focused = false;
      window.emit('blur');
    },
  };
  const play = (step: string): string => {
    if (step.startsWith('+')) state.now += Number(step);
    else if (step in steps) steps[step]?.();
    else window.emit(step);
    return did.splice(0).join(', ');
  };
  return { main, play };
}

describe('MainWindow', () => {
  const PLACE = 'keeps 30 40 900 700';
  const scripts: Readonly<Record<string, string>> = {
    'hides instead of closing, until the app quits':
      'close: to tray, hidden, behind, keeps 900 700, stays; quit; close: keeps 900 700',
    'stays where no icon could show it again': 'show: shown; no tray; close: wants to quit, stays',
    'reports when it can be seen and is in front':
      'show: shown; focus: front; blur: behind; hide: hidden, behind, keeps 900 700',
    'opens beside the icon of the tray, and hides at a second click':
      'toggle: at 592 33, shown; toggle: hidden, behind, keeps 900 700',
    'hides at a second click that has taken its focus, and shows if it had lost focus earlier': `
      toggle: at 592 33, shown; +10000; blur: behind; +100; toggle: hidden, behind, keeps 900 700;
      toggle: at 592 33, shown; blur: behind; +5000; toggle: at 592 33, shown`,
    'keeps its size, and its position once the user has moved it': `
      show: shown; hide: hidden, behind, keeps 900 700; will-move; hide: hidden, behind, ${PLACE}; toggle: shown`,
  };
  for (const [title, script] of Object.entries(scripts))
    it(title, () => checkScript(`load: ${PAGE_URL}; ${script}`, setUp().play));

  it('keeps its position if the system does not report where the icon is', () => {
    const { play } = setUp(null);
    checkScript(`load: ${PAGE_URL}; toggle: shown`, play);
  });

  it('sends to the page once it is loaded', async () => {
    const { main, play } = setUp();
    await main.push('form:open', { port: 3000 });
    checkScript(`load: ${PAGE_URL}, ["form:open",{"port":3000}]`, play);
  });

  it('has no Node, and the size and position that were kept', () => {
    const { webPreferences, width, height } = windowOptions('preload.cjs', 'icon.png', {});
    assert.deepEqual([width, height], [400, 640]);
    const { sandbox, contextIsolation, nodeIntegration, webSecurity, webviewTag } = webPreferences ?? {};
    assert.deepEqual(
      [sandbox, contextIsolation, nodeIntegration, webSecurity, webviewTag],
      [true, true, false, true, false],
    );
    const kept = windowOptions('preload.cjs', 'icon.png', { x: 30, y: 40, width: 900, height: 700 });
    assert.deepEqual([kept.width, kept.x], [900, 30]);
  });
});

describe('the place of the window', () => {
  const size = { width: 400, height: 640 };
  for (const [what, tray, area, place] of [
    ['below a bar at the top', [500, 0, 20, 24], [0, 24, 1440, 876], { x: 310, y: 32 }],
    [
      'above a bar at the bottom, within the screen',
      [1400, 860, 20, 40],
      [0, 0, 1440, 860],
      { x: 1032, y: 212 },
    ],
  ] as const)
    it(`is ${what}`, () => assert.deepEqual(besideTray(rectangle(tray), rectangle(area), size), place));

  it('is the previous one, but only its size if that screen is gone', () => {
    const screens = [rectangle([0, 25, 1000, 775])];
    assert.deepEqual(keptPlace({ x: 150, y: 60, ...size }, screens), { x: 150, y: 60, ...size });
    assert.deepEqual(keptPlace(undefined, screens), {});
    for (const [x, y] of [
      [1500, 60],
      [-390, 60],
      [150, -500],
      [150, 790],
    ] as const)
      assert.deepEqual(keptPlace({ x, y, ...size }, screens), size);
  });
});

function rectangle([x, y, width, height]: readonly [number, number, number, number]): Rectangle {
  return { x, y, width, height };
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

  it('denies further windows, other pages, frames, redirects and webviews', () => {
    const app = fakeEmitter({});
    denyNavigation(app as unknown as Pick<App, 'on'>);
    let open: (() => { action: string }) | undefined;
    const contents = fakeEmitter({
      setWindowOpenHandler: (handler: () => { action: string }) => void (open = handler),
    });
    app.emit('web-contents-created', {}, contents);
    assert.deepEqual(open?.(), { action: 'deny' });
    const others = ['https://evil.example/', 'file:///etc/passwd', `${PAGE_URL}/../x`, 'culvert-app://b/'];
    const rows: readonly (readonly [event: string, url: string, isMainFrame: boolean, isDenied: boolean])[] =
      [
        ...['will-navigate', 'will-frame-navigate'].flatMap((event) => [
          ...others.map((url) => [event, url, true, true] as const),
          [event, PAGE_URL, true, false] as const,
        ]),
        ['will-frame-navigate', PAGE_URL, false, true],
        ['will-redirect', PAGE_URL, true, true],
        ['will-attach-webview', PAGE_URL, true, true],
      ];
    for (const [event, url, isMainFrame, isDenied] of rows) {
      const navigation = fakeEvent({ url, isMainFrame });
      contents.emit(event, navigation);
      assert.equal(navigation.isPrevented, isDenied, `${event} ${url}`);
    }
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

  it('serves the page with a policy without network, inline code and other origins', async () => {
    const response = await pageServer()(PAGE_URL);
    assert.equal(await response.text(), '<p>page');
    const { headers } = response;
    assert.deepEqual(
      ['content-security-policy', 'content-type', 'x-content-type-options'].map((name) => headers.get(name)),
      [CONTENT_SECURITY_POLICY, 'text/html; charset=utf-8', 'nosniff'],
    );
    assert.match(CONTENT_SECURITY_POLICY, /default-src 'none'/);
    assert.match(CONTENT_SECURITY_POLICY, /connect-src 'none'/);
    assert.ok(!/unsafe|https?:|\*/.test(CONTENT_SECURITY_POLICY));
  });

  const others: readonly (readonly [url: string, method?: string])[] = [
    ['culvert-app://other/index.html'],
    ['culvert-app://app/secret'],
    ['culvert-app://app/none.html'],
    ['culvert-app://app/../index.html/x.html'],
    ['culvert-app://app/%2e%2e/package.json.html'],
    ['culvert-app://app/'],
    [PAGE_URL, 'POST'],
  ];
  for (const [url, method] of others)
    it(`answers ${method ?? 'GET'} ${url} with 404`, async () =>
      assert.equal((await pageServer()(url, method)).status, 404));
});
