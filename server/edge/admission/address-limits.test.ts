import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { parseRequestHead, type RequestHead } from '../../../shared/http1/head.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { AddressCount, AddressLimits, type LimitedConnection } from './address-limits.ts';

const BUSY: LimitedConnection = { isWaiting: false, giveWay: () => assert.fail('a request is under way') };
const HOME = '203.0.113.9';

/** A request as a proxy passes it on for somebody. */
function headFrom(address: string): RequestHead {
  const text = `GET / HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: ${address}\r\n\r\n`;
  const head = parseRequestHead(Buffer.from(text), { target: 100, fields: 100 });
  return typeof head === 'string' ? assert.fail(head) : head;
}

describe('AddressLimits', () => {
  const proxies = new BlockList();
  proxies.addSubnet('10.0.0.0', 8, 'ipv4');
  let clock: FakeClock;
  let limits: AddressLimits;

  beforeEach(() => {
    clock = new FakeClock();
    limits = new AddressLimits({ connections: 3, requests: 0 }, proxies, clock);
  });

  /** A connection that comes from there. @param connection which has a request under way unless it says otherwise */
  function connect(address: string, connection: LimitedConnection = BUSY): AddressCount {
    const peer = { address, proto: 'http', trusted: address.startsWith('10.') } as const;
    return new AddressCount(limits, peer, connection);
  }

  const head = headFrom(HOME);

  it('lets no more connections of one address ask for tunnels than the limit, and does not limit those of others', () => {
    const all = Array.from({ length: 5 }, () => connect(HOME));
    assert.deepEqual(
      all.map((connection) => connection.begin(head)),
      [undefined, undefined, undefined, 'connection', 'connection'],
    );
    assert.equal(connect('203.0.113.10').begin(head), undefined);
    // Those who came first are still served.
    assert.equal(all[0]?.begin(head), undefined);
  });

  it('has those that wait for a next request make room, longest first, before one more is refused', () => {
    const ended: number[] = [];
    const isWaiting = [true, true, false];
    const all = isWaiting.map((each, index) =>
      connect(HOME, { isWaiting: each, giveWay: () => ended.push(index) }),
    );
    for (const connection of all) assert.equal(connection.begin(head), undefined);
    for (const index of [2, 1, 0]) all[index]?.end();
    assert.deepEqual(ended, []);
    const [fourth, fifth, sixth] = [connect(HOME), connect(HOME), connect(HOME)];
    assert.equal(sixth.begin(head), 'connection');
    assert.deepEqual(ended, [1, 0]);
    sixth.leave();
    assert.deepEqual([fourth.begin(head), fifth.begin(head), ended.length], [undefined, undefined, 2]);
    // The one whose next request has begun keeps its place.
    assert.deepEqual([all[2]?.begin(head), connect(HOME).begin(head)], [undefined, 'connection']);
    for (const connection of [...all, fourth, fifth]) connection.leave();
    assert.equal(limits.size, 1);
  });

  it('counts all of a /64 as one address', () => {
    for (let host = 1; host <= 3; host += 1) connect(`2001:db8:1:2::${host}`);
    assert.equal(connect('2001:db8:1:2:ffff::').begin(head), 'connection');
    assert.equal(connect('2001:db8:1:3::1').begin(head), undefined);
  });

  it('lets in a connection that was one too many if others have left or were clients by the time it asks', () => {
    const all = Array.from({ length: 4 }, () => connect(HOME));
    all[0]?.leave();
    assert.equal(all[3]?.begin(head), undefined);
    connect(HOME);
    assert.equal(all[3]?.begin(head), undefined);
  });

  it('does not limit this machine, or those behind a trusted proxy as if they were one visitor', () => {
    for (const address of ['127.0.0.1', '::1', '', '10.0.0.1']) {
      for (let count = 0; count < 10; count += 1) {
        assert.equal(connect(address).begin(headFrom(`1.2.3.4, 198.51.100.${count}`)), undefined);
      }
    }
    // A proxy that does not say where its visitors come from, and a visitor on its machine.
    for (const address of ['10.0.0.2', '127.0.0.1', '::1']) {
      for (let count = 0; count < 10; count += 1)
        assert.equal(connect('10.0.0.1').begin(headFrom(address)), undefined);
    }
  });

  it('counts requests under way behind a trusted proxy, each for its visitor', () => {
    const pooled = Array.from({ length: 5 }, () => connect('10.0.0.1'));
    assert.deepEqual(
      pooled.map((connection) => connection.begin(headFrom(HOME))),
      [undefined, undefined, undefined, 'request', 'request'],
    );
    for (const connection of pooled.slice(3)) connection.end();
    assert.equal(pooled[3]?.begin(headFrom('198.51.100.7')), undefined);
    pooled[0]?.end();
    assert.equal(pooled[4]?.begin(headFrom(HOME)), undefined);
    // A WebSocket is under way until its connection is gone.
    pooled[1]?.leave();
    assert.equal(connect('10.0.0.1').begin(headFrom(HOME)), undefined);
  });

  it('limits requests per second, after a burst of ten times as many', () => {
    limits = new AddressLimits({ connections: 0, requests: 2 }, proxies, clock);
    const connection = connect(HOME);
    const ask = (times: number) => Array.from({ length: times }, () => connection.begin(head));
    assert.deepEqual(ask(21), [...Array.from({ length: 20 }, () => undefined), 'request']);
    clock.advance(500);
    assert.deepEqual(ask(2), [undefined, 'request']);
    assert.equal(connect('203.0.113.10').begin(head), undefined);
    assert.equal(connect('10.0.0.1').begin(head), 'request');
  });

  it('remembers nothing about addresses that have nothing open', () => {
    const all = [connect(HOME), connect(HOME), connect('2001:db8::1'), connect('10.0.0.1')];
    for (const connection of all) connection.begin(headFrom('198.51.100.7'));
    assert.equal(limits.size, 3);
    for (const connection of all) connection.end();
    for (const connection of all) connection.leave();
    for (const connection of all) connection.leave();
    assert.equal(limits.size, 0);
  });

  it('limits nothing if the settings say 0', () => {
    limits = new AddressLimits({ connections: 0, requests: 0 }, proxies, clock);
    for (let count = 0; count < 1000; count += 1) assert.equal(connect(HOME).begin(head), undefined);
  });
});
