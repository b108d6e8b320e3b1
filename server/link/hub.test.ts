import assert from 'node:assert/strict';
import { CloseCode } from '../../shared/control.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { ControlSocket } from './control-socket.ts';
import { Hub } from './hub.ts';

const tunnel = { id: 'one' } as LiveTunnel;

class FakeControl {
  readonly announced: string[] = [];
  readonly closed: number[] = [];

  announce(id: string): void {
    this.announced.push(id);
  }

  close(code: number): void {
    this.closed.push(code);
  }

  get socket(): ControlSocket {
    return this as unknown as ControlSocket;
  }
}

describe('Hub', () => {
  let clock: FakeClock;
  let hub: Hub;
  let results: string[];

  beforeEach(() => {
    clock = new FakeClock();
    hub = new Hub(clock);
    results = [];
  });

  function dial() {
    return hub.dial(tunnel, { opened: () => results.push('opened'), failed: (fault) => results.push(fault) });
  }

  function attach(): FakeControl {
    const control = new FakeControl();
    hub.attach(tunnel, control.socket);
    return control;
  }

  it('announces a connection, which is dropped after 10 s without a data socket', () => {
    const control = attach();
    dial();
    const [id = ''] = control.announced;
    assert.ok(hub.pending(id));
    clock.advance(9999);
    assert.deepEqual(results, []);
    clock.advance(1);
    assert.deepEqual(results, ['client-timeout']);
    assert.equal(hub.pending(id), undefined);
  });

  it('says at once that a client is offline that never was there, but not before dial has returned', () => {
    dial();
    assert.deepEqual(results, []);
    clock.advance(1);
    assert.deepEqual(results, ['tunnel-offline']);
  });

  it('lets visitors wait 10 s for a client that has just left, and announces them when it is back', () => {
    const first = attach();
    hub.detach(tunnel, first.socket);
    clock.advance(4000);
    dial();
    clock.advance(5000);
    const second = attach();
    assert.equal(second.announced.length, 1);
    clock.advance(9000);
    assert.deepEqual(results, []);
    hub.detach(tunnel, second.socket);
    dial();
    clock.advance(9999);
    assert.deepEqual(results, ['client-timeout']);
    clock.advance(1);
    assert.deepEqual(results, ['client-timeout', 'tunnel-offline']);
  });

  it('expects the clients of before a restart back', () => {
    hub.expect(tunnel);
    dial();
    clock.advance(9000);
    assert.deepEqual(results, []);
    clock.advance(1000);
    assert.deepEqual(results, ['tunnel-offline']);
  });

  it('lets the newest control socket win, and announces to it what waits', () => {
    const old = attach();
    dial();
    const newer = attach();
    assert.deepEqual(old.closed, [CloseCode.replaced]);
    assert.deepEqual(newer.announced, old.announced);
    hub.detach(tunnel, old.socket);
    dial();
    assert.equal(newer.announced.length, 2);
  });

  it('forgets a connection whose visitor has left', () => {
    const control = attach();
    dial().cancel();
    assert.equal(hub.pending(control.announced[0] ?? ''), undefined);
    clock.advance(20_000);
    assert.deepEqual(results, []);
    assert.equal(clock.pending, 0);
  });

  it('cuts everything of a tunnel that has ended', () => {
    const control = attach();
    dial();
    hub.end(tunnel, CloseCode.tunnelExpired);
    assert.deepEqual(control.closed, [CloseCode.tunnelExpired]);
    assert.deepEqual(results, ['tunnel-unknown']);
    assert.equal(clock.pending, 0);
  });
});
