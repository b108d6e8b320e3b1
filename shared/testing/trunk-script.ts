/**
 * Tests of one end of a trunk as scripts. The test plays the other end.
 *
 * A script is a list of steps, each with what the end does then, after a colon. Actions joined by `&` happen in the same
 * turn, and so do frames joined by `+`. What happens immediately stands before a slash, and what happens by the end of
 * the turn behind it, where `>` begins a frame to the peer. Streams have numbers in the order in which they began.
 *
 *     open; 1 write x: / >open 1, >data 1 x; hear data 1 y + end 1: 1 got y, 1 ended 1000 / >end 1, 0 streams
 */
import assert from 'node:assert/strict';
import { CloseCode } from '../control.ts';
import type { TrunkStream } from '../trunk/trunk-stream.ts';
import { Trunk } from '../trunk/trunk.ts';
import { FakeScheduler } from './fake-turns.ts';
import { checkScript } from './script.ts';
import {
  abort,
  data,
  end,
  eof,
  FakeTrunkSocket,
  FLUSH_MS,
  header,
  joinedTrunkSockets,
  move,
  moved,
  open,
  read,
  window,
} from './trunk-world.ts';

/** By subject and title. */
export type TrunkScripts = Readonly<Record<string, Readonly<Record<string, string>>>>;

/**
 * Declares a test for each script.
 *
 * @param begins which end begins streams
 * @param before steps whose outcome does not matter
 */
export function trunkScripts(scripts: TrunkScripts, begins: 'this' | 'peer', before = '', suffix = ''): void {
  for (const [subject, rows] of Object.entries(scripts))
    for (const [title, script] of Object.entries(rows))
      it(`${subject} ${title}${suffix}`.trim(), () => {
        const turns = new FakeScheduler();
        try {
          play(turns, begins, script, before);
        } finally {
          turns.reset();
        }
      });
}

function play(turns: FakeScheduler, begins: 'this' | 'peer', script: string, before: string): void {
  const player = new TrunkScript(turns, begins);
  for (const step of before.split('; ').filter(Boolean)) player.play(step);
  checkScript(script, (step) => player.play(step));
}

/** A number of bytes, such as 64K, or text. */
function content(text: string): string | number {
  const [, number, unit] = /^(\d+)(K?)$/.exec(text) ?? [];
  return number === undefined ? text : Number(number) * (unit === 'K' ? 1024 : 1);
}

const shown = (bytes: Buffer): string => (bytes.length > 8 ? `${bytes.length} bytes` : bytes.toString());

class TrunkScript {
  readonly #turns: FakeScheduler;
  readonly #socket = new FakeTrunkSocket();
  readonly #trunk: Trunk;
  readonly #streams: TrunkStream[] = [];
  /** the data socket of the first stream, and its other end */
  readonly #own: FakeTrunkSocket;
  readonly #far: FakeTrunkSocket;
  #did: string[] = [];
  #size = 0;
  /** Whether a timer waits. */
  #isWaiting = false;

  constructor(turns: FakeScheduler, begins: 'this' | 'peer') {
    this.#turns = turns;
    this.#trunk = new Trunk(this.#socket, {
      flushMs: FLUSH_MS,
      begins,
      owner: {
        begun: (stream, first) => {
          this.#begin(stream);
          const shownPeers = stream.peers && ` from ${stream.peers}`;
          this.#did.push(`${this.#streams.length} begins with ${shown(first)}${shownPeers}`);
        },
        moveAsked: (_stream, id) => void this.#did.push(`asked to move to ${id}`),
        closed: (code) => void this.#did.push(`trunk closed ${code}`),
      },
    });
    [this.#own, this.#far] = joinedTrunkSockets({ highWater: 16 * 1024 });
    this.#far.attach({
      onStreamData: (piece) => void this.#did.push(`own sent ${shown(piece)}`),
      onStreamDrain() {},
      onStreamEnd: () => void this.#did.push('own sent all'),
      onStreamClose: (code) => void this.#did.push(`own closed ${code}`),
    });
  }

  /** Takes one step. @returns what happened */
  play(step: string): string {
    const wasOpen = this.#socket.closedWith === undefined;
    const writes = this.#socket.writes.length;
    for (const action of step.split(' & ')) this.#act(action);
    const now = this.#did.splice(0);
    do this.#turns.end();
    while (this.#turns.isBusy);
    this.#did.push(...read(this.#socket.take()).map((frame) => `>${frame}`));
    do this.#turns.end();
    while (this.#turns.isBusy);
    while (this.#own.isBusy) this.#own.passOn(Infinity);
    this.#did.push(...read(this.#socket.take()).map((frame) => `>${frame}`));
    if (this.#socket.writes.length > writes + 1)
      this.#did.push(`${this.#socket.writes.length - writes} writes`);
    if (wasOpen && this.#socket.closedWith !== undefined) {
      const { code, reason } = this.#socket.closedWith;
      this.#did.push(`socket closed ${code}`);
      // As long as a Close frame may have it.
      if (code === CloseCode.protocolError) assert.match(reason, /^.{10,123}$/);
    }
    const { size } = this.#trunk;
    if (size !== this.#size) this.#did.push(size === 1 ? '1 stream' : `${size} streams`);
    this.#size = size;
    const isWaiting = this.#turns.timers > 0;
    if (isWaiting !== this.#isWaiting) this.#did.push(isWaiting ? 'waits' : 'waits no longer');
    this.#isWaiting = isWaiting;
    const later = this.#did.splice(0);
    return [now.join(', '), later.length > 0 ? `/ ${later.join(', ')}` : ''].filter(Boolean).join(' ');
  }

  #begin(stream: TrunkStream): void {
    this.#streams.push(stream);
    this.#attach(this.#streams.length);
  }

  /** @param reaction `data|room|end do ACTION` @param mark distinguishes the reports of this handler */
  #attach(number: number, reaction = '', mark = ''): void {
    const [, event, action = ''] = /^(\w+) do (.*)$/.exec(reaction) ?? [];
    const report = (what: string, text: string): void => {
      this.#did.push(`${number}${mark} ${text}`);
      if (event === what) this.#act(action);
    };
    this.#stream(number).attach({
      onStreamData: (piece) => report('data', `got ${shown(piece)}`),
      onStreamDrain: () => report('room', 'has room'),
      onStreamEnd: () => report('all', 'got all'),
      onStreamClose: (code) => report('end', `ended ${code}`),
    });
  }

  #stream(number: number): TrunkStream {
    return this.#streams[number - 1] ?? assert.fail(`no stream ${number}`);
  }

  #act(action: string): void {
    const [, number, verb = '', rest = ''] = /^(?:(\d+) )?(\S+) ?(.*)$/.exec(action) ?? [];
    if (number !== undefined) return this.#actOn(Number(number), verb, rest);
    if (action === 'open bare') this.#streams.push(this.#trunk.open());
    else if (verb === 'open') this.#begin(this.#trunk.open(rest));
    else if (verb === 'hear') this.#socket.receive(Buffer.concat(rest.split(' + ').map(frameOf)));
    else if (verb === 'lose') this.#socket.lose();
    else if (verb === 'retire') this.#trunk.retire();
    else if (verb === 'shut') this.#trunk.close(Number(rest));
    else if (verb === 'answers') this.#trunk.expectAnswers();
    else if (verb === 'pass') this.#turns.pass(Number(rest));
    else if (verb === 'own') this.#actOnOwn(rest);
    else assert.fail(`no action: ${action}`);
  }

  #actOn(number: number, verb: string, rest: string): void {
    const stream = this.#stream(number);
    if (verb === 'write') {
      const bytes = content(rest);
      const room = stream.write(typeof bytes === 'number' ? Buffer.alloc(bytes, '.') : Buffer.from(bytes));
      if (!room) this.#did.push(`${number} must wait`);
    } else if (verb === 'close') stream.close(Number(rest));
    else if (verb === 'end') stream.end();
    else if (verb === 'destroy') stream.destroy();
    else if (verb === 'pause' || verb === 'resume') {
      stream[verb]();
      assert.equal(stream.isPaused, verb === 'pause');
    } else if (verb === 'on') this.#attach(number, rest);
    else if (verb === 'anew') this.#attach(number, '', '*');
    else if (verb === 'probe') this.#probe(stream);
    else if (verb === 'offer') stream.offerMove(rest);
    else if (verb === 'moves') stream.moveTo(this.#own);
    else if (verb === 'fails') stream.moveFailed();
    else assert.fail(`no action on a stream: ${verb}`);
  }

  /** The stream is silent until the connection that it probes is not. */
  #probe(stream: TrunkStream): void {
    const before = this.#own.probes;
    stream.probe();
    const isOwn = this.#own.probes > before;
    this.#did.push(isOwn ? 'probes own' : 'probes trunk');
    assert.equal(stream.isSilent, true);
    (isOwn ? this.#own : this.#socket).isSilent = false;
    assert.equal(stream.isSilent, false);
  }

  #actOnOwn(what: string): void {
    const [verb = '', rest = ''] = what.split(' ');
    if (verb === 'hears' && this.#own.isPaused) this.#did.push('own is paused');
    if (verb === 'hears') this.#own.receive(Buffer.from(rest));
    else if (verb === 'ends') this.#own.endDataFrom();
    else if (verb === 'closes') this.#own.closeFrom(Number(rest));
    else assert.fail(`no action on the data socket: ${what}`);
  }
}

function frameOf(text: string): Buffer {
  const [type = '', id = '', ...more] = text.split(' ');
  const rest = more.join(' ');
  const stream = Number(id);
  if (type === 'open') return open(stream, rest);
  if (type === 'eof') return eof(stream);
  if (type === 'data') return data(stream, content(rest));
  if (type === 'end') return end(stream);
  if (type === 'abort') return abort(stream, Number(rest));
  if (type === 'window') return window(stream, Number(content(rest)));
  if (type === 'move') return move(stream, rest);
  if (type === 'moved') return moved(stream);
  if (type === 'broken') return header(9, 1, 0);
  return assert.fail(`no frame: ${text}`);
}
