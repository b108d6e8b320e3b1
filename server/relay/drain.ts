/** How a relay that is stopped ends all connections (docs/protocol.md section 7). */
import type { Hub } from '../clients/hub.ts';
import type { Peering } from '../cluster/peering.ts';
import type { Edge } from '../edge/edge.ts';

/**
 * Clients are dropped only once no visitor needs an announcement, or another relay has them: until then they are
 * needed.
 *
 * @returns fulfilled when nobody is connected; the caller limits how long that may take
 */
export async function drain(hub: Hub, edge: Edge, peering: Peering): Promise<void> {
  peering.sayLeaving();
  if (peering.hasOthers) {
    // First, so that clients that are asked to move do not return to this relay, and the listener closes at a quiet
    // moment.
    await edge.handOver();
    hub.askToMove();
    await hub.moved();
  } else {
    hub.askToMove();
    await edge.settle();
  }
  hub.drain();
  await Promise.all([edge.empty(), peering.settle()]);
}
