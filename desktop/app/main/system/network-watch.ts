import type { Clock } from '../../../client/clock.ts';
import { machineAddresses } from '../../../client/control/machine-watch.ts';
import { NETWORK_INTERVAL_MS } from '../limits.ts';

export interface NetworkWatchOptions {
  readonly clock: Clock;
  /** whether the system says that there is a network */
  readonly isOnline: () => boolean;
  /** a text that changes whenever this machine changes networks; `undefined` while it does not say */
  readonly fingerprint: () => string | undefined;
  /** The network is there, gone, or another one. */
  readonly onChange: (hasNetwork: boolean) => void;
}

/** Looks every {@link NETWORK_INTERVAL_MS}, because no system tells the main process. */
export class NetworkWatch {
  readonly #options: NetworkWatchOptions;
  #fingerprint = '';
  #last: string;

  constructor(options: NetworkWatchOptions) {
    this.#options = options;
    this.#last = this.#look();
  }

  /** To be called once. */
  start(): void {
    this.#wait();
  }

  get hasNetwork(): boolean {
    return this.#options.isOnline();
  }

  #wait(): void {
    this.#options.clock.setTimeout(() => {
      const now = this.#look();
      if (now !== this.#last) {
        this.#last = now;
        this.#options.onChange(this.hasNetwork);
      }
      this.#wait();
    }, NETWORK_INTERVAL_MS);
  }

  #look(): string {
    this.#fingerprint = this.#options.fingerprint() ?? this.#fingerprint;
    return `${this.#options.isOnline()} ${this.#fingerprint}`;
  }
}

/** The addresses of this machine, without those that come and go by themselves; `undefined` if it does not say. */
export function addressFingerprint(): string | undefined {
  // IPv6 privacy extensions change addresses while connections live on.
  const lasting = machineAddresses()?.filter(({ family, internal }) => !internal && family === 'IPv4');
  return lasting
    ?.map(({ address }) => address)
    .sort()
    .join(' ');
}
