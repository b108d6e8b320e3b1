/**
 * Watches the end of a tunnel: extends it in time if it lives as long as its client, or warns. The relay is asked first,
 * because others may have extended the tunnel, and traffic may have.
 */
import { parseDuration } from '../../shared/duration.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import type { Clock, Timer } from './clock.ts';
import type { ApiClient } from './relay/api-client.ts';

/** How long before a tunnel expires the first warning appears: time to finish something. */
export const EXPIRY_FIRST_WARNING_MS = 10 * 60_000;
/** How long before a tunnel expires the last warning appears: time to extend it. */
const EXPIRY_LAST_WARNING_MS = 2 * 60_000;
/**
 * How often the relay is asked whether a tunnel was extended, once the last warning is over; and the longest
 * wait before a tunnel that lives as long as its client is looked at again.
 */
const EXPIRY_LOOK_MS = 60_000;
/** Shortest wait before a failed extension is tried again: tunnels may live for seconds only. */
const EXTEND_RETRY_MIN_MS = 1000;

const WARNINGS_MS = [EXPIRY_FIRST_WARNING_MS, EXPIRY_LAST_WARNING_MS];

interface ExpiryWatchOptions {
  readonly clock: Clock;
  readonly api: Pick<ApiClient, 'getTunnel' | 'extendTunnel' | 'now'>;
  /** whether the tunnel lives as long as its client, see {@link isKeptOpen} */
  readonly isKept: boolean;
  /** Its end has moved: it was extended here, or elsewhere. */
  readonly onMoved?: ((tunnel: Tunnel) => void) | undefined;
  /**
   * @param leftMs ms until it ends
   * @param why what prevents its extension
   */
  readonly warn: (leftMs: number, why: unknown) => void;
}

export class ExpiryWatch {
  readonly #options: ExpiryWatchOptions;
  #tunnel: Tunnel;
  /** ms before its end that the last warning was about */
  #warned = Infinity;
  #timer: Timer | undefined;
  #isLooking = false;
  #isOver = false;

  /** @param tunnel as the relay has shown it last */
  constructor(tunnel: Tunnel, options: ExpiryWatchOptions) {
    this.#options = options;
    this.#tunnel = tunnel;
  }

  /** as the relay has shown it last */
  get tunnel(): Tunnel {
    return this.#tunnel;
  }

  /** A tunnel that begins with less time than a warning is about is not warned of that. */
  start(): void {
    this.#begin(this.#tunnel);
    this.#wait();
  }

  /** The tunnel is online, perhaps again: its end may be due since the machine slept, when timers are late. */
  wake(): void {
    if (!this.#isOver && !this.#isLooking && this.#options.isKept) void this.#look();
  }

  stop(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }

  /** The relay has shown it: others may have extended it. */
  update(tunnel: Tunnel): void {
    if (tunnel.expires_at !== this.#tunnel.expires_at) this.#begin(tunnel);
  }

  /** Its end has moved. */
  #begin(tunnel: Tunnel): void {
    this.#tunnel = tunnel;
    this.#warned = Math.min(Infinity, ...this.#marks.filter((mark) => mark >= this.#left));
  }

  #wait(): void {
    const left = this.#left;
    const next = this.#marks.find((mark) => mark < left && mark < this.#warned);
    // The tunnel may still be extended after the last warning.
    const untilWarning = next === undefined ? EXPIRY_LOOK_MS : left - next;
    this.#timer = this.#options.clock.setTimeout(
      () => void this.#look(),
      this.#options.isKept ? this.#pause(untilWarning) : untilWarning,
    );
  }

  /** A machine may sleep, and then its timers are late: the time is checked often. */
  #pause(untilWarning: number): number {
    const untilDue = this.#left - lifetimeMs(this.#tunnel) / 2;
    if (untilDue > 0) return Math.min(untilDue, EXPIRY_LOOK_MS);
    const retry = this.#left <= 0 ? EXPIRY_LOOK_MS : Math.min(this.#left / 10, untilWarning, EXPIRY_LOOK_MS);
    return Math.max(retry, EXTEND_RETRY_MIN_MS);
  }

  async #look(): Promise<void> {
    this.#timer?.cancel();
    this.#isLooking = true;
    await this.#lookOnce();
    this.#isLooking = false;
    if (!this.#isOver) this.#wait();
  }

  async #lookOnce(): Promise<void> {
    const { api, isKept } = this.#options;
    if (isKept && this.#due === undefined) return;
    const known = this.#tunnel;
    // If the relay is unreachable, its last answer counts.
    const tunnel = await api.getTunnel(known.id).catch(() => known);
    if (this.#isOver) return;
    if (tunnel.expires_at === known.expires_at) await this.#extendOrWarn(tunnel);
    else this.#moved(tunnel);
  }

  async #extendOrWarn(tunnel: Tunnel): Promise<void> {
    const { api, isKept, warn } = this.#options;
    const due = this.#due;
    let why: unknown;
    if (isKept && due !== undefined) {
      try {
        const extended = await api.extendTunnel(tunnel.id, due);
        if (this.#isOver) return;
        this.#moved(extended);
        return;
      } catch (error) {
        why = error;
      }
    }
    const left = this.#left;
    const crossed = this.#marks.filter((mark) => left <= mark && mark < this.#warned);
    if (crossed.length === 0 || this.#isOver) return;
    this.#warned = Math.min(...crossed);
    warn(left, why);
  }

  #moved(tunnel: Tunnel): void {
    this.#begin(tunnel);
    this.#options.onMoved?.(tunnel);
  }

  get #due(): string | undefined {
    return dueExtension(this.#tunnel, this.#options.api.now());
  }

  /** One that is extended in time needs no warning before that fails. */
  get #marks(): readonly number[] {
    if (!this.#options.isKept) return WARNINGS_MS;
    const half = lifetimeMs(this.#tunnel) / 2;
    const marks = WARNINGS_MS.filter((mark) => mark < half);
    return marks.length === 0 ? [half] : marks;
  }

  get #left(): number {
    return Date.parse(this.#tunnel.expires_at) - this.#options.api.now();
  }
}

/**
 * Whether the client extends a tunnel. A chosen lifetime, or one that traffic restarts, is left alone.
 *
 * @param wanted `ttl` is `undefined` or empty for the relay's default
 */
export function isKeptOpen({
  ttl,
  idle,
}: {
  readonly ttl: string | undefined;
  readonly idle: boolean;
}): boolean {
  return (ttl ?? '') === '' && !idle;
}

/** Its time to live in ms. */
function lifetimeMs({ ttl }: Pick<Tunnel, 'ttl'>): number {
  return (parseDuration(ttl) ?? 0) * 1000;
}

/**
 * The extension of a tunnel half of whose time to live is over: afterwards it expires one time to live from now, which
 * no plan forbids.
 *
 * @param now ms since the epoch, by the relay's clock
 * @returns a duration string for the relay; `undefined` if the extension is not due yet
 */
function dueExtension(tunnel: Pick<Tunnel, 'ttl' | 'expires_at'>, now: number): string | undefined {
  const life = lifetimeMs(tunnel);
  const left = Math.max(0, Date.parse(tunnel.expires_at) - now);
  if (!Number.isFinite(life) || life === 0 || left > life / 2) return undefined;
  return `${Math.max(1, Math.floor((life - left) / 1000))}s`;
}
