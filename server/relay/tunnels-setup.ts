/** Sets up the tunnels of this relay, and their clients. */
import { CloseCode, KEY_ENDS, type KnockMessage } from '../../shared/control.ts';
import { ApprovalWaits } from '../access/approval-requests.ts';
import { Hub, type SocketEnd } from '../clients/hub.ts';
import { systemClock as clock } from '../clock.ts';
import type { Peering } from '../cluster/peering.ts';
import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import type { StoredKnock } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { type LiveTunnel, tunnelFields } from '../tunnels/live-tunnel.ts';
import type { EndReason } from '../tunnels/peers.ts';
import { TunnelRegistry } from '../tunnels/registry.ts';
import { ApprovalExpiry } from '../tunnels/tunnel-approvals.ts';
import { TunnelService } from '../tunnels/tunnel-service.ts';

export interface Tunnels {
  readonly registry: TunnelRegistry;
  readonly service: TunnelService;
  readonly hub: Hub;
  /** responses to visitors who wait for approval */
  readonly waits: ApprovalWaits;
}

/** Close codes for the control socket of an ended tunnel (protocol.md section 7). */
const ENDS: Readonly<Record<EndReason, SocketEnd>> = {
  closed: { code: CloseCode.tunnelClosed },
  expired: { code: CloseCode.tunnelExpired },
  // The keys were removed with the account, so its client has to sign in again.
  removed: { code: CloseCode.keyRevoked, reason: KEY_ENDS.removed },
  displaced: { code: CloseCode.domainGone },
};

interface TunnelsDeps {
  readonly store: Store;
  readonly peering: Peering;
  readonly log: Log;
  /** called when a tunnel's access policy, links or approval requests have changed */
  readonly onAccess: (tunnel: LiveTunnel) => void;
  /** called when a tunnel has ended */
  readonly onEnd: (tunnel: LiveTunnel, reason: EndReason) => void;
  /** ms since the clients of tunnels have left, if known; otherwise all are expected to return */
  readonly missed: ReadonlyMap<string, number> | undefined;
}

/** @throws StoreError */
export async function startTunnels(
  config: Config,
  { store, peering, log, onAccess, onEnd, missed }: TunnelsDeps,
): Promise<Tunnels> {
  const registry = new TunnelRegistry(config.reservedNames);
  const { nameHold, trunks } = config;
  const { peers, ownership } = peering;
  const waits = new ApprovalWaits(clock);
  const ends = new ApprovalExpiry(clock, onAccess);
  const hub = new Hub({
    clock,
    maxTrunks: trunks,
    ownership,
    onOnline: (tunnel) => {
      log('client online', tunnelFields(tunnel));
      tellKnocks(tunnel);
    },
    onMoved: (tunnel) => log('tunnel moved', tunnelFields(tunnel)),
    onOffline: (tunnel, code) => log('client offline', { ...tunnelFields(tunnel), code }),
  });
  const tellKnocks = (tunnel: LiveTunnel): void =>
    hub.get(tunnel.id)?.control?.tellKnocks(tunnel.knocks.waiting(clock.now()).map(viewKnock));
  const service = new TunnelService({
    store,
    registry,
    clock,
    log,
    ttl: config,
    nameHold,
    peers,
    onAccess: (tunnel) => {
      if (tunnel.account.suspended !== null) hub.get(tunnel.id)?.suspend(tunnel.account.suspended);
      tellKnocks(tunnel);
      ends.watch(tunnel);
      waits.wake(tunnel.id, 'changed');
      onAccess(tunnel);
    },
    onTakenFromAgent: (tunnel) => hub.get(tunnel.id)?.takeFromAgents(),
    onEnd: (tunnel, reason) => {
      ends.forget(tunnel);
      waits.wake(tunnel.id, 'over');
      hub.end(tunnel, ENDS[reason]);
      onEnd(tunnel, reason);
    },
  });
  await service.start();
  for (const tunnel of registry.all()) {
    const awayMs = missed === undefined ? 0 : missed.get(tunnel.id);
    if (awayMs !== undefined) hub.expect(tunnel, awayMs);
  }
  hub.start();
  return { registry, service, hub, waits };
}

/** As shown to the owner's client. */
function viewKnock({ id, address, agent, at }: StoredKnock): Omit<KnockMessage, 'type'> {
  return { id, address, agent, at: new Date(at).toISOString() };
}
