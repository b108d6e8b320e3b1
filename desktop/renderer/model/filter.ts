import type { TunnelView } from '../../shared/snapshot.ts';

/** Tunnels whose address, port or framework contains every word that was typed; the order stays. */
export function filterTunnels(tunnels: readonly TunnelView[], typed: string): readonly TunnelView[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return tunnels;
  return tunnels.filter(({ url, localPort, framework }) => {
    const text = `${url} ${localPort} ${framework ?? ''}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
