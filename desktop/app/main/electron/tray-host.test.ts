import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { temporaryDirectory } from '../../../../shared/testing/temporary-directory.ts';
import { describeOnPosix } from '../../../../shared/testing/posix.ts';
import { busPath, showsTrayIcons } from './tray-host.ts';

/* Recorded from dbus-daemon 1.14: the answer to Hello, a signal, and the watcher's answers. */

const HELLO =
  'OK 16ebb16b9e51939dc80afcef6b0ca2e8\r\n' +
  'l\x02\x01\x01\t\0\0\0\x01\0\0\0=\0\0\0\x06\x01s\0\x04\0\0\0:1.2\0\0\0\0\x05\x01u\0\x01\0\0\0\b\x01g\0\x01s\0\0' +
  '\x07\x01s\0\x14\0\0\0org.freedesktop.DBus\0\0\0\0\x04\0\0\0:1.2\0' +
  'l\x04\x01\x01\t\0\0\0\x02\0\0\0\x8d\0\0\0\x01\x01o\0\x15\0\0\0/org/freedesktop/DBus\0\0\0' +
  '\x02\x01s\0\x14\0\0\0org.freedesktop.DBus\0\0\0\0\x03\x01s\0\f\0\0\0NameAcquired\0\0\0\0' +
  '\x06\x01s\0\x04\0\0\0:1.2\0\0\0\0\b\x01g\0\x01s\0\0\x07\x01s\0\x14\0\0\0org.freedesktop.DBus\0\0\0\0\x04\0\0\0:1.2\0';
const WATCHER =
  'l\x02\x01\x01\b\0\0\0\x03\0\0\0-\0\0\0\x06\x01s\0\x04\0\0\0:1.2\0\0\0\0\x05\x01u\0\x02\0\0\0\b\x01g\0\x01v\0\0' +
  '\x07\x01s\0\x04\0\0\0:1.1\0\0\0\0\x01b\0\0';
const NO_OWNER =
  'l\x03\x01\x018\0\0\0\x03\0\0\0u\0\0\0\x06\x01s\0\x04\0\0\0:1.0\0\0\0\0\x04\x01s\0)\0\0\0' +
  'org.freedesktop.DBus.Error.NameHasNoOwner\0\0\0\0\0\0\0\x05\x01u\0\x02\0\0\0\b\x01g\0\x01s\0\0' +
  '\x07\x01s\0\x14\0\0\0org.freedesktop.DBus\0\0\0\x003\0\0\0Name "org.kde.StatusNotifierWatcher" does not exist\0';

const ANSWERS = {
  host: `${HELLO}${WATCHER}\x01\0\0\0`,
  'no host': `${HELLO}${WATCHER}\0\0\0\0`,
  'no owner': HELLO + NO_OWNER,
  refused: 'REJECTED EXTERNAL\r\n',
  silent: '',
  'impossible sizes': `${HELLO}l\x02\x01\x01\0\0\0\0\x03\0\0\0\xe9\xff\xff\xff`,
  'no end of signals': HELLO + HELLO.slice(HELLO.indexOf('l\x04')).repeat(200),
};

/** A bus that gives recorded answers, in two parts. */
async function bus(
  answers: string,
): Promise<{ env: NodeJS.ProcessEnv; server: Server; heard: () => string }> {
  const path = join(temporaryDirectory(), 'bus');
  let heard = '';
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => (heard += bytes.toString('latin1')));
    socket.once('data', () => {
      const half = Math.floor(answers.length / 2);
      for (const part of [answers.slice(0, half), answers.slice(half)]) socket.write(part, 'latin1');
      if (answers === ANSWERS.refused) socket.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return { env: { DBUS_SESSION_BUS_ADDRESS: `unix:path=${path},guid=0` }, server, heard: () => heard };
}

describeOnPosix('the tray of a Linux desktop', () => {
  const X11 = { XDG_SESSION_TYPE: 'x11' };
  const GNOME = { XDG_CURRENT_DESKTOP: 'ubuntu:GNOME' };
  const cases: [keyof typeof ANSWERS, boolean | undefined, NodeJS.ProcessEnv?][] = [
    ['host', true],
    ['no host', false],
    ['no owner', false],
    ['no owner', undefined, X11],
    ['no owner', false, { ...X11, ...GNOME }],
    ['host', true, X11],
    ['refused', undefined],
    ['silent', undefined],
    ['impossible sizes', undefined],
    ['no end of signals', undefined],
  ];
  for (const [answers, expected, more = {}] of cases)
    it(`is ${expected} for ${answers} ${Object.values(more).join(' ')}`, async () => {
      const { env, server, heard } = await bus(ANSWERS[answers]);
      try {
        const timeoutMs = answers === 'silent' || answers === 'impossible sizes' ? 50 : 60_000;
        assert.equal(await showsTrayIcons({ ...env, ...more }, 1000, timeoutMs), expected);
        if (answers !== 'silent')
          assert.ok(heard().startsWith('\0AUTH EXTERNAL 31303030\r\nBEGIN\r\n'), heard());
      } finally {
        server.close();
      }
    });

  it('is not known without a bus', async () => {
    for (const env of [{}, { XDG_RUNTIME_DIR: temporaryDirectory() }])
      assert.equal(await showsTrayIcons(env, 1000), undefined);
  });

  it('is asked at the address of the session', () => {
    const paths = [
      { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/run/user/1000/bus' },
      { DBUS_SESSION_BUS_ADDRESS: 'tcp:host=localhost;unix:guid=0,path=/tmp/a%20b,runtime=no' },
      { DBUS_SESSION_BUS_ADDRESS: 'unix:abstract=/tmp/dbus-x,guid=0' },
      { DBUS_SESSION_BUS_ADDRESS: 'autolaunch:' },
      { XDG_RUNTIME_DIR: '/run/user/1000' },
    ].map(busPath);
    const usual = '/run/user/1000/bus';
    assert.deepEqual(paths, [usual, '/tmp/a b', '\0/tmp/dbus-x', undefined, usual]);
  });
});
