import assert from 'node:assert/strict';
import { record } from '../../testing/command-context.ts';
import { doOnceOnline, type ErrorScreen, type OnceOnline } from './once-online.ts';

const URL = 'https://shop.tunnel.example.com';
const NOTHING: OnceOnline = { open: false, qr: false, copy: false };

function run(wanted: Partial<OnceOnline>, screen: Omit<ErrorScreen, 'write'> = {}, env = {}, why?: string) {
  const written: string[] = [];
  const opened: string[] = [];
  const { printed, output } = record();
  doOnceOnline(
    { ...NOTHING, ...wanted },
    URL,
    output,
    { ...screen, write: (text) => written.push(text) },
    env,
    (url, failed) => {
      opened.push(url);
      if (why !== undefined) failed(why);
    },
  );
  return { printed, written, opened };
}

describe('doOnceOnline', () => {
  it('does nothing by default', () => {
    const { printed, written, opened } = run({});
    assert.deepEqual([printed.out, printed.err, written, opened], ['', '', [], []]);
  });

  it('prints the QR code to standard error, if the terminal is wide enough', () => {
    const { printed } = run({ qr: true });
    assert.equal(printed.out, '');
    const [first = '', ...rest] = printed.err.trimEnd().split('\n');
    assert.match(first, /^█+$/, 'the margin is light');
    assert.match(rest.slice(0, -1).join(''), /^[█▀▄ ]+$/);
    assert.equal(rest.at(-1), URL);
    assert.equal(run({ qr: true }, { isTTY: true, columns: 200 }).printed.err, printed.err);
    const narrow = run({ qr: true }, { isTTY: true, columns: 20 }).printed.err;
    assert.match(narrow, /^The QR code needs \d+ × \d+ characters, so make the window larger\.\nhttps/);
  });

  it('copies on a terminal that may support it, and reports a missing one', () => {
    const { printed, written } = run({ copy: true }, { isTTY: true });
    assert.deepEqual(written, [`\u{1B}]52;c;${Buffer.from(URL).toString('base64')}\u{7}`]);
    assert.match(printed.err, /^Copied https/);
    for (const [screen, env] of [
      [{}, {}],
      [{ isTTY: true }, { TERM: 'dumb' }],
    ] as const) {
      const without = run({ copy: true }, screen, env);
      assert.deepEqual(without.written, []);
      assert.equal(
        without.printed.err,
        `culvert: --copy: ${URL} cannot be copied, because the command is not running in a terminal.\n`,
      );
    }
  });

  it('opens the address, and reports a failure', () => {
    assert.deepEqual(run({ open: true }).opened, [URL]);
    const { printed } = run({ open: true }, {}, {}, 'xdg-open is not installed, so it cannot be opened');
    assert.equal(printed.err, 'culvert: --open: xdg-open is not installed, so it cannot be opened.\n');
  });
});
