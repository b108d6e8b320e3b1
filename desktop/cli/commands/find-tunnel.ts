/** Finds the live tunnel that a command is about. */
import type { Tunnel } from '../../../shared/tunnel.ts';

/** Thrown for an id or a slug that no live tunnel has. */
class NoSuchTunnel extends Error {
  constructor(name: string) {
    super(`None of your live tunnels has the id or slug "${name}". "culvert list" shows your tunnels`);
  }
}

/**
 * An id before a slug: a custom name may look like somebody's id.
 *
 * @throws NoSuchTunnel
 */
export function findTunnel(tunnels: readonly Tunnel[], name: string): Tunnel {
  const wanted = name.toLowerCase();
  const tunnel = tunnels.find(({ id }) => id === wanted) ?? tunnels.find(({ slug }) => slug === wanted);
  if (tunnel === undefined) throw new NoSuchTunnel(name);
  return tunnel;
}
