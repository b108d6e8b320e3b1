/** Proves that the app recognises a tray on a real session bus. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { showsTrayIcons } from '../../desktop/app/main/electron/tray-host.ts';
import { describeOnLinux } from '../../shared/testing/posix.ts';
import { Child } from '../support/child.ts';
import { testScope } from '../support/scope.ts';

const WATCHER = join(import.meta.dirname, 'status-notifier-watcher.py');

describeOnLinux('the tray of a session', () => {
  const scope = testScope();
  for (const [what, expected, watcher] of [
    ['no watcher', false, undefined],
    ['a watcher without a tray', false, '0'],
    ['a watcher with a tray', true, '1'],
  ] as const)
    it(`is ${expected ? 'there' : 'missing'} with ${what}`, async () => {
      const daemon = new Child('dbus-daemon', ['--session', '--nofork', '--print-address=1']);
      scope.defer(() => daemon.end());
      const address = await daemon.line((line) => (line.startsWith('unix:') ? line : undefined));
      const environment = { ...process.env, DBUS_SESSION_BUS_ADDRESS: address };
      if (watcher !== undefined) {
        const child = new Child('/usr/bin/python3', [WATCHER, watcher], { environment });
        scope.defer(() => child.end());
        await child.line((line) => line === 'ready' || undefined);
      }
      const asked = await showsTrayIcons(
        { DBUS_SESSION_BUS_ADDRESS: address },
        process.getuid?.() ?? 0,
        60_000,
      );
      assert.equal(asked, expected);
    });
});
