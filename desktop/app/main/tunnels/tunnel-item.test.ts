import assert from 'node:assert/strict';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { emptyLog, TUNNEL } from '../../../testing/fake-platform.ts';
import { DEFAULT_LOCALE, setLocale, t } from '../../messages/translate.ts';
import type { Connection } from '../connection.ts';
import { APPROVAL_WAIT_MS, APPROVALS_MAX } from '../limits.ts';
import { TunnelItem, WaitingVisitors } from './tunnel-item.ts';
import { ShownLog } from './tunnel-log.ts';

describe('a tunnel of the list', () => {
  afterEach(() => setLocale(DEFAULT_LOCALE));

  it('explains its end in the language that the app has by then', () => {
    const item = tunnelItem();
    item.end('stopped', () => t('ended.youStopped'));
    const english = item.status;
    setLocale({ language: 'de', tag: 'de-DE' });
    assert.notDeepEqual(item.status, english);
    assert.deepEqual(item.status, { name: 'ended', reason: 'stopped', why: t('ended.youStopped') });
    assert.equal(item.saved.ended?.why, t('ended.youStopped'));
  });

  it('counts requests with its log, and never fewer than the relay', () => {
    const log = { ...emptyLog(), visits: 5 };
    const item = tunnelItem(log);
    assert.equal(item.requests, 100);
    log.visits = 8;
    assert.equal(item.requests, 103);
    // The relay also counts those that it refuses itself.
    item.update({ ...TUNNEL, requests: 110 });
    assert.equal(item.requests, 110);
    // Another one takes its place.
    item.serve({} as Connection, { ...TUNNEL, requests: 0 });
    assert.equal(item.requests, 0);
  });
});

function tunnelItem(log = emptyLog()): TunnelItem {
  return new TunnelItem(
    {
      key: 'k',
      form: { port: 3000, name: '', ttl: '', idle: false, hostHeader: 'keep' },
      tunnel: { ...TUNNEL, requests: 100 },
      ended: undefined,
    },
    undefined,
    {
      clock: new FakeClock(),
      isExtended: false,
      serve: () => ({ suspend() {}, wake() {}, stop() {} }),
      log: new ShownLog(log),
      onChange() {},
      onKnock() {},
      onEnded() {},
    },
  );
}

function setUp() {
  const clock = { now: 0 };
  return { clock, waiting: new WaitingVisitors(() => clock.now) };
}
const knock = (id: string) => ({ id, address: '192.0.2.7', agent: 'curl/8' });

describe('WaitingVisitors', () => {
  it('keeps them in order of arrival, each once, until they are answered', () => {
    const { waiting } = setUp();
    const added = ['a', 'b', 'c', 'a'].map((id) => waiting.add(knock(id)));
    assert.deepEqual(added, [true, true, true, false]);
    assert.deepEqual(waiting.knocks, [knock('a'), knock('b'), knock('c')]);
    waiting.remove('b');
    assert.deepEqual(waiting.knocks, [knock('a'), knock('c')]);
    waiting.clear();
    assert.deepEqual(waiting.knocks, []);
  });

  it('forgets those that the relay has denied', () => {
    const { clock, waiting } = setUp();
    waiting.add(knock('a'));
    clock.now = 1000;
    waiting.add(knock('b'));
    clock.now = APPROVAL_WAIT_MS - 1;
    assert.equal(waiting.knocks.length, 2);
    clock.now = APPROVAL_WAIT_MS;
    assert.deepEqual(waiting.knocks, [knock('b')]);
  });

  it('has room for as many as a relay queues', () => {
    const { clock, waiting } = setUp();
    for (let count = 0; count < APPROVALS_MAX; count += 1) assert.equal(waiting.add(knock(`${count}`)), true);
    assert.equal(waiting.add(knock('more')), false);
    assert.equal(waiting.knocks.length, APPROVALS_MAX);
    clock.now = APPROVAL_WAIT_MS;
    assert.equal(waiting.add(knock('more')), true);
  });
});
