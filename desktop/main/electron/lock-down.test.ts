import assert from 'node:assert/strict';
import type { App, WebContents } from 'electron';
import { fakeEmitter, fakeEvent } from '../../testing/electron/emitter.ts';
import { denyNavigation, denyPermissions, type LockableSession } from './lock-down.ts';
import { PAGE_URL } from './page-scheme.ts';

function setUp() {
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
      assert.deepEqual(setUp().open(), { action: 'deny' });
    });

    for (const event of ['will-navigate', 'will-frame-navigate']) {
      it(`denies ${event} to any other page`, () => {
        const { contents } = setUp();
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
      const { contents } = setUp();
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
