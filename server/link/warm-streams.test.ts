import assert from 'node:assert/strict';
import { CloseCode } from '../../shared/control.ts';
import { WARM_IDLE_MS } from '../limits.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import type { StreamHandler } from '../tunnels/stream.ts';
import type { DataStream } from './data-stream.ts';
import { WarmStreams } from './warm-streams.ts';

/** A data socket that only remembers what became of it. */
class FakeData {
  readonly events: (string | number)[] = [];
  handler: StreamHandler | undefined;

  attach(handler: StreamHandler): void {
    this.handler = handler;
  }

  finish(): void {
    this.events.push('finish');
  }

  cut(code: number): void {
    this.events.push(code);
  }

  get stream(): DataStream {
    return this as unknown as DataStream;
  }
}

describe('WarmStreams', () => {
  let clock: FakeClock;
  let warm: WarmStreams;
  let offered: FakeData[];

  beforeEach(() => {
    clock = new FakeClock();
    warm = new WarmStreams(clock);
    offered = [new FakeData(), new FakeData()];
    for (const data of offered) warm.add(data.stream);
  });

  it('are given away once each, oldest first, and from then on have no end of their own', () => {
    assert.deepEqual(
      [warm.take(), warm.take(), warm.take()],
      [...offered.map(({ stream }) => stream), undefined],
    );
    assert.equal(clock.pending, 0);
    clock.advance(WARM_IDLE_MS);
    assert.deepEqual(offered.map(({ events }) => events).flat(), []);
  });

  it('end after 60 s unused', () => {
    clock.advance(WARM_IDLE_MS);
    assert.deepEqual(offered.map(({ events }) => events).flat(), ['finish', 'finish']);
    assert.equal(warm.size, 0);
  });

  it('are cut when they say something before they are asked, and forgotten when they end', () => {
    const [first, second] = offered;
    first?.handler?.onBytes(Buffer.from('HTTP/1.1 200 OK\r\n\r\n'));
    assert.deepEqual(first?.events, [CloseCode.protocolError]);
    for (const data of [first, second]) data?.handler?.onEnded(false);
    assert.deepEqual([warm.size, clock.pending], [0, 0]);
  });
});
