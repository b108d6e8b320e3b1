import type { TunnelView } from '../../../desktop/shared/snapshot.ts';
import { exampleTunnel } from '../../../desktop/testing/views.ts';
import { REQUESTS } from './requests.ts';
import { HOUR, MINUTE, NOW } from './scene.ts';

/** A minute of traffic that has had better moments. */
export const PULSE = Array.from({ length: 42 }, (_none, index) => ({
  id: NOW / 1000 - 58 + index + Math.floor(index / 3),
  requests: 1 + ((index * 7) % 11) * (index % 4),
  errors: index % 9 === 8 ? 2 : 0,
}));

export const SHOP = exampleTunnel({
  key: 'shop',
  slug: 'shop-demo',
  name: 'shop-demo',
  url: 'https://shop-demo.tunnels.example.com',
  localPort: 5173,
  framework: 'Vite',
  isIdle: true,
  expiresAt: NOW + 41 * MINUTE,
  requests: 1284,
  bytesIn: 612_000,
  bytesOut: 36_200_000,
  recent: REQUESTS.slice(0, 3),
  pulse: PULSE,
});
export const HOOKS = exampleTunnel({
  key: 'hooks',
  slug: 'stripe-hooks',
  name: 'stripe-hooks',
  url: 'https://stripe-hooks.tunnels.example.com',
  localPort: 3000,
  framework: 'Node',
  expiresAt: NOW + 4 * MINUTE,
  requests: 17,
  bytesIn: 21_300,
  bytesOut: 4100,
});
export const HERON = exampleTunnel({
  key: 'heron',
  slug: 'quiet-heron-k3f9',
  url: 'https://quiet-heron-k3f9.tunnels.example.com',
  localPort: 8080,
  ttl: 4 * 3600,
  expiresAt: NOW + 2 * HOUR + 58 * MINUTE,
  localProblem: {
    code: 'local-refused',
    text: 'Nothing listens on port 8080. Visitors see a 502 until you start your server.',
  },
});
export const CONNECTING = exampleTunnel({
  key: 'new',
  slug: 'calm-otter-p7c2',
  url: 'https://calm-otter-p7c2.tunnels.example.com',
  localPort: 4321,
  framework: 'Astro',
  status: { name: 'connecting' },
  expiresAt: NOW + HOUR,
});
export const ENDED = exampleTunnel({
  key: 'old',
  slug: 'brave-finch-t5x1',
  url: 'https://brave-finch-t5x1.tunnels.example.com',
  localPort: 8000,
  status: { name: 'ended', reason: 'expired', why: 'The tunnel has expired.' },
  requests: 3,
});

/** One of each kind, without requests. */
export const QUIET_SHOP: TunnelView = { ...SHOP, recent: [], requests: 0 };
export const LOST: TunnelView['status'] = {
  name: 'reconnecting',
  retryAt: NOW + 4000,
  why: 'No connection to the relay: the connection was reset.',
};
