/** What the core needs from the system, and is the same in the app and for a page in a browser. */
import { findTunnels } from '../../client/inspector/inspector.ts';
import { startInspector } from '../../client/inspector/inspector-server.ts';
import { runtimeFolder } from '../../client/inspector/runtime-folder.ts';
import { inventPassword } from '../../client/invented-password.ts';
import type { Network } from '../../client/network/network.ts';
import { ApiClient } from '../../client/relay/api-client.ts';
import { lookAtInvitation, takeInvitation } from '../../client/relay/invitation.ts';
import type { RelayAddress } from '../../client/relay/relay-address.ts';
import { createTunnelClient } from '../../client/tunnel-client.ts';
import { runDiagnostics } from './diagnostics.ts';
import type { Platform } from './platform.ts';

/** @param networkTo the way to each relay */
export function nodePlatform(
  { env, platform }: Pick<NodeJS.Process, 'env' | 'platform'>,
  networkTo: (relay: RelayAddress) => Network,
  report: Platform['report'],
) {
  return {
    inventPassword: () => inventPassword(),
    connect: (relay, key) => new ApiClient(relay, key, networkTo(relay)),
    lookAtInvitation: (invitation) => lookAtInvitation(invitation, networkTo(invitation.relay)),
    takeInvitation: (invitation) => takeInvitation(invitation, networkTo(invitation.relay)),
    examine: (connection, ...rest) => runDiagnostics(networkTo(connection.relay))(connection, ...rest),
    connectTunnel: (tunnel) => createTunnelClient({ ...tunnel, network: networkTo(tunnel.relay) }),
    startInspector: () => startInspector(env, (error) => report('starting the inspector', error)),
    servedHere: () => findTunnels(runtimeFolder(env, platform)),
    report,
  } satisfies Partial<Platform>;
}
