import assert from 'node:assert/strict';
import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { temporaryDirectory } from '../../../shared/testing/temporary-directory.ts';
import { record } from '../../testing/command-context.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { Rehearsal } from '../../client/visitors/rehearsal.ts';
import { TUNNEL } from '../../testing/fake-platform.ts';
import { fakeServed } from '../../testing/served.ts';
import { SPEC } from '../../testing/tunnel-spec.ts';
import { canShowView, LEAVE, PasteReader, Screen, splitKeys, TerminalView } from './terminal-view.ts';
import { span } from './text.ts';

function setUp(env: NodeJS.ProcessEnv = {}) {
  const clock = new FakeClock();
  const written: string[] = [];
  const rawModes: boolean[] = [];
  const answered: string[] = [];
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (on: boolean) => rawModes.push(on),
  });
  const stdout = Object.assign(new PassThrough(), { columns: 80, rows: 24 });
  stdout.write = (text: unknown) => written.push(String(text)) > 0;
  const streams = [stdin, stdout] as unknown as [NodeJS.ReadStream, typeof process.stdout];
  const window = {
    address: undefined as string | undefined,
    open: () => {
      window.address = 'http://127.0.0.1:4040/#token';
      return Promise.resolve(window.address);
    },
  };
  const jobs = {
    canStop: true,
    isHere: true,
    stops: 0,
    stop: () => void (jobs.stops += 1),
    isForeground: () => jobs.isHere,
  };
  const view = new TerminalView(...streams, env, clock, window, jobs);
  const rehearsal = new Rehearsal(['/ 500']);
  const panel = view.add(
    { ...SPEC, rehearsal },
    {
      now: () => clock.now(),
      extendTunnel: (id) => {
        answered.push(`extend ${id}`);
        return Promise.resolve(TUNNEL);
      },
      getTunnel: () => Promise.resolve(TUNNEL),
      answerKnock(_tunnel, knock, admit) {
        answered.push(`${knock} ${admit}`);
        return Promise.resolve();
      },
    },
  );
  const { served, serve, connection } = fakeServed();
  served.serve(connection);
  panel.opened(served);
  return { clock, serve, window, jobs, written, rawModes, answered, stdin, stdout, view, panel, rehearsal };
}

describe('TerminalView', () => {
  it('draws changes at most 4 times a second', () => {
    const { clock, written, view, panel } = setUp();
    view.open();
    written.length = 0;
    for (let ms = 0; ms < 1000; ms += 50) {
      panel.reconnecting(1, 100_000 + ms * 1000, 'Away.');
      clock.advance(50);
    }
    assert.equal(written.length, 4);
    clock.advance(1000);
    assert.ok(written.length <= 8);
    const before = written.length;
    panel.offline('expired', 'The tunnel has expired.');
    clock.advance(5000);
    assert.equal(written.length, before + 1, 'nothing changes any more');
    view.close(record().output);
  });

  it('opens the window in a browser, and shows its address until it ends', async () => {
    const { clock, window, written, stdin, view } = setUp();
    view.open();
    stdin.write('w');
    await Promise.resolve();
    clock.advance(300);
    assert.ok(written.some((text) => text.includes('http://127.0.0.1:4040/#token')));
    window.address = 'http://127.0.0.1:4040';
    written.length = 0;
    clock.advance(300);
    assert.ok(written.some((text) => /127\.0\.0\.1:4040(?!\/#)/.test(text)));
    view.close(record().output);
  });

  it('shows the QR code and copies the address if the command line asks for it', () => {
    const { written, stdin, view, panel } = setUp();
    view.open();
    panel.online();
    view.doOnceOnline(panel, { open: false, qr: true, copy: true });
    assert.ok(written.some((text) => /█▀|▀█/.test(text)));
    assert.ok(written.some((text) => text.startsWith('\u{1B}]52;c;')));
    stdin.emit('data', 'r');
    written.length = 0;
    view.doOnceOnline(panel, { open: false, qr: true, copy: false });
    assert.ok(!written.some((text) => /█▀|▀█/.test(text)), 'whoever has seen one code is not shown the next');
    view.close(record().output);
  });

  it('restores terminal, process and clock, and then prints what was held back', () => {
    const { clock, written, rawModes, stdin, stdout, view, panel } = setUp();
    const listeners = (): number =>
      process.listenerCount('exit') + process.listenerCount('SIGCONT') + stdout.listenerCount('resize');
    const before = listeners();
    view.open();
    assert.ok(listeners() > before);
    view.output.err('It could not be closed.\n');
    panel.offline('stopped', 'The command stopped, but the tunnel was not closed.');
    const { printed, output } = record();
    view.close(output);
    assert.equal(written.at(-1), LEAVE);
    assert.deepEqual(rawModes, [true, false]);
    assert.equal(listeners(), before);
    assert.deepEqual(clock.waiting, []);
    assert.ok(stdin.isPaused());
    assert.deepEqual(printed, {
      out: 'The command stopped, but the tunnel was not closed.\n',
      err: 'It could not be closed.\n',
    });
  });

  it('restores the terminal when the process exits', () => {
    const { rawModes, stdout, view } = setUp();
    const terminal = join(temporaryDirectory(), 'terminal');
    Object.assign(stdout, { fd: openSync(terminal, 'w') });
    const others = new Set(process.listeners('exit'));
    view.open();
    for (const listener of process.listeners('exit')) if (!others.has(listener)) listener(1);
    assert.deepEqual([readFileSync(terminal, 'utf8'), rawModes], [LEAVE, [true, false]]);
    view.close(record().output);
  });

  it('leaves the terminal to the shell at Ctrl-Z, until it is in the foreground again', () => {
    const { clock, jobs, written, rawModes, stdin, view, panel } = setUp();
    view.open();
    panel.online();
    stdin.emit('data', '\u{1A}');
    assert.deepEqual([jobs.stops, written.at(-1), rawModes], [1, LEAVE, [true, false]]);
    written.length = 0;
    jobs.isHere = false;
    process.emit('SIGCONT');
    clock.advance(1000);
    assert.deepEqual(
      [written, rawModes.length, stdin.isPaused()],
      [[], 2, true],
      'it continues in the background',
    );
    jobs.isHere = true;
    clock.advance(300);
    assert.match(written.join(''), /1049h.*Online/s);
    assert.deepEqual([rawModes.at(-1), stdin.isPaused()], [true, false]);
    stdin.emit('data', '\u{1A}');
    view.close(record().output);
    assert.deepEqual([written.at(-1), rawModes.at(-1), clock.waiting], [LEAVE, false, []]);
  });

  it('draws ASCII if the locale has no UTF-8', () => {
    const { clock, written, view, panel } = setUp({ LC_ALL: 'C', LANG: 'de_DE.UTF-8' });
    view.open();
    panel.reconnecting(1, 1000, 'Das Gerät ist weg.');
    clock.advance(300);
    assert.match(written.join(''), /o .*Reconnecting\. Das Ger\?t ist weg\./);
    assert.doesNotMatch(written.join(''), /\P{ASCII}/u);
    view.close(record().output);
  });

  it('answers the visitor who is shown when a key is pressed, and no one else', () => {
    const { clock, serve, written, stdin, stdout, answered, view, panel } = setUp();
    view.open();
    panel.online();
    stdin.emit('data', 'a');
    serve.knock('k1', '192.0.2.1');
    stdin.emit('data', 'a');
    assert.deepEqual(answered, [], 'nobody was shown');
    clock.advance(250);
    assert.match(written.at(-1) ?? '', /192\.0\.2\.1 is asking for access/);
    serve.knock('k2', '192.0.2.2');
    stdin.emit('data', 'aa');
    stdin.emit('data', 'x');
    assert.deepEqual(answered, ['k1 true'], 'the second is not shown yet');
    Object.defineProperty(stdout, 'writableLength', { value: 1, configurable: true });
    clock.advance(250);
    stdin.emit('data', 'x');
    assert.deepEqual(answered, ['k1 true'], 'a stopped terminal does not show it');
    Object.defineProperty(stdout, 'writableLength', { value: 0 });
    clock.advance(250);
    stdin.emit('data', 'x');
    assert.deepEqual(answered, ['k1 true', 'k2 false']);
    const host = `claude.ai.${'a'.repeat(200)}.evil.example`;
    serve.knock('k3', '192.0.2.3', { name: 'Claude', host, returns_to: 'x.example' });
    clock.advance(250);
    const shown = `? An agent of …${'a'.repeat(26)}.evil.example, returning to x.example`;
    assert.ok(written.at(-1)?.includes(shown), 'the beginning of a host says nothing');
    view.close(record().output);
  });

  it('has a key for every action, and asks before it quits', () => {
    const { clock, written, stdin, answered, view, panel, rehearsal } = setUp();
    const press = (keys: string): string => {
      written.length = 0;
      stdin.emit('data', keys);
      return written.join('');
    };
    let interrupts = 0;
    const interrupt = (): void => void (interrupts += 1);
    process.on('SIGINT', interrupt);
    view.open();
    panel.online();
    clock.advance(250);
    assert.match(press('?'), /copies the address/);
    assert.match(press('z'), /Online/);
    assert.match(press('r'), /█/);
    assert.match(press('r'), /Online/);
    assert.match(press('i'), /No requests yet/);
    press('q');
    assert.ok(press('c').includes(Buffer.from(TUNNEL.public_url).toString('base64')));
    assert.match(written.join(''), /Copied http/);
    press('e');
    assert.deepEqual(answered, [`extend ${TUNNEL.id}`]);
    press('f');
    assert.equal(rehearsal.isOn, false);
    assert.match(press('q'), /Close the tunnel and quit\?/);
    press('n');
    assert.equal(interrupts, 0);
    press('qy');
    assert.equal(interrupts, 1);
    process.off('SIGINT', interrupt);
    view.close(record().output);
  });

  it('uses no colours with NO_COLOR', () => {
    for (const [env, hasColour] of [
      [{}, true],
      [{ NO_COLOR: '' }, true],
      [{ NO_COLOR: '1' }, false],
    ] as const) {
      const { written, view } = setUp(env);
      view.open();
      view.close(record().output);
      assert.equal(written.join('').includes('[0m'), hasColour);
    }
  });

  it('is for terminals that can move their cursor', () => {
    assert.equal(canShowView({ isTTY: true }, { TERM: 'xterm' }), true);
    assert.equal(canShowView({ isTTY: true }, {}), true);
    assert.equal(canShowView({ isTTY: true }, { TERM: 'dumb' }), false);
    assert.equal(canShowView({}, { TERM: 'xterm' }), false);
  });
});

/** @returns what was typed in each piece */
function read(...pieces: readonly string[]): string {
  const reader = new PasteReader();
  return pieces.map((piece) => reader.withoutPasted(piece)).join('|');
}

describe('pasted text', () => {
  it('is not keys', () => {
    const { view, stdin, answered, panel, written } = setUp();
    panel.online();
    view.open();
    assert.ok(written[0]?.includes('\u{1B}[?2004h'));
    stdin.emit('data', '\u{1B}[200~qyeax\u{3}\u{1B}[201~');
    assert.deepEqual(answered, []);
    assert.doesNotMatch(written.join(''), /and quit/);
    view.close(record().output);
  });

  for (const [what, pieces, typed] of [
    ['between keys', ['a\u{1B}[200~pasted\u{1B}[201~b'], 'ab'],
    ['in pieces', ['\u{1B}[20', '0~pa', 'sted\u{1B}', '[201~x'], '|||x'],
    [
      'with Escape, which is a key elsewhere',
      ['\u{1B}', 'q', '\u{1B}[200~\u{1B}', 'a\u{1B}[201~'],
      '\u{1B}|q||',
    ],
    ['that never ends, until Ctrl-C', ['\u{1B}[200~abc', '\u{3}', 'q'], '|\u{3}|q'],
  ] as const)
    it(`is separated from them ${what}`, () => assert.equal(read(...pieces), typed));
});

describe('splitKeys', () => {
  for (const [input, keys] of [
    ['a', ['a']],
    ['qy', ['q', 'y']],
    ['\u{1B}[A\u{1B}OB', ['up', 'down']],
    ['\u{1B}', ['escape']],
    ['\u{1B}[5~x\r', ['page-up', 'x', 'enter']],
    ['\u{1B}[1;5C', []],
    ['ü漢\t\u{7F}\u{3}\u{C}', ['ü', '漢', 'tab', 'backspace', 'ctrl-c', 'ctrl-l']],
    ['', []],
  ] as const)
    it(`reads ${JSON.stringify(input)}`, () => assert.deepEqual(splitKeys(input), keys));
});

const ESC = '\u{1B}';
const screenText = (...lines: string[]) => lines.map((line) => [span(line)]);

function screenSetUp() {
  const written: string[] = [];
  const stream = { columns: 20, rows: 5, writableLength: 0, write: (part: string) => written.push(part) };
  const screen = new Screen(stream, true);
  screen.open();
  /** What was written since the last call, with ESC as ^. */
  const taken = (): string => written.splice(0).join('').replaceAll(ESC, '^');
  taken();
  return { screen, stream, taken };
}

describe('Screen', () => {
  it('writes only what has changed', () => {
    const { screen, taken } = screenSetUp();
    screen.draw(screenText('one', 'two', 'three'));
    assert.equal(taken(), '^[2J^[1;1H^[Kone^[2;1H^[Ktwo^[3;1H^[Kthree');
    screen.draw(screenText('one', '2', 'three'));
    assert.equal(taken(), '^[2;1H^[K2');
    screen.draw(screenText('one', '2', 'three'));
    assert.equal(taken(), '');
    screen.draw(screenText('one'));
    assert.equal(taken(), '^[2;1H^[J');
  });

  it('writes everything again for a window of another size', () => {
    const { screen, stream, taken } = screenSetUp();
    screen.draw(screenText('one', 'a long second line'));
    taken();
    stream.columns = 6;
    screen.forget();
    screen.draw(screenText('one', 'a long second line'));
    assert.equal(taken(), '^[2J^[1;1H^[Kone^[2;1H^[Ka lon…');
  });

  it('writes nothing to a terminal that is stopped, and what is missing once it continues', () => {
    const { screen, stream, taken } = screenSetUp();
    stream.writableLength = 1;
    screen.draw(screenText('one'));
    screen.draw(screenText('two'));
    assert.equal(taken(), '');
    stream.writableLength = 0;
    screen.draw(screenText('two'));
    assert.equal(taken(), '^[2J^[1;1H^[Ktwo');
  });

  it('leaves the terminal as it was, once', () => {
    const { screen, taken } = screenSetUp();
    screen.close();
    screen.close();
    assert.equal(taken(), LEAVE.replaceAll(ESC, '^'));
    screen.draw(screenText('late'));
    assert.equal(taken(), '');
  });

  it('assumes 80 by 24 for a terminal without a size', () => {
    const { screen, stream } = screenSetUp();
    stream.columns = 0;
    stream.rows = 0;
    assert.deepEqual(screen.size, { columns: 80, rows: 24 });
  });
});
