/** Checks every step from this machine to a local port, through the relay, and names the hop that fails. */
import { checkHops, type HopResult } from './hop.ts';
import { localHop } from './local-hop.ts';
import { relayHops } from './relay-hops.ts';
import type { Subject } from './subject.ts';
import { TunnelHops } from './tunnel-hops.ts';

/**
 * @param tell called with every result as it comes
 * @returns whether no hop has failed; `false` if it was interrupted
 */
export async function examine(
  subject: Subject,
  interrupted: AbortSignal,
  tell: (result: HopResult) => void,
): Promise<boolean> {
  const { relay, network, requireKey } = subject;
  const tunnel = new TunnelHops(() => ({ relay, network, key: requireKey() }));
  try {
    const hops = [...relayHops(subject), ...tunnel.hops, localHop(subject)];
    return await checkHops(hops, () => performance.now(), interrupted, tell);
  } finally {
    await tunnel.close();
  }
}
