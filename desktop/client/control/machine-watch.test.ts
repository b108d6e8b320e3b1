import assert from 'node:assert/strict';
import { FakeClock } from '../../testing/fake-clock.ts';
import { MACHINE_LOOK_MS } from '../limits.ts';
import { machineAddresses, MachineWatch, networkAddresses } from './machine-watch.ts';

function setUp() {
  const clock = new FakeClock();
  const machine: { addresses: string | undefined; changes: number } = { addresses: '192.0.2.1', changes: 0 };
  const watch = new MachineWatch({
    clock,
    addresses: () => machine.addresses,
    onChange: () => (machine.changes += 1),
  });
  watch.start();
  return { clock, machine, watch };
}

describe('MachineWatch', () => {
  it('reports nothing while nothing happens', () => {
    const { clock, machine } = setUp();
    clock.advance(3_600_000);
    assert.equal(machine.changes, 0);
  });

  it('reports within 0.5 s of waking up that the machine slept, on either kind of clock', () => {
    for (const standsStill of [true, false]) {
      const { clock, machine } = setUp();
      clock.sleep(60_000, standsStill);
      clock.advance(MACHINE_LOOK_MS);
      assert.equal(machine.changes, 1);
      clock.advance(60_000);
      assert.equal(machine.changes, 1);
    }
  });

  it('does not mistake a busy moment for sleep', () => {
    const { clock, machine } = setUp();
    clock.sleep(4999, true);
    clock.advance(MACHINE_LOOK_MS);
    assert.equal(machine.changes, 0);
  });

  it('reports within 2 s that the network has changed, each time', () => {
    const { clock, machine } = setUp();
    for (const addresses of ['', '192.0.2.2', '192.0.2.1']) {
      machine.addresses = addresses;
      clock.advance(MACHINE_LOOK_MS);
    }
    assert.equal(machine.changes, 3);
  });

  it("reports nothing while the machine's addresses are unknown, and their changes afterwards", () => {
    const { clock, machine } = setUp();
    for (const addresses of [undefined, '192.0.2.1', undefined]) {
      machine.addresses = addresses;
      clock.advance(MACHINE_LOOK_MS);
    }
    assert.equal(machine.changes, 0);
    machine.addresses = '192.0.2.2';
    clock.advance(MACHINE_LOOK_MS);
    assert.equal(machine.changes, 1);
  });

  it('can be stopped and started again', () => {
    const { clock, machine, watch } = setUp();
    watch.stop();
    assert.deepEqual(clock.waiting, []);
    clock.sleep(60_000, true);
    watch.start();
    watch.start();
    clock.advance(10_000);
    assert.equal(machine.changes, 0);
    assert.equal(clock.waiting.length, 1);
  });
});

describe('networkAddresses', () => {
  it('leaves out addresses that reach no other network', () => {
    assert.doesNotMatch(networkAddresses() ?? 'unknown', /unknown|127\.0\.0\.1|::1\b|fe80:/);
  });
});

describe('machineAddresses', () => {
  it('are those of this machine', () => {
    assert.ok(machineAddresses()?.some(({ address }) => address === '127.0.0.1'));
  });

  it('are unknown while the system has no file descriptor to ask with', () => {
    const asked = machineAddresses(() => {
      throw new Error('uv_interface_addresses returned Unknown system error 24');
    });
    assert.equal(asked, undefined);
  });
});
