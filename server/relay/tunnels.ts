/** The tunnels that live on this relay, and their clients. */
import { CloseCode, type KnockMessage } from '../../shared/control.ts';
import { systemClock as clock } from '../clock.ts';
import type { Peering } from '../cluster/peering.ts';
import type { Config } from '../config.ts';
import { AdmissionEnds } from '../tunnels/admission-ends.ts';
import { KnockWaits } from '../gate/knock-waits.ts';
import type { PasswordHashes } from '../gate/password-hashes.ts';
import { Hub } from '../link/hub.ts';
import type { Log } from '../log.ts';
import type { StoredKnock } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { type LiveTunnel, tunnelFields } from '../tunnels/live-tunnel.ts';
import type { EndReason } from '../tunnels/peers.ts';
import { TunnelRegistry } from '../tunnels/registry.ts';
import { TunnelService } from '../tunnels/tunnel-service.ts';

export interface Tunnels {
  readonly registry: TunnelRegistry;
  readonly service: TunnelService;
  readonly hub: Hub;
  /** visitors who wait for an answer to their knock */
  readonly waits: KnockWaits;
}

/** Close codes for the control socket of an ended tunnel (docs/protocol.md section 7). */
const END_CODES: Readonly<Record<EndReason, number>> = {
  closed: CloseCode.tunnelClosed,
  expired: CloseCode.tunnelExpired,
  // The keys were removed with the account, so its client has to sign in again.
  removed: CloseCode.keyRevoked,
};

export interface TunnelsDeps {
  readonly store: Store;
  readonly peering: Peering;
  readonly hashes: PasswordHashes;
  readonly log: Log;
  /** told when others may come into a tunnel than before */
  readonly onAccess: (tunnel: LiveTunnel) => void;
}

/** @throws StoreError */
export async function startTunnels(
  config: Config,
  { store, peering, hashes, log, onAccess }: TunnelsDeps,
): Promise<Tunnels> {
  const registry = new TunnelRegistry(config.reservedNames);
  const { nameHold, warmSockets, trunks } = config;
  const { peers, presence } = peering;
  const waits = new KnockWaits(clock);
  const ends = new AdmissionEnds(clock, onAccess);
  const hub = new Hub({
    clock,
    maxOffers: { warm: warmSockets, trunk: trunks },
    presence,
    onOnline: (tunnel) => {
      log('client online', tunnelFields(tunnel));
      tellKnocks(tunnel);
    },
    onMoved: (tunnel) => log('tunnel moved', tunnelFields(tunnel)),
    onOffline: (tunnel, code) => log('client offline', { ...tunnelFields(tunnel), code }),
  });
  const tellKnocks = (tunnel: LiveTunnel): void =>
    hub.tellKnocks(tunnel, tunnel.knocks.waiting(clock.now()).map(viewKnock));
  const service = new TunnelService({
    store,
    registry,
    clock,
    log,
    hashes,
    ttl: config,
    nameHold,
    peers,
    onAccess: (tunnel) => {
      tellKnocks(tunnel);
      ends.watch(tunnel);
      waits.wake(tunnel.id, 'changed');
      onAccess(tunnel);
    },
    onEnd: (tunnel, reason) => {
      ends.forget(tunnel);
      waits.wake(tunnel.id, 'over');
      hub.end(tunnel, END_CODES[reason]);
    },
  });
  await service.start();
  for (const tunnel of registry.all()) hub.expect(tunnel);
  hub.start();
  return { registry, service, hub, waits };
}

/** As the owner's client is told. */
function viewKnock({ id, address, agent, at }: StoredKnock): Omit<KnockMessage, 'type'> {
  return { id, address, agent, at: new Date(at).toISOString() };
}
