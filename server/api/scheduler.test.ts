import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { FakeClock } from '../testing/fake-clock.ts';
import type { ByteStream } from '../tunnels/stream.ts';
import {
  API_COST_FACTOR,
  API_LOOP_SHARE,
  InProcessApi,
  LoopShare,
  RequestScheduler,
  VISITORS_RECENT_MS,
} from './scheduler.ts';

/** ms that a request in these tests takes before it waits for the store. */
const COST_MS = 1;

describe('Turns', () => {
  let clock: FakeClock;
  /** what is to happen in the next turn of the loop */
  let coming: (() => void)[];
  let work: number;
  /** the requests that have begun, in order */
  let begun: string[];
  let turns: RequestScheduler;

  beforeEach(() => {
    clock = new FakeClock();
    coming = [];
    work = 0;
    begun = [];
    const nextTurn = (first: () => void, second: () => void) => void coming.push(first, second);
    turns = new RequestScheduler({ clock, visitorsWork: () => work, nextTurn });
    // What visitors have used before anybody looks.
    clock.advance(VISITORS_RECENT_MS);
  });

  function ask(group: string): () => void {
    return turns.take(group, () => {
      begun.push(group);
      clock.advance(COST_MS);
    });
  }

  /** Lets the loop turn once. */
  function turn(): void {
    for (const step of coming.splice(0)) step();
  }

  /** Lets time pass while visitors are always, or never, waiting for work. */
  function run(ms: number, visitors: boolean): void {
    const end = clock.monotonic() + ms;
    while (clock.monotonic() < end) {
      if (visitors) work += 1;
      const before = clock.monotonic();
      turn();
      if (clock.monotonic() === before) clock.advance(1);
    }
  }

  it('begins one request per iteration of the loop, the first after the call has returned', () => {
    for (let asked = 0; asked < 3; asked += 1) ask('a');
    assert.deepEqual(begun, []);
    turn();
    assert.equal(begun.length, 1);
    turn();
    turn();
    assert.equal(begun.length, 3);
    turn();
    assert.deepEqual([begun.length, coming.length, clock.pending], [3, 0, 0]);
  });

  it('runs at full speed while visitors have no work', () => {
    for (let asked = 0; asked < 1000; asked += 1) ask('a');
    run(1000 * COST_MS, false);
    assert.equal(begun.length, 1000);
  });

  it('leaves visitors three quarters of the loop while they have work, and full speed to the API afterwards', () => {
    for (let asked = 0; asked < 2000; asked += 1) ask('a');
    work += 1;
    run(1000, true);
    const share = (begun.length * COST_MS * API_COST_FACTOR) / 1000;
    assert.ok(share <= API_LOOP_SHARE * 1.05 && share > API_LOOP_SHARE * 0.8, `${share}`);
    const before = begun.length;
    run(VISITORS_RECENT_MS + 1000, false);
    assert.ok(begun.length - before > 900, `${begun.length - before}`);
  });

  it('serves another account after one request of an account that floods it', () => {
    for (let asked = 0; asked < 1000; asked += 1) ask('flood');
    ask('other');
    turn();
    turn();
    assert.deepEqual(begun, ['flood', 'other']);
  });

  it('lets started requests continue in turn', async () => {
    ask('a');
    const next = turns.next('account').then(() => begun.push('next'));
    turn();
    turn();
    await next;
    assert.deepEqual(begun, ['a', 'next']);
  });

  it('begins no request of a client that has left', () => {
    ask('a');
    ask('b')();
    turn();
    turn();
    assert.deepEqual(begun, ['a']);
  });
});

describe('LoopShare', () => {
  it('neither delays nor counts what begins while the loop is otherwise idle', () => {
    const share = new LoopShare(0.25, 1);
    for (let now = 0; now < 100; now += 1) {
      assert.equal(share.wait(now, false), 0);
      share.spend(10);
    }
    assert.equal(share.wait(1000, true), 0);
  });

  it('pauses three ms for each ms of work while the loop is in demand', () => {
    const share = new LoopShare(0.25, 1);
    assert.equal(share.wait(0, true), 0);
    share.spend(2);
    assert.equal(share.wait(2, true), 2);
    assert.equal(share.wait(4, true), 1);
    assert.equal(share.wait(4.1, true), 0);
  });

  it('accumulates only the burst after a long idle time', () => {
    const share = new LoopShare(0.25, 1);
    share.wait(0, true);
    assert.equal(share.wait(1e9, true), 0);
    share.spend(1.5);
    assert.ok(share.wait(1e9, true) > 0);
  });

  it('allows at most the share, a burst and one piece, however long the pieces take', () => {
    const pieces = fc.array(fc.double({ min: 0.01, max: 20, noNaN: true }), { minLength: 1, maxLength: 100 });
    fc.assert(
      fc.property(pieces, (costs) => {
        const share = new LoopShare(0.25, 1);
        let [now, spent] = [0, 0];
        for (const cost of costs) {
          for (let wait = share.wait(now, true); wait > 0; wait = share.wait(now, true)) now += wait;
          assert.ok(spent <= now * 0.25 + 1 + 1e-6, `${spent} ms of ${now}`);
          share.spend(cost);
          spent += cost;
          now += cost;
        }
      }),
    );
  });
});

describe('InProcessApi', () => {
  const GET = Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const turns: string[] = [];
  const inTurn = {
    take(group: string, begin: () => void) {
      turns.push(group);
      begin();
      return () => undefined;
    },
  };

  it('serves one request on each stream, so that the next one also waits for the scheduler', async () => {
    const api = new InProcessApi((_request, response) => response.end('answer'), inTurn);
    const text = await new Promise<string>((resolve) => {
      let received = '';
      const onBytes = (piece: Buffer) => {
        received += piece.toString('latin1');
        if (received.includes('answer')) resolve(received);
      };
      const opened = (stream: ByteStream) => {
        stream.attach({ onBytes, onRoom() {}, onEnded() {} });
        stream.write(GET);
      };
      api.dial({ opened, failed() {} }, 'group');
    });
    assert.match(text, /^HTTP\/1\.1 200 [^]*\r\nConnection: close\r\n/);
    assert.deepEqual(turns, ['group']);
  });

  it('notifies a request in progress that its visitor is gone, and forgets it', async () => {
    const closed = new Promise<boolean>((resolve) => {
      let stream: ByteStream | undefined;
      const opened = (given: ByteStream) => {
        stream = given;
        stream.attach({ onBytes() {}, onRoom() {}, onEnded: () => assert.fail('told of its own end') });
        stream.write(GET);
      };
      const api = new InProcessApi((request, response) => {
        response.once('close', () => resolve(request.socket.destroyed));
        stream?.abort();
      }, inTurn);
      api.dial({ opened, failed() {} }, 'group');
    });
    assert.equal(await closed, true);
  });
});
