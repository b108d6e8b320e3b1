import type { Account, Tunnel } from '../../shared/tunnel.ts';

/** A tunnel of an account with an account subdomain. */
export const TUNNEL: Tunnel = {
  id: '0b2f4f0e-6a6e-4d53-9d0c-0a1b2c3d4e5f',
  slug: 'my-app',
  client_id: '7b2f4f0e-6a6e-4d53-9d0c-0a1b2c3d4e5f',
  local_port: 3000,
  name: 'my-app',
  ttl: '1h0m0s',
  mode: 'relay',
  created_at: '2026-07-10T12:00:00.000Z',
  expires_at: '2026-07-10T13:00:00.000Z',
  idle_ttl: false,
  bytes_in: 0,
  bytes_out: 0,
  requests: 0,
  online: false,
  access: {},
  public_url: 'http://my-app.demo.localhost:8080',
  urls: {
    subdomain: 'http://my-app.localhost:8080',
    path: 'http://localhost:8080/t/my-app',
    account: 'http://my-app.demo.localhost:8080',
  },
};

/** The account of {@link TUNNEL}. */
export const ACCOUNT: Account = {
  client_id: TUNNEL.client_id,
  name: 'default',
  plan: 'dev',
  subdomain: 'demo',
  limits: {
    default_ttl: '1h0m0s',
    max_ttl: '168h0m0s',
    creates_per_minute: 10,
    create_burst: 5,
    max_tunnels: 1000,
    max_connections: null,
    max_domains: 5,
  },
};
