import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { parseRequestHead, type RequestHead } from '../../shared/http1/head.ts';
import { networkOf } from '../address-network.ts';
import { type CountListener, type Counts, NO_COUNTS } from '../shared-counts.ts';
import { onlyTunnel } from '../testing/edge-fixture.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import {
  AddressCount,
  StreamCount,
  AddressLimits,
  ConnectionLimiter,
  type LimitedConnection,
  type SlotHolder,
  Slot,
  ConnectionSlots,
  visitorAddress,
} from './connection-limiter.ts';
import { HostResolver, type ParsedRequest, parseRequest } from './route.ts';

const PROXY = { address: '10.0.0.1', proto: 'http', trusted: true } as const;

describe('ConnectionLimiter', () => {
  const proxies = new BlockList();
  proxies.addAddress(PROXY.address);
  const tunnel = {
    slug: 'abc',
    account: { id: 'one', subdomain: null },
    terms: { wildcard: false },
  } as unknown as LiveTunnel;
  let slots: ConnectionSlots;
  let addresses: AddressLimits;

  beforeEach(() => {
    slots = new ConnectionSlots({ visitors: 10, newcomers: 10 });
    addresses = new AddressLimits({ connections: 2, requests: 0, streams: 10 }, proxies, new FakeClock());
  });

  function connect(): ConnectionLimiter {
    const occupant = { isWaiting: true, giveWay() {}, destroy() {} };
    return new ConnectionLimiter(new Slot(slots, occupant), new AddressCount(addresses, PROXY, occupant));
  }

  function plan(host = 'abc.localhost'): ParsedRequest {
    const decided = parseRequest(
      Buffer.from(`GET / HTTP/1.1\r\nHost: ${host}\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n`),
      {
        hosts: new HostResolver({ own: 'localhost', tunnel: 'localhost', service: 'localhost' }),
        ...onlyTunnel(tunnel),
        pathForm: true,
        trustedProxies: proxies,
      },
    );
    assert.ok(typeof decided === 'object');
    return decided;
  }

  it('counts a request through a trusted proxy for its visitor while it is in progress, and no longer', () => {
    for (let count = 0; count < 3; count += 1) {
      const connection = connect();
      assert.equal(connection.begin(plan(), false), undefined);
      connection.end();
    }
    assert.equal(addresses.size, 0);
    const [one, two, three] = [connect(), connect(), connect()];
    for (const connection of [one, two]) assert.equal(connection.begin(plan(), false), undefined);
    assert.deepEqual(three.begin(plan(), false), { code: 'too-many', ends: false });
    three.end();
    one.leave();
    assert.equal(three.begin(plan(), false), undefined);
  });

  it('does not limit requests to the API', () => {
    for (let count = 0; count < 3; count += 1)
      assert.equal(connect().begin(plan('localhost'), false), undefined);
    assert.equal(addresses.size, 0);
  });

  it('assigns no slot if the relay responds instead of the tunnel', () => {
    assert.equal(connect().begin(plan(), true), undefined);
    assert.equal(slots.busy, 0);
    assert.equal(connect().begin(plan(), false), undefined);
    assert.equal(slots.busy, 1);
  });
});

/** A connection that only records what happens to it. */
class Connection implements SlotHolder {
  readonly place: Slot;
  fate: 'stays' | 'gave way' | 'cut' = 'stays';

  constructor(slots: ConnectionSlots) {
    this.place = new Slot(slots, this);
  }

  giveWay(): void {
    this.fate = 'gave way';
  }

  destroy(): void {
    this.fate = 'cut';
  }
}

describe('ConnectionSlots', () => {
  let slots: ConnectionSlots;

  beforeEach(() => {
    slots = new ConnectionSlots({ visitors: 8, newcomers: 3 });
  });

  /** Connections with a request to a tunnel in progress. */
  function busy(count: number, account?: string): Connection[] {
    return Array.from({ length: count }, () => {
      const connection = new Connection(slots);
      assert.equal(connection.place.take(account), undefined);
      return connection;
    });
  }

  it('takes a slot back from the connection that has waited longest for its next request', () => {
    const [first, second] = busy(8);
    second?.place.rest();
    first?.place.rest();
    busy(1);
    assert.deepEqual([first?.fate, second?.fate], ['stays', 'gave way']);
    assert.equal(first?.place.take(undefined), undefined);
    assert.equal(second?.place.take(undefined), 'full');
    assert.equal(first?.fate, 'stays');
  });

  it('parks a connection whose streams have ended on a free slot, or without one', () => {
    busy(6);
    const parked = Array.from({ length: 3 }, () => new Connection(slots));
    for (const { place } of parked) place.leave();
    for (const { place } of parked) place.park();
    assert.deepEqual([slots.idle.size, slots.newcomers.size], [2, 1]);
  });

  it('assigns no slot while requests are in progress on all of them', () => {
    busy(8);
    assert.equal(new Connection(slots).place.take(undefined), 'full');
  });

  it('gives an account at most three quarters of the slots, whatever its plan, and the next one three quarters of the rest', () => {
    const [one] = busy(6, 'one');
    assert.equal(new Connection(slots).place.take('one'), 'share');
    busy(2, 'two');
    one?.place.rest();
    assert.equal(one?.place.take('one'), 'share');
    assert.equal(one?.place.take('three'), undefined);
    slots = new ConnectionSlots({ visitors: 16, newcomers: 3 });
    busy(12, 'one');
    busy(3, 'two');
    assert.equal(new Connection(slots).place.take('two'), 'share');
    busy(1, 'three');
  });

  it('cuts the connection that has been inactive longest if too many have no slot', () => {
    const first = new Connection(slots);
    const others = [new Connection(slots), new Connection(slots)];
    first.place.stand();
    others.push(new Connection(slots));
    assert.deepEqual(
      [first, ...others].map(({ fate }) => fate),
      ['stays', 'cut', 'stays', 'stays'],
    );
    // A connection that gives its slot back is one of them.
    const [seated] = busy(1);
    seated?.place.stand();
    others.push(new Connection(slots));
    assert.deepEqual(
      [first, seated, ...others].map((one) => one?.fate),
      ['cut', 'stays', 'cut', 'cut', 'stays', 'stays'],
    );
  });

  it('forgets connections that have closed', () => {
    const [waits, resting, standing] = [new Connection(slots), ...busy(2, 'one')];
    resting?.place.rest();
    standing?.place.stand();
    const gone = [...busy(3, 'one'), waits, resting, standing];
    for (const connection of gone) connection?.place.leave();
    for (const connection of gone) connection?.place.leave();
    assert.deepEqual([slots.busy, slots.idle.size, slots.newcomers.size, slots.byAccount.size], [0, 0, 0, 0]);
  });
});

const BUSY: LimitedConnection = { isWaiting: false, giveWay: () => assert.fail('a request is under way') };
const HOME = '203.0.113.9';

/** A request as forwarded by a proxy. */
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
    limits = new AddressLimits({ connections: 3, requests: 0, streams: 10 }, proxies, clock);
  });

  /** A connection from that address. @param connection has a request in progress unless it says otherwise */
  function connect(address: string, connection: LimitedConnection = BUSY): AddressCount {
    const peer = { address, proto: 'http', trusted: address.startsWith('10.') } as const;
    return new AddressCount(limits, peer, connection);
  }

  const head = headFrom(HOME);

  it('limits how many connections of one address ask for tunnels, without affecting other addresses', () => {
    const all = Array.from({ length: 5 }, () => connect(HOME));
    assert.deepEqual(
      all.map((connection) => connection.begin(head)),
      [undefined, undefined, undefined, 'connection', 'connection'],
    );
    assert.equal(connect('203.0.113.10').begin(head), undefined);
    // The earlier connections are still served.
    assert.equal(all[0]?.begin(head), undefined);
  });

  it('closes idle connections of the address, longest idle first, before it refuses one', () => {
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
    // A connection whose next request has begun is kept.
    assert.deepEqual([all[2]?.begin(head), connect(HOME).begin(head)], [undefined, 'connection']);
    for (const connection of [...all, fourth, fifth]) connection.leave();
    assert.equal(limits.size, 1);
  });

  it('closes one for another process of the relay: the longest idle one whose next request has not begun', () => {
    const listeners = new Map<string, CountListener>();
    const counts: Counts = { ...NO_COUNTS, listen: (kind, listener) => listeners.set(kind, listener) };
    limits = new AddressLimits({ connections: 3, requests: 0, streams: 10 }, proxies, clock, counts);
    const ended: number[] = [];
    for (const [index, isWaiting] of [false, true, true].entries()) {
      const connection = connect(HOME, { isWaiting, giveWay: () => ended.push(index) });
      connection.begin(head);
      connection.end();
    }
    listeners.get('address')?.giveWay?.(networkOf(HOME));
    assert.deepEqual(ended, [1]);
  });

  it('limits the streams of one address together with its connections, and refuses only the streams beyond', () => {
    const carrier = connect(HOME);
    const streams = Array.from({ length: 12 }, () => new StreamCount(limits, carrier));
    const results = streams.map((stream) => stream.begin(head));
    // Of ten, one is the connection itself, and the first stream is always served.
    assert.deepEqual(results, [...Array<undefined>(10).fill(undefined), 'request', 'request']);
    streams[0]?.end();
    streams[0]?.leave();
    assert.equal(streams[11]?.begin(head), undefined);
    carrier.leave();
    for (const stream of streams) stream.leave();
    assert.equal(limits.size, 0);
  });

  it('refuses the streams of a connection that is one too many', () => {
    const all = Array.from({ length: 4 }, () => connect(HOME));
    const [, , , excess] = all;
    assert.ok(excess !== undefined);
    assert.equal(new StreamCount(limits, excess).begin(head), 'request');
  });

  it('counts a whole /64 as one address', () => {
    for (let host = 1; host <= 3; host += 1) connect(`2001:db8:1:2::${host}`);
    assert.equal(connect('2001:db8:1:2:ffff::').begin(head), 'connection');
    assert.equal(connect('2001:db8:1:3::1').begin(head), undefined);
  });

  it('accepts an excess connection if others have closed, or turned out to be clients, by the time of its request', () => {
    const all = Array.from({ length: 4 }, () => connect(HOME));
    all[0]?.leave();
    assert.equal(all[3]?.begin(head), undefined);
    connect(HOME);
    assert.equal(all[3]?.begin(head), undefined);
  });

  it('does not limit this machine, and does not treat all visitors behind a trusted proxy as one', () => {
    for (const address of ['127.0.0.1', '::1', '', '10.0.0.1']) {
      for (let count = 0; count < 10; count += 1) {
        assert.equal(connect(address).begin(headFrom(`1.2.3.4, 198.51.100.${count}`)), undefined);
      }
    }
    // A proxy that does not name its visitors, and a visitor on the proxy's machine.
    for (const address of ['10.0.0.2', '127.0.0.1', '::1']) {
      for (let count = 0; count < 10; count += 1)
        assert.equal(connect('10.0.0.1').begin(headFrom(address)), undefined);
    }
  });

  it('counts requests in progress behind a trusted proxy for their visitors', () => {
    const pooled = Array.from({ length: 5 }, () => connect('10.0.0.1'));
    assert.deepEqual(
      pooled.map((connection) => connection.begin(headFrom(HOME))),
      [undefined, undefined, undefined, 'request', 'request'],
    );
    for (const connection of pooled.slice(3)) connection.end();
    assert.equal(pooled[3]?.begin(headFrom('198.51.100.7')), undefined);
    pooled[0]?.end();
    assert.equal(pooled[4]?.begin(headFrom(HOME)), undefined);
    // A WebSocket is in progress until its connection is closed.
    pooled[1]?.leave();
    assert.equal(connect('10.0.0.1').begin(headFrom(HOME)), undefined);
  });

  it('limits requests per second, after a burst of ten times as many', () => {
    limits = new AddressLimits({ connections: 0, requests: 2, streams: 10 }, proxies, clock);
    const connection = connect(HOME);
    const ask = (times: number) => Array.from({ length: times }, () => connection.begin(head));
    assert.deepEqual(ask(21), [...Array.from({ length: 20 }, () => undefined), 'request']);
    clock.advance(500);
    assert.deepEqual(ask(2), [undefined, 'request']);
    assert.equal(connect('203.0.113.10').begin(head), undefined);
    assert.equal(connect('10.0.0.1').begin(head), 'request');
  });

  it('forgets addresses without open connections', () => {
    const all = [connect(HOME), connect(HOME), connect('2001:db8::1'), connect('10.0.0.1')];
    for (const connection of all) connection.begin(headFrom('198.51.100.7'));
    assert.equal(limits.size, 3);
    for (const connection of all) connection.end();
    for (const connection of all) connection.leave();
    for (const connection of all) connection.leave();
    assert.equal(limits.size, 0);
  });

  it('limits nothing if the settings are 0', () => {
    limits = new AddressLimits({ connections: 0, requests: 0, streams: 10 }, proxies, clock);
    for (let count = 0; count < 1000; count += 1) assert.equal(connect(HOME).begin(head), undefined);
  });
});

const visitorAddressProxies = new BlockList();
visitorAddressProxies.addSubnet('10.0.0.0', 8, 'ipv4');

function from(peer: string, ...lists: string[]): string {
  const lines = lists.map((list) => `X-Forwarded-For: ${list}\r\n`).join('');
  const head = parseRequestHead(Buffer.from(`GET / HTTP/1.1\r\n${lines}\r\n`), { target: 9, fields: 9 });
  assert.ok(typeof head === 'object');
  const trusted = visitorAddressProxies.check(peer, 'ipv4');
  return visitorAddress(head.fields, { address: peer, proto: 'http', trusted }, visitorAddressProxies);
}

describe('visitorAddress', () => {
  it('is the peer, unless that is a trusted proxy', () => {
    assert.equal(from('192.0.2.1', '198.51.100.9'), '192.0.2.1');
    assert.equal(from('10.0.0.1'), '10.0.0.1');
  });

  it('is the last one that is not a trusted proxy, because the visitor may have invented those before it', () => {
    assert.equal(from('10.0.0.1', '1.1.1.1, 198.51.100.9'), '198.51.100.9');
    assert.equal(from('10.0.0.1', '1.1.1.1', '198.51.100.9,10.0.0.2'), '198.51.100.9');
    assert.equal(from('10.0.0.1', '::ffff:198.51.100.9'), '198.51.100.9');
    assert.equal(from('10.0.0.1', '2001:db8::1, 10.0.0.2'), '2001:db8::1');
  });

  for (const [entry, address] of [
    ['198.51.100.9:51234', '198.51.100.9'],
    ['"198.51.100.9:51234"', '198.51.100.9'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['"[2001:db8::1]"', '2001:db8::1'],
    ['[::ffff:198.51.100.9]:443', '198.51.100.9'],
    ['2001:db8::1:443', '2001:db8::1:443'],
    ['198.51.100.9:', '10.0.0.1'],
    ['198.51.100.9:x', '10.0.0.1'],
    ['[198.51.100.9:80', '10.0.0.1'],
    ['"198.51.100.9', '10.0.0.1'],
  ] as const)
    it(`is ${address} if a proxy writes ${entry}`, () => {
      assert.equal(from('10.0.0.1', `1.1.1.1:80, ${entry}`), address);
      assert.equal(from('10.0.0.1', `${entry}, 10.0.0.2:443`), address === '10.0.0.1' ? '10.0.0.2' : address);
    });

  it("is the proxy's if its list ends with something other than an address", () => {
    assert.equal(from('10.0.0.1', '198.51.100.9, evil, 10.0.0.2'), '10.0.0.2');
    assert.equal(from('10.0.0.1', ''), '10.0.0.1');
  });
});
