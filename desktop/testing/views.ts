import type { TunnelView } from '../shared/snapshot.ts';

/** A tunnel in the list: online, with an hour to live. */
export function tunnelView(change: Partial<TunnelView> = {}): TunnelView {
  return {
    key: 'k',
    status: { name: 'online' },
    url: 'http://my-app.tunnels.test',
    slug: 'my-app',
    name: 'my-app',
    localPort: 3000,
    framework: undefined,
    localProblem: undefined,
    hostHeader: 'keep',
    isIdle: false,
    ttl: 3600,
    expiresAt: 3_600_000,
    requests: 0,
    bytesIn: 0,
    bytesOut: 0,
    recent: [],
    ...change,
  };
}
