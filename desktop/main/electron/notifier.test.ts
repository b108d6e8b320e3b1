import assert from 'node:assert/strict';
import type { NotificationConstructorOptions } from 'electron';
import { fakeEmitter } from '../../testing/electron/emitter.ts';
import { newVersionNotice } from '../notices/notices.ts';
import { Notifier, type ShownNotification } from './notifier.ts';

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

  it('has a button to extend if the system has buttons', () => {
    const { notifier, notification, options, seen } = notifierOn('darwin');
    notifier.notify(NOTICE);
    assert.deepEqual(options[0]?.actions, [{ type: 'button', text: 'Extend by 1 hour' }]);
    notification.emit('action');
    notification.emit('click');
    assert.deepEqual(seen, { shows: 1, extended: ['k'], releases: 0 });
  });

  it('shows where a new version is if the app does not install it', () => {
    const { notifier, notification, seen } = notifierOn('linux');
    notifier.notify(newVersionNotice('0.2.0'));
    notification.emit('click');
    assert.deepEqual(seen, { shows: 0, extended: [], releases: 1 });
  });

  it('extends at a click if there are no buttons, and says so', () => {
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
