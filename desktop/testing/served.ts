/** A host, and tunnels that it serves, on a fake relay. */
import { Host, type HostOptions } from '../client/host/host.ts';
import { type KnownTunnel, ServedTunnel, type ServedTunnelOptions } from '../client/host/served-tunnel.ts';
import { parseRelayAddress } from '../client/relay/relay-address.ts';
import { FakeClock } from './fake-clock.ts';
import { FakeApi, FakeServe, TUNNEL } from './fake-platform.ts';
import { SPEC } from './tunnel-spec.ts';

/** @param known of the tunnel; by default one to port 3000 that has never been served */
export function fakeServed(known: Partial<KnownTunnel> = {}, options: Partial<ServedTunnelOptions> = {}) {
  const clock = new FakeClock();
  const serve = new FakeServe();
  const api = new FakeApi();
  const connection = { relay: parseRelayAddress('https://relay.example.com'), key: 'cvt_', api };
  const served = new ServedTunnel(
    { key: 'k', settings: SPEC, tunnel: TUNNEL, ...known },
    { clock, connect: serve.connect, warns: false, ...options },
  );
  return { clock, serve, api, connection, served };
}

/** @param known tunnels of an earlier start */
export function fakeHost(options: Partial<HostOptions> = {}, known: readonly KnownTunnel[] = []) {
  const clock = new FakeClock();
  const serve = new FakeServe();
  const api = new FakeApi();
  const connection = { relay: parseRelayAddress('https://relay.example.com'), key: 'cvt_', api };
  const host = new Host(
    { clock, connect: serve.connect, warns: false, connection: () => connection, ...options },
    known,
  );
  return { clock, serve, api, connection, host };
}
