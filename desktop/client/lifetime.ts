/** Tunnels that live as long as their client: it extends them before they expire, if nobody chose a lifetime. */
import { parseDuration } from '../../shared/duration.ts';
import type { Tunnel } from '../../shared/tunnel.ts';

type Lifetime = Pick<Tunnel, 'ttl' | 'expires_at'>;

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
export function lifetimeMs({ ttl }: Pick<Tunnel, 'ttl'>): number {
  return (parseDuration(ttl) ?? 0) * 1000;
}

/**
 * The extension of a tunnel half of whose time to live is over: afterwards it expires one time to live from now, which
 * no plan forbids.
 *
 * @param now ms since the epoch, by the relay's clock
 * @returns a duration string for the relay; `undefined` if the extension is not due yet
 */
export function dueExtension(tunnel: Lifetime, now: number): string | undefined {
  const life = lifetimeMs(tunnel);
  const left = Math.max(0, Date.parse(tunnel.expires_at) - now);
  if (!Number.isFinite(life) || life === 0 || left > life / 2) return undefined;
  return `${Math.max(1, Math.floor((life - left) / 1000))}s`;
}
