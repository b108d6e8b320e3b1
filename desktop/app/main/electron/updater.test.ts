import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { FakeClock } from '../../../testing/fake-clock.ts';
import {
  keepUpToDate,
  UpdateGate,
  type Updater,
  type UpdateWay,
  updateWay,
  UPDATE_FIRST_MS,
  UPDATE_INTERVAL_MS,
} from './updater.ts';

const SIGNED = 'provider: generic\npublisherName:\n  - CN=Culvert, O=Culvert\n';

describe('updateWay', () => {
  const cases: [string, UpdateWay, Partial<Parameters<typeof updateWay>[0]>][] = [
    ['macOS', 'install', { platform: 'darwin' }],
    ['Windows, of a signed installer', 'install', { platform: 'win32', updateConfig: SIGNED }],
    [
      'Windows, of a signed installer of one name',
      'install',
      { platform: 'win32', updateConfig: 'publisherName: Culvert\n' },
    ],
    ['Windows, unsigned', 'tell', { platform: 'win32', updateConfig: 'provider: generic\nurl: https://x\n' }],
    ['Windows, signed by nobody', 'tell', { platform: 'win32', updateConfig: 'publisherName: null\n' }],
    ['Windows, of an empty list', 'tell', { platform: 'win32', updateConfig: 'publisherName: []\nurl: x\n' }],
    ['Windows, without its file', 'tell', { platform: 'win32' }],
    ['an AppImage, which nothing verifies', 'tell', { platform: 'linux', env: { APPIMAGE: '/a' } }],
    ['what a package manager has installed', 'leave', { platform: 'linux' }],
    ['an app in development', 'leave', { isPackaged: false, platform: 'darwin' }],
  ];
  for (const [name, way, given] of cases) {
    it(`${name}: ${way}`, () => {
      const installation = {
        isPackaged: true,
        platform: 'linux',
        env: {},
        updateConfig: '',
        ...given,
      } as const;
      assert.equal(updateWay(installation), way);
    });
  }
});

/** An app whose updater finds and does what the test says. */
function appWith(way: UpdateWay) {
  const clock = new FakeClock();
  const said: string[] = [];
  const updater = Object.assign(new EventEmitter(), {
    logger: console,
    autoDownload: true,
    autoInstallOnAppQuit: true,
    allowDowngrade: true,
    checkForUpdates() {
      said.push('check');
      updater.emit('update-available', { version: '0.2.0' });
      return Promise.resolve(null);
    },
    quitAndInstall: () => void said.push('install'),
  });
  keepUpToDate({
    way,
    updater: () => updater as unknown as Updater,
    clock,
    isInUse: () => false,
    onInstall: () => void said.push('restart'),
    onNewVersion: (version) => void said.push(version),
    onReady: (version) => void said.push(`ready ${version}`),
  });
  return { clock, said, updater };
}

describe('keepUpToDate', () => {
  it('downloads and installs verified versions, and no older ones', () => {
    const { clock, said, updater } = appWith('install');
    clock.advance(UPDATE_FIRST_MS);
    updater.emit('update-downloaded', { version: '0.2.0' });
    assert.deepEqual(said, ['check', 'ready 0.2.0', 'restart', 'install']);
    assert.deepEqual(
      [updater.autoDownload, updater.autoInstallOnAppQuit, updater.allowDowngrade],
      [true, true, false],
    );
  });

  it('only announces a new version that the system does not verify, once', () => {
    const { clock, said, updater } = appWith('tell');
    assert.deepEqual([updater.autoDownload, updater.autoInstallOnAppQuit], [false, false]);
    clock.advance(UPDATE_FIRST_MS);
    clock.advance(UPDATE_INTERVAL_MS);
    updater.emit('update-downloaded');
    assert.deepEqual(said, ['check', '0.2.0', 'check']);
  });

  it('does nothing for apps that a package manager updates', () => {
    const { clock, said, updater } = appWith('leave');
    clock.advance(UPDATE_INTERVAL_MS);
    assert.deepEqual([said, updater.eventNames()], [[], []]);
  });
});

function updating() {
  const clock = new FakeClock();
  const seen = { checks: 0, installs: 0, isInUse: true };
  const gate = new UpdateGate({
    clock,
    check: () => {
      seen.checks += 1;
      return Promise.reject(new Error('no network'));
    },
    install: () => void (seen.installs += 1),
    isInUse: () => seen.isInUse,
  });
  return { clock, gate, seen };
}

describe('UpdateGate', () => {
  it('checks after a minute, then every four hours, whatever the result', () => {
    const { clock, seen } = updating();
    clock.advance(59_000);
    assert.equal(seen.checks, 0);
    clock.advance(1000);
    assert.equal(seen.checks, 1);
    clock.advance(4 * 3_600_000 - 1);
    assert.equal(seen.checks, 1);
    clock.advance(1);
    assert.equal(seen.checks, 2);
    clock.advance(4 * 3_600_000);
    assert.equal(seen.checks, 3);
  });

  it('restarts once no tunnel is live', () => {
    const { clock, gate, seen } = updating();
    gate.downloaded();
    clock.advance(24 * 3_600_000);
    assert.equal(seen.installs, 0);
    seen.isInUse = false;
    clock.advance(59_999);
    assert.equal(seen.installs, 0);
    clock.advance(1);
    assert.equal(seen.installs, 1);
  });
});
