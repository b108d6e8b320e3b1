/** Detects that the machine slept, or that its network has changed. */
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import type { Clock, Timer } from '../clock.ts';

/**
 * Interval at which the client checks clocks and network addresses. This takes microseconds; a change is noticed
 * at most this much later.
 */
export const MACHINE_LOOK_MS = 500;
/** Minimum clock jump from which the client concludes that the machine was asleep. A busy program loses less. */
const SLEEP_MIN_MS = 5000;

interface MachineWatchOptions {
  readonly clock: Clock;
  /** The machine's addresses. A different text means a different network; `undefined` means unknown. */
  readonly addresses: () => string | undefined;
  readonly onChange: () => void;
}

/** Polls every {@link MACHINE_LOOK_MS}, because not every system notifies a program without a window. */
export class MachineWatch {
  readonly #options: MachineWatchOptions;
  #timer: Timer | undefined;
  /** the last known addresses */
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
    // During sleep the wall clock advances everywhere, the monotonic clock only on some systems.
    const passed = Math.max(clock.now() - this.#wall, clock.monotonic() - this.#monotonic);
    const before = this.#addresses;
    this.#addresses = this.#options.addresses() ?? before;
    const isElsewhere = before !== undefined && this.#addresses !== before;
    const isChanged = passed - MACHINE_LOOK_MS >= SLEEP_MIN_MS || isElsewhere;
    this.#schedule();
    if (isChanged) this.#options.onChange();
  }
}

/**
 * All addresses of this machine that reach other networks, as one text; `undefined` if the system does not report them.
 */
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
 * @param read reads them from the system
 * @returns `undefined` if the system does not report them: reading needs a file descriptor, and visitors may use all of
 *   them
 */
export function machineAddresses(read = networkInterfaces): NetworkInterfaceInfo[] | undefined {
  try {
    return Object.values(read()).flatMap((addresses) => addresses ?? []);
  } catch {
    return undefined;
  }
}
