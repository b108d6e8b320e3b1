import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { CloseCode } from '../../../shared/control.ts';
import { timersSetBy } from '../../../shared/testing/fake-turns.ts';
import { checkAsyncScript, checkScript } from '../../../shared/testing/script.ts';
import { handlerOf } from '../../../shared/testing/trunk-world.ts';
import type { TrunkStream } from '../../../shared/trunk/trunk-stream.ts';
import { Trunk } from '../../../shared/trunk/trunk.ts';
import { WebSocketByteStream } from '../../../shared/websocket/byte-stream.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { FakeStream } from '../../testing/fake-stream.ts';
import { Deadlines } from '../clock.ts';
import type { Attempt } from '../network/dial.ts';
import { RelayRefusal, RelayUnreachable } from '../relay/errors.ts';
import type { DataHandler, DataSocket, SocketHandler } from './data-dialer.ts';
import {
  RetriedData,
  Trunks,
  TRUNK_FLUSH_MS,
  TRUNK_KEEP_MS,
  TRUNK_RETRY_MS,
  TRUNKS_WANTED,
} from './trunks.ts';

/** Waits until all in-memory messages have arrived. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A requested trunk, and the relay's end of it once it is accepted. */
class Asked {
  /** the codes with which it ended: at most one */
  readonly closed: number[] = [];
  readonly #handler: SocketHandler;
  readonly #onClosed: (code: number) => void;
  #trunk: Trunk | undefined;

  constructor(handler: SocketHandler, onClosed: (code: number) => void = () => {}) {
    this.#handler = handler;
    this.#onClosed = onClosed;
  }

  take(): void {
    const [near, far] = duplexPair();
    const socket = new WebSocketByteStream(far, 'server', Buffer.alloc(0));
    const closed = (code: number): void => {
      this.closed.push(code);
      this.#onClosed(code);
    };
    const owner = {
      begun: () => assert.fail('the client begins none'),
      moveAsked: () => assert.fail('the client asks for no move'),
      closed,
    };
    this.#trunk = new Trunk(socket, { flushMs: 300_000, begins: 'this', owner });
    this.#handler.opened(new WebSocketByteStream(near, 'client', Buffer.alloc(0)));
  }

  refuse(error: RelayRefusal | RelayUnreachable): void {
    this.#handler.failed(error);
  }

  /** A visitor connects. */
  ask(request: string): Visitor {
    const visitor = new Visitor(this.#relayEnd.open());
    visitor.stream.write(Buffer.from(request));
    return visitor;
  }

  /** Streams that the relay's end still has open. */
  get size(): number {
    return this.#relayEnd.size;
  }

  close(code: number): void {
    this.#relayEnd.close(code);
  }

  lose(): void {
    this.#relayEnd.close(CloseCode.abnormal);
  }

  get #relayEnd(): Trunk {
    return this.#trunk ?? assert.fail('it was not taken');
  }
}

/** The relay's end of a visitor's stream. */
class Visitor {
  readonly stream: TrunkStream;
  received = '';
  /** how it ended: at most one code */
  readonly ends: number[] = [];

  constructor(stream: TrunkStream) {
    this.stream = stream;
    stream.attach({
      onStreamData: (piece) => (this.received += piece.toString()),
      onStreamDrain() {},
      onStreamClose: (code) => this.ends.push(code),
    });
  }
}

/** A requested data socket. */
class AskedData {
  isCancelled = false;
  readonly connectionId: string;
  readonly #handler: SocketHandler;

  constructor(connectionId: string, handler: SocketHandler) {
    this.connectionId = connectionId;
    this.#handler = handler;
  }

  /** @returns the relay's end */
  open(): WebSocketByteStream {
    const [near, far] = duplexPair();
    this.#handler.opened(new WebSocketByteStream(near, 'client', Buffer.alloc(0)));
    return new WebSocketByteStream(far, 'server', Buffer.alloc(0));
  }

  refuse(error: RelayRefusal | RelayUnreachable): void {
    this.#handler.failed(error);
  }
}

/** The trunks of a tunnel at a relay that the test plays, and what they do. */
class Played {
  readonly clock = new FakeClock();
  readonly asked: Asked[] = [];
  #did: string[] = [];
  #size = 0;
  readonly trunks = new Trunks({
    clock: this.clock,
    open: (handler) => {
      this.#did.push('asks');
      const number = this.asked.push(
        new Asked(handler, (code) => this.#did.push(`${number} closed ${code}`)),
      );
      return { cancel: () => void this.#did.push(`cancels ${number}`) };
    },
    openData: () => assert.fail('no stream moves'),
    serve: (stream, first) => {
      this.#did.push(`serves ${first.toString()}`);
      stream.attach(handlerOf({}));
    },
    onLost: () => void this.#did.push('lost'),
  });

  /** Takes a step of {@link SCRIPTS}. @returns what happened, and the number of trunks if it has changed */
  async step(step: string): Promise<string> {
    for (const action of step.split(' & ')) this.#act(action);
    await settled();
    const { size } = this.trunks;
    if (size !== this.#size) this.#did.push(`has ${size}`);
    this.#size = size;
    return this.#did.splice(0).join(', ');
  }

  #act(action: string): void {
    const [, number, verb = '', rest = ''] = /^(?:(\d) )?(\S+) ?(.*)$/.exec(action) ?? [];
    const one = this.asked[Number(number) - 1];
    if (verb.startsWith('+')) this.clock.advance(Number(verb.slice(1)));
    else if (one === undefined)
      this.trunks[verb as 'start' | 'visited' | 'renew' | 'pause' | 'leave' | 'stop']();
    else if (verb === 'take') one.take();
    else if (verb === 'refuse') one.refuse(new RelayRefusal(Number(rest), 'no'));
    else if (verb === 'unreachable') one.refuse(new RelayUnreachable('no data connection'));
    else if (verb === 'close') one.close(Number(rest));
    else if (verb === 'visit') one.ask(rest);
    else assert.fail(action);
  }
}

/**
 * Steps, each with what happens then: calls of the trunks, `+MS` of time, and what the relay does to the trunk that was
 * asked for with that number. Actions joined by `&` happen together.
 */
const SCRIPTS: Readonly<Record<string, string>> = {
  'open one when the tunnel is online, and a second with the first visitor': `
    visited; start: asks, has 1; 1 take & 1 visit one: asks, serves one, has 2;
    2 take & 2 visit two & visited: serves two`,
  'open two for announced visitors as well': `
    start: asks, has 1; visited: asks, has 2`,
  'open as many as the relay accepts, until the next control connection': `
    start: asks, has 1; visited: asks, has 2; 1 take; 2 refuse 429: has 1; +${10 * TRUNK_RETRY_MS};
    visited & visited; leave; start: asks, has 2; visited: asks, has 3`,
  'try again if the relay accepted none at all, because the previous ones still existed': `
    start: asks, has 1; 1 refuse 429: has 0; visited; +${TRUNK_RETRY_MS}; visited: asks, has 1`,
  ...Object.fromEntries(
    [400, 401, 404, 426].map((status) => [
      `open none for a relay that answers ${status}, until the next control connection`,
      `start: asks, has 1; 1 refuse ${status}: has 0; +${10 * TRUNK_RETRY_MS}; visited; leave; start: asks, has 1`,
    ]),
  ),
  'wait 5 s before another request after the relay had no room': `
    start: asks, has 1; 1 refuse 503: has 0; +${TRUNK_RETRY_MS - 1}; visited; +1; visited: asks, asks, has 2`,
  'wait 5 s before another request after the relay was not reached': `
    start: asks, has 1; 1 unreachable: has 0; +${TRUNK_RETRY_MS - 1}; visited; +1; visited: asks, asks, has 2`,
  'wait 5 s before another request after the relay has lost one': `
    start: asks, has 1; 1 take & 1 close 1006: 1 closed 1006, lost, has 0; +${TRUNK_RETRY_MS - 1}; visited;
    +1; visited: asks, asks, has 2`,
  'go back to one when the relay closes unused ones, and to none after a long idle time': `
    start: asks, has 1; visited: asks, has 2; 1 take & 1 close 1000 & 2 take & 2 close 1000: 1 closed 1000,
    2 closed 1000, asks, has 1; +${TRUNK_KEEP_MS - 1}; 3 take & 3 close 1000: 3 closed 1000, asks; +1;
    4 take & 4 close 1000: 4 closed 1000, has 0; visited: asks, asks, has 2`,
  'do not keep asking a relay that closes each immediately': `
    start: asks, has 1; 1 take & 1 close 1000: 1 closed 1000, asks; +${TRUNK_RETRY_MS - 1};
    2 take & 2 close 1000: 2 closed 1000, has 0; +1; visited: asks, asks, has 2;
    3 take & 3 close 1000 & 4 take & 4 close 1000: 3 closed 1000, 4 closed 1000, asks, has 1`,
  'open new ones when another control connection takes over, while the previous ones keep serving': `
    start: asks, has 1; 1 take; renew: asks, has 2; 1 visit old: asks, serves old, has 3;
    2 take & 1 close 1000: 1 closed 1000, has 2`,
  'keep serving once the relay shuts down, and open no further trunks': `
    start: asks, has 1; 1 take; pause; 1 visit late: serves late; 1 close 1000: 1 closed 1000, has 0`,
  'keep serving once the control connection has ended, and open no further trunks': `
    start: asks, has 1; 1 take; leave; 1 visit late: serves late; 1 close 1000: 1 closed 1000, has 0`,
  'report one that breaks, unless it belongs to an earlier control connection or the relay closed it': `
    start: asks, has 1; 1 take; 1 close 1001: 1 closed 1001, has 0; renew: asks, has 1; 2 take;
    2 close 1006: 2 closed 1006, lost, has 0; renew: asks, has 1; 3 take; renew: asks, has 2;
    3 close 1006: 3 closed 1006, has 1`,
  'are cut when the tunnel has ended, including previous and requested ones': `
    start: asks, has 1; 1 take; 1 visit old: asks, serves old, has 2; renew: asks, has 3; 3 take;
    visited: asks, has 4; stop: cancels 2, cancels 4, 1 closed 1006, 3 closed 1006, has 0; visited`,
  'do not count against the next control connection when they fail late': `
    start: asks, has 1; renew: asks, has 2; 1 refuse 404: has 1; visited: asks, has 2`,
};

describe('Trunks', () => {
  for (const [title, script] of Object.entries(SCRIPTS))
    it(title, async () => {
      const played = new Played();
      await checkAsyncScript(script, (step) => played.step(step));
      played.trunks.stop();
    });

  let clock: FakeClock;
  let asked: Asked[];
  let askedData: AskedData[];
  /** the streams that visitors are served over, and their received data */
  let streams: DataSocket[];
  let received: string;
  let ends: number[];
  let trunks: Trunks;

  beforeEach(() => {
    clock = new FakeClock();
    asked = [];
    askedData = [];
    streams = [];
    received = '';
    ends = [];
    trunks = new Trunks({
      clock,
      open(handler) {
        const one = new Asked(handler);
        asked.push(one);
        return { cancel() {} };
      },
      openData(connectionId, handler) {
        const one = new AskedData(connectionId, handler);
        askedData.push(one);
        return { cancel: () => (one.isCancelled = true) };
      },
      serve(stream) {
        streams.push(stream);
        stream.attach({
          onStreamData: (piece) => (received += piece.toString()),
          onStreamDrain() {},
          onStreamClose: (code) => ends.push(code),
        });
      },
      onLost() {},
    });
  });

  function at(index: number): Asked {
    return asked.at(index) ?? assert.fail('fewer were asked for');
  }

  it('keep the remaining bytes of an ended stream for 5 min for a relay that reads none of them', async () => {
    trunks.start();
    at(0).take();
    const visitor = at(0).ask('GET');
    visitor.stream.pause();
    await settled();
    const [stream] = streams;
    stream?.write(Buffer.alloc(2 * 64 * 1024));
    await settled();
    const timers = timersSetBy(() => stream?.close(CloseCode.normal));
    await settled();
    assert.deepEqual(
      timers.map(({ ms }) => ms),
      [TRUNK_FLUSH_MS],
    );
    timers[0]?.callback();
    visitor.stream.resume();
    await settled();
    assert.deepEqual(visitor.ends, [CloseCode.goingAway]);
  });

  describe('with a stream that the relay asks to move', () => {
    let visitor: Visitor;
    let data: AskedData;
    let stream: DataSocket;

    beforeEach(async () => {
      trunks.start();
      at(0).take();
      visitor = at(0).ask('GET /large');
      visitor.stream.offerMove('the id');
      await settled();
      data = askedData[0] ?? assert.fail('no data socket was asked for');
      stream = streams[0] ?? assert.fail('nobody was served');
    });

    it('open the data socket with the id that the relay gave, and continue there', async () => {
      assert.deepEqual([askedData.length, data.connectionId], [1, 'the id']);
      stream.write(Buffer.from('a'));
      visitor.stream.write(Buffer.from('1'));
      visitor.stream.moveTo(data.open());
      stream.write(Buffer.from('b'));
      visitor.stream.write(Buffer.from('2'));
      await settled();
      assert.deepEqual([at(0).size, visitor.received, received], [0, 'ab', '12']);
      // The trunk is no longer needed for it.
      at(0).lose();
      stream.write(Buffer.from('c'));
      await settled();
      assert.deepEqual([visitor.received, visitor.ends, ends], ['abc', [], []]);
      stream.close(CloseCode.normal);
      await settled();
      assert.deepEqual(visitor.ends, [CloseCode.normal]);
    });

    for (const error of [
      new RelayRefusal(404, 'connection not found'),
      new RelayUnreachable('no data connection'),
    ]) {
      it(`keep the stream on the trunk without one: ${error.message}`, async () => {
        data.refuse(error);
        stream.write(Buffer.from('a'));
        visitor.stream.write(Buffer.from('1'));
        await settled();
        assert.deepEqual([visitor.received, received, at(0).size], ['a', '1', 1]);
        stream.close(CloseCode.normal);
        await settled();
        assert.deepEqual([visitor.ends, at(0).closed], [[CloseCode.normal], []]);
        trunks.visited();
        // This failure is no reason to stop opening trunks.
        assert.equal(asked.length, TRUNKS_WANTED);
      });
    }

    it('break the stream off if the relay has moved it and they cannot', async () => {
      const [near] = duplexPair();
      visitor.stream.moveTo(new WebSocketByteStream(near, 'server', Buffer.alloc(0)));
      await settled();
      assert.deepEqual(ends, []);
      data.refuse(new RelayUnreachable('no data connection'));
      await settled();
      assert.deepEqual([ends, visitor.ends], [[CloseCode.abnormal], [CloseCode.goingAway]]);
      assert.deepEqual([at(0).size, at(0).closed], [0, []]);
    });

    it('close an open data socket when the stream has ended', async () => {
      visitor.stream.destroy();
      await settled();
      const closed: number[] = [];
      data.open().attach(handlerOf({ onStreamClose: (code) => closed.push(code) }));
      await settled();
      assert.deepEqual([closed, ends], [[CloseCode.goingAway], [CloseCode.goingAway]]);
    });

    for (const [who, end] of [
      ['the visitor', () => visitor.stream.destroy()],
      ['the client', () => stream.close(CloseCode.normal)],
    ] as const)
      it(`open no data socket once ${who} has ended the stream`, async () => {
        end();
        await settled();
        assert.equal(data.isCancelled, true);
      });

    it('open no data socket once the trunk has ended', async () => {
      for (const end of [
        () => trunks.stop(),
        () => at(0).lose(),
        () => at(0).close(CloseCode.tunnelClosed),
      ]) {
        end();
        await settled();
        assert.equal(askedData.at(-1)?.isCancelled, true);
        trunks.leave();
        asked.length = 0;
        trunks.start();
        at(0).take();
        at(0).ask('GET /next').stream.offerMove('next id');
        await settled();
        assert.deepEqual([askedData.at(-1)?.connectionId, askedData.at(-1)?.isCancelled], ['next id', false]);
      }
    });

    it('cancel nothing that has already ended', async () => {
      visitor.stream.moveTo(data.open());
      visitor = at(0).ask('GET /other');
      visitor.stream.offerMove('other id');
      await settled();
      askedData[1]?.refuse(new RelayRefusal(404, 'connection not found'));
      at(0).lose();
      await settled();
      assert.deepEqual(
        askedData.map(({ isCancelled }) => isCancelled),
        [false, false],
      );
    });
  });
});

/** A data socket that is tried again, at a relay that the test plays. */
class PlayedData {
  readonly #clock = new FakeClock();
  readonly #deadlines = new Deadlines(this.#clock);
  readonly #handlers: DataHandler[] = [];
  #did: string[] = [];
  #attempt: Attempt | undefined;
  readonly #data = new RetriedData(
    {
      open: (id, handler) => {
        this.#did.push(`try ${id}`);
        this.#handlers.push(handler);
        return { cancel: () => void this.#did.push('cancelled') };
      },
    },
    this.#deadlines,
  );

  /** @returns what happened, and whether it waits */
  step(step: string): string {
    const handler = this.#handlers.at(-1);
    if (step.startsWith('+')) this.#clock.advance(Number(step));
    else if (step === 'cancel') this.#attempt?.cancel();
    else if (step === 'opened') handler?.opened(new FakeStream());
    else if (step === 'away') handler?.failed(new RelayUnreachable('no connection'));
    else if (step !== 'open') handler?.failed(new RelayRefusal(Number(step), `status ${step}`));
    else
      this.#attempt = this.#data.open('id', {
        opened: () => this.#did.push('open'),
        failed: ({ message }) => this.#did.push(message),
      });
    return [...this.#did.splice(0), ...(this.#deadlines.size > 0 ? ['wait'] : [])].join(', ');
  }
}

describe('RetriedData', () => {
  const scripts = {
    ...Object.fromEntries(
      ['away', '502', '429'].map((problem) => [
        `tries again every 250 ms after ${problem}`,
        `open: try id; ${problem}: wait; +250: try id; ${problem}: wait; +250: try id; opened: open`,
      ]),
    ),
    ...Object.fromEntries(
      [400, 401, 404].map((status) => [
        `accepts ${status} as the relay's answer about the visitor`,
        `open: try id; ${status}: status ${status}; +1000`,
      ]),
    ),
    'gives up after 10 s, when the relay has given up the visitor': `
      open: try id; ${'away: wait; +250: try id; '.repeat(39)} away: no connection; +1000`,
    'stops trying when cancelled, also between tries': 'open: try id; away: wait; cancel: cancelled; +1000',
    'cancels the try under way': 'open: try id; cancel: cancelled',
  };
  for (const [what, script] of Object.entries(scripts))
    it(what, () => {
      const played = new PlayedData();
      checkScript(script, (step) => played.step(step));
    });
});
