import assert from 'node:assert/strict';
import { checkScript } from '../../../shared/testing/script.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { machineAddresses, MachineWatch, networkAddresses, MACHINE_LOOK_MS } from './machine-watch.ts';

/** A watch over a machine that the test plays. */
class Played {
  readonly #clock = new FakeClock();
  #addresses: string | undefined = '192.0.2.1';
  #changes = 0;
  readonly #watch = new MachineWatch({
    clock: this.#clock,
    addresses: () => this.#addresses,
    onChange: () => (this.#changes += 1),
  });

  /** @returns how often a change was reported, and what is unusual about its timers */
  step(step: string): string {
    const [what = '', value] = step.split(' ');
    if (what === 'start' || what === 'stop') this.#watch[what]();
    else if (what === 'look') this.#clock.advance(MACHINE_LOOK_MS);
    else if (what === 'pass') this.#clock.advance(Number(value));
    else if (what === 'sleep' || what === 'freeze') this.#clock.sleep(Number(value), what === 'freeze');
    else if (what === 'network') this.#addresses = value === 'unknown' ? undefined : value;
    else assert.fail(step);
    const did = Array<string>(this.#changes).fill('changed');
    this.#changes = 0;
    const { length } = this.#clock.waiting;
    return [...did, ...(length === 1 ? [] : [`${length} timers`])].join(', ');
  }
}

describe('MachineWatch', () => {
  for (const [what, script] of Object.entries({
    'reports nothing while nothing happens': 'start; pass 3600000',
    'reports within 0.5 s of waking up that the machine slept':
      'start; sleep 60000; look: changed; pass 60000',
    'reports within 0.5 s of waking up that the machine slept, with a clock that stood still': `
      start; freeze 60000; look: changed; pass 60000`,
    'does not mistake a busy moment for sleep': 'start; freeze 4999; look',
    'reports within 2 s that the network has changed, each time': `
      start; network none; look: changed; network 192.0.2.2; look: changed; network 192.0.2.1; look: changed`,
    "reports nothing while the machine's addresses are unknown, and their changes afterwards": `
      start; network unknown; look; network 192.0.2.1; look; network unknown; look; network 192.0.2.2; look: changed`,
    'can be stopped and started again': `
      start; stop: 0 timers; freeze 60000: 0 timers; start; start; pass 10000`,
  }))
    it(what, () => {
      const played = new Played();
      checkScript(script, (step) => played.step(step));
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
