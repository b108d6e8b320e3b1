/** Scans ports while the window can be seen: what listens there, and what the scan says of the tunnels. */
import type { ServedTunnel } from '../../client/host/served-tunnel.ts';
import type { Platform } from './platform.ts';
import type { PortScan } from './ports.ts';
import { Poller } from './signals.ts';

/** How often ports are looked for while somebody looks. */
export const PORTS_INTERVAL_MS = 4000;

interface PortWatchOptions {
  readonly platform: Pick<Platform, 'clock' | 'scanPorts' | 'report'>;
  readonly tunnels: () => readonly ServedTunnel[];
  /** There is a new scan, or the latest one says less. */
  readonly onChange: () => void;
}

export class PortWatch {
  readonly #options: PortWatchOptions;
  readonly #poller: Poller;
  #scan: PortScan | undefined;
  /** The tunnels, and the known state of their local services, when the latest scan began. */
  #asked: ReadonlySet<object | undefined> = new Set();
  /** The same for the latest result, which does not reflect later changes. */
  #judged: ReadonlySet<object | undefined> = new Set();
  #isVisible = false;

  constructor(options: PortWatchOptions) {
    const { clock, report } = options.platform;
    this.#options = options;
    this.#poller = new Poller({
      clock,
      work: () => this.#look(),
      pauseMs: () => PORTS_INTERVAL_MS,
      onError: (error) => report('looking at ports', error),
    });
  }

  /** The latest result. */
  get scan(): PortScan | undefined {
    return this.#scan;
  }

  /** Whether the latest scan began after what is known otherwise of the tunnel's local service. */
  judges({ localNews }: ServedTunnel): boolean {
    return this.#judged.has(localNews);
  }

  now(): void {
    this.#poller.now();
  }

  /** Scans again if there is a tunnel that the current scan does not know. */
  tunnelsChanged(): void {
    const isNew = ({ serving }: ServedTunnel): boolean => serving !== undefined && !this.#asked.has(serving);
    if (this.#options.tunnels().some(isNew)) this.now();
  }

  /** Whether the window can be seen. */
  setVisible(value: boolean): void {
    this.#isVisible = value;
    if (value) return this.now();
    this.#judged = new Set();
    this.#options.onChange();
  }

  async #look(): Promise<void> {
    if (!this.#isVisible) return;
    const { platform, tunnels, onChange } = this.#options;
    this.#asked = new Set(tunnels().flatMap(({ serving, localNews }) => [serving, localNews]));
    this.#scan = await platform.scanPorts();
    // There are no scans while the window is hidden, and tray and notices must not rely on an old one.
    this.#judged = this.#isVisible ? this.#asked : new Set();
    onChange();
  }
}
