/** Notices what happens to the machine: that it slept, or that its network has changed. */
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import type { Clock, Timer } from '../clock.ts';
import { MACHINE_LOOK_MS, SLEEP_MIN_MS } from '../limits.ts';

export interface MachineWatchOptions {
  readonly clock: Clock;
  /** The machine's addresses; a different text means a different network, `undefined` means nothing. */
  addresses(): string | undefined;
  onChange(): void;
}

/** Checks every {@link MACHINE_LOOK_MS}, because not every system notifies a program without a window. */
export class MachineWatch {
  readonly #options: MachineWatchOptions;
  #timer: Timer | undefined;
  /** as far as they are known */
  #addresses: string | undefined;
  #wall = 0;
  #monotonic = 0;

  constructor(options: MachineWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.stop();
    this.#addresses = this.#options.addresses();
    this.#schedule();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #schedule(): void {
    const { clock } = this.#options;
    this.#wall = clock.now();
    this.#monotonic = clock.monotonic();
    this.#timer = clock.setTimeout(() => this.#look(), MACHINE_LOOK_MS);
  }

  #look(): void {
    const { clock } = this.#options;
    // While a machine sleeps its wall clock goes on; its monotonic clock does on some systems.
    const passed = Math.max(clock.now() - this.#wall, clock.monotonic() - this.#monotonic);
    const before = this.#addresses;
    this.#addresses = this.#options.addresses() ?? before;
    const isElsewhere = before !== undefined && this.#addresses !== before;
    const isChanged = passed - MACHINE_LOOK_MS >= SLEEP_MIN_MS || isElsewhere;
    this.#schedule();
    if (isChanged) this.#options.onChange();
  }
}

/** All addresses of this machine that lead to other networks, as one text; `undefined` if the machine does not say. */
export function networkAddresses(): string | undefined {
  // Link-local addresses come and go with every container.
  const lasting = machineAddresses()?.filter(
    ({ internal, address }) => !internal && !address.startsWith('fe80:'),
  );
  return lasting
    ?.map(({ address }) => address)
    .sort()
    .join(' ');
}

/* The addresses of this machine. */

/**
 * @param read asks the system
 * @returns `undefined` if the system does not say: asking needs a file descriptor, and visitors may have taken all of
 *   them
 */
export function machineAddresses(read = networkInterfaces): NetworkInterfaceInfo[] | undefined {
  try {
    return Object.values(read()).flatMap((addresses) => addresses ?? []);
  } catch {
    return undefined;
  }
}
