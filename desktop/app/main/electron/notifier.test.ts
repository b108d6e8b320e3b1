import assert from 'node:assert/strict';
import type { NotificationConstructorOptions } from 'electron';
import { fakeEmitter } from '../../../testing/fake-electron.ts';
import type { Asked } from '../handlers/channels.ts';
import { knockNotice, newVersionNotice } from '../notices.ts';
import { Notifier, type ShownNotification } from './notifier.ts';

function notifierOn(platform: NodeJS.Platform) {
  const options: NotificationConstructorOptions[] = [];
  const seen = {
    shows: [] as (string | undefined)[],
    asked: [] as Asked[],
    closed: 0,
  };
  const notification = fakeEmitter({ show() {}, close: () => void (seen.closed += 1) });
  const notifier = new Notifier({
    create(given) {
      options.push(given);
      return notification as unknown as ShownNotification;
    },
    platform,
    isSupported: () => true,
    onShow: (key) => void seen.shows.push(key),
    ask: (asked) => void seen.asked.push(asked),
  });
  return { notifier, notification, options, seen };
}

const EXTENDS: Asked = { channel: 'tunnel:extend', payload: { key: 'k', ttl: '1h' } };

describe('Notifier', () => {
  const NOTICE = { kind: 'expires-soon', key: 'k', title: 't', text: 'After that.' } as const;

  it('has a button to extend if the system has buttons', () => {
    const { notifier, notification, options, seen } = notifierOn('darwin');
    notifier.notify(NOTICE);
    assert.deepEqual(options[0]?.actions, [{ type: 'button', text: 'Extend by 1 hour' }]);
    notification.emit('action', { actionIndex: 0 });
    notification.emit('click');
    assert.deepEqual(seen, { shows: [undefined], asked: [EXTENDS], closed: 0 });
  });

  it('shows where a new version is if the app does not install it', () => {
    const { notifier, notification, seen } = notifierOn('linux');
    notifier.notify(newVersionNotice('0.2.0'));
    notification.emit('click');
    assert.deepEqual(seen, {
      shows: [],
      asked: [{ channel: 'app:open-link', payload: { link: 'releases' } }],
      closed: 0,
    });
  });

  it('extends at a click if there are no buttons, and mentions that', () => {
    const { notifier, notification, options, seen } = notifierOn('linux');
    notifier.notify(NOTICE);
    assert.match(options[0]?.body ?? '', /Click to extend/);
    notification.emit('click');
    assert.deepEqual(seen, { shows: [], asked: [EXTENDS], closed: 0 });
  });

  it('shows the window at a click on any other notice', () => {
    const { notifier, notification, seen } = notifierOn('linux');
    notifier.notify({ ...NOTICE, kind: 'expired' });
    notification.emit('click');
    notification.emit('action', { actionIndex: 0 });
    assert.deepEqual(seen, { shows: [undefined], asked: [], closed: 0 });
  });

  const KNOCK = knockNotice('k', 'shop', {
    id: 'n1',
    address: '192.0.2.7',
    agent: 'Mozilla/5.0 (Windows NT 10.0) Chrome/156.0',
  });

  it('names the visitor who asks for approval, with buttons to approve and deny if the system has buttons', () => {
    const { notifier, notification, options, seen } = notifierOn('darwin');
    notifier.notify(KNOCK);
    const [shown] = options;
    assert.deepEqual(
      [shown?.title, shown?.body],
      ['Someone is asking for access to shop', 'Chrome on Windows from 192.0.2.7.'],
    );
    assert.deepEqual(
      shown?.actions?.map(({ text }) => text),
      ['Approve', 'Deny'],
    );
    notification.emit('action', { actionIndex: 0 });
    notification.emit('action', { actionIndex: 1 });
    notification.emit('action', { actionIndex: 7 });
    notification.emit('click');
    assert.deepEqual(seen.asked, [
      { channel: 'knock:admit', payload: { key: 'k', id: 'n1', ttl: '1h' } },
      { channel: 'knock:refuse', payload: { key: 'k', id: 'n1' } },
    ]);
    assert.deepEqual(seen.shows, ['k']);
  });

  it('replaces a notice on the same subject, and withdraws those already read', () => {
    const { notifier, seen } = notifierOn('win32');
    const shown = (kind: 'lost' | 'back' | 'expired', key?: string) =>
      notifier.notify({ kind, key, title: 't', text: '' });
    shown('lost');
    shown('expired', 'k');
    assert.equal(seen.closed, 0);
    shown('back');
    assert.equal(seen.closed, 1);
    notifier.withdraw();
    assert.equal(seen.closed, 3);
    notifier.withdraw();
    assert.equal(seen.closed, 3);
  });

  it('never approves a visitor by a click, but shows the request', () => {
    const { notifier, notification, options, seen } = notifierOn('linux');
    notifier.notify(KNOCK);
    assert.match(options[0]?.body ?? '', /Click to respond\.$/);
    assert.equal(options[0]?.actions, undefined);
    notification.emit('click');
    assert.deepEqual([seen.asked, seen.shows], [[], ['k']]);
  });
});
