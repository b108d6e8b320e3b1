/** What the app does on its own: links, start at login, the network, quitting, updates. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signInLink } from '../../../../shared/invitations.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { UpdateGate } from '../electron/updater.ts';
import { xdgAutostart } from './autostart.ts';
import { findDeepLink, readDeepLink } from './deep-link.ts';
import { NetworkWatch } from './network-watch.ts';
import { closeWithin, Quit, type QuitChoice } from './quit.ts';

const form = (filled: object) => ({ opens: 'form', form: filled });

describe('readDeepLink', () => {
  const invitation = `https://relay.example.com/invite/${'t'.repeat(32)}`;
  const links: [string, object | undefined][] = [
    ['culvert://new?port=3000&name=my-app', form({ port: 3000, name: 'my-app' })],
    ['culvert://new', form({})],
    ['culvert://new/?port=8080', form({ port: 8080 })],
    ['culvert://new?port=0&name=No', form({})],
    ['culvert://new?port=3000&key=cvt_secret&relay=https://evil.example', form({ port: 3000 })],
    ['culvert://new/tunnel?port=3000', undefined],
    ['https://new?port=3000', undefined],
    ['culvert', undefined],
    [`culvert://new?port=3000&x=${'y'.repeat(2000)}`, undefined],
    [signInLink(invitation), { opens: 'invitation', address: invitation }],
    ['culvert://sign-in?key=cvt_secret', undefined],
    ['culvert://sign-in', undefined],
    [signInLink('https://relay.example.com/'), undefined],
    [signInLink(`${invitation}x`), undefined],
    [signInLink(invitation.replace('https', 'file')), undefined],
    [signInLink(invitation).replace('sign-in?', 'sign-in/now?'), undefined],
  ];
  for (const [link, shown] of links) {
    it(`takes ${link.slice(0, 100)} as ${JSON.stringify(shown)}`, () => {
      assert.deepEqual(readDeepLink(link), shown);
    });
  }

  it('is found among arguments', () => {
    assert.equal(findDeepLink(['culvert', '--hidden', 'culvert://new']), 'culvert://new');
    assert.equal(findDeepLink(['culvert']), undefined);
  });
});

describe('xdgAutostart', () => {
  it('writes an entry that starts the app hidden, and removes it', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'culvert-autostart-'));
    const autostart = xdgAutostart(directory, '/opt/My "Apps"/50%/culvert$');
    const path = join(directory, 'autostart/culvert.desktop');
    assert.equal(await autostart.isOn(), false);
    await autostart.set(true);
    assert.equal(await autostart.isOn(), true);
    assert.match(
      readFileSync(path, 'utf8'),
      /^Exec="\/opt\/My \\\\"Apps\\\\"\/50%%\/culvert\\\\\$" --hidden$/m,
    );
    const entry = readFileSync(path, 'utf8');
    writeFileSync(path, entry.replace('X-GNOME-Autostart-enabled=true', 'X-GNOME-Autostart-enabled=false'));
    assert.equal(await autostart.isOn(), false, 'switched off by the desktop');
    await autostart.set(false);
    await autostart.set(false);
    assert.equal(existsSync(path), false);
  });
});

describe('NetworkWatch', () => {
  it('looks every 3 s', () => {
    const clock = new FakeClock();
    let looks = 0;
    new NetworkWatch({
      clock,
      isOnline: () => (looks++, true),
      fingerprint: () => '10.0.0.1',
      onChange: () => assert.fail(),
    }).start();
    const before = looks;
    clock.advance(2999);
    assert.equal(looks, before);
    clock.advance(1);
    assert.equal(looks, before + 1);
    clock.advance(3000);
    assert.equal(looks, before + 2);
  });

  it('reports another network, once', () => {
    const clock = new FakeClock();
    const seen: boolean[] = [];
    let isOnline = true;
    let address: string | undefined = '10.0.0.1';
    const watch = new NetworkWatch({
      clock,
      isOnline: () => isOnline,
      fingerprint: () => address,
      onChange: (hasNetwork) => void seen.push(hasNetwork),
    });
    watch.start();
    clock.advance(30_000);
    assert.deepEqual(seen, []);
    // The machine does not say.
    address = undefined;
    clock.advance(30_000);
    assert.deepEqual(seen, []);
    isOnline = false;
    clock.advance(30_000);
    isOnline = true;
    address = '192.168.0.2';
    clock.advance(30_000);
    assert.deepEqual(seen, [false, true]);
  });
});

function quitting(liveCount: number, onQuit: 'ask' | 'close' | 'leave', choice: QuitChoice) {
  const seen = { asked: 0, closed: 0, settled: 0, exits: 0 };
  const quit = new Quit({
    liveCount: () => liveCount,
    onQuit: () => onQuit,
    ask: () => Promise.resolve((seen.asked++, choice)),
    closeAll: () => Promise.resolve(void seen.closed++),
    settle: () => Promise.resolve(void seen.settled++),
    exit: () => void seen.exits++,
  });
  return { quit, seen };
}

describe('Quit', () => {
  const cases: [string, Parameters<typeof quitting>, ReturnType<typeof quitting>['seen']][] = [
    [
      'asks nothing if there are no live tunnels',
      [0, 'ask', 'stay'],
      { asked: 0, closed: 0, settled: 1, exits: 1 },
    ],
    ['closes tunnels when told to', [2, 'ask', 'close'], { asked: 1, closed: 1, settled: 1, exits: 1 }],
    ['leaves them when told to', [2, 'ask', 'leave'], { asked: 1, closed: 0, settled: 1, exits: 1 }],
    ['stays', [2, 'ask', 'stay'], { asked: 1, closed: 0, settled: 0, exits: 0 }],
    ['does what the settings say', [2, 'close', 'stay'], { asked: 0, closed: 1, settled: 1, exits: 1 }],
    [
      'leaves them if the settings say that',
      [2, 'leave', 'stay'],
      { asked: 0, closed: 0, settled: 1, exits: 1 },
    ],
  ];
  for (const [title, given, expected] of cases) {
    it(title, async () => {
      const { quit, seen } = quitting(...given);
      await quit.request();
      assert.deepEqual(seen, expected);
      assert.equal(quit.isDone, expected.exits === 1);
    });
  }

  it('asks once, however often it is requested', async () => {
    const { quit, seen } = quitting(1, 'ask', 'stay');
    await Promise.all([quit.request(), quit.request(), quit.request()]);
    assert.equal(seen.asked, 1);
    await quit.request();
    assert.equal(seen.asked, 2);
  });
});

describe('closeWithin', () => {
  it('does not wait for work that takes too long', async () => {
    const clock = new FakeClock();
    const done = closeWithin(clock, 1000, new Promise<void>(() => {}), () => assert.fail());
    clock.advance(1000);
    await done;
  });

  it('reports failures', async () => {
    const errors: unknown[] = [];
    const clock = new FakeClock();
    await closeWithin(clock, 1000, Promise.reject(new Error('no')), (error) => errors.push(error));
    assert.equal(errors.length, 1);
    assert.deepEqual(clock.waiting, []);
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
  it('looks after a minute, then every four hours, whatever the result', () => {
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

  it('never restarts while a tunnel is live, and does once none is', () => {
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
