/** A relay with many tunnels of an attacker. */
import { createAccount, type TestAccount } from '../../support/accounts.ts';
import { giveTunnels } from '../../support/given-tunnels.ts';
import { type Environment, Relay } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { type Front, straight } from './fronts.ts';

export interface AttackedRelay {
  readonly relay: Relay;
  readonly front: Front;
  readonly attacker: TestAccount;
  /** @throws Error where there are not as many */
  tunnel(index: number): Tunnel;
}

export interface AttackedRelayOptions {
  /** of tunnels, each for one attack at a time */
  readonly count: number;
  /** what their names begin with */
  readonly name: string;
  readonly settings?: Environment;
}

export async function startAttackedRelay(
  scope: Scope,
  { count, name, settings = {} }: AttackedRelayOptions,
): Promise<AttackedRelay> {
  const { CULVERT_PUBLIC_URL, CULVERT_TUNNEL_DOMAIN } = SHIPPED.settings;
  const relay = await Relay.start(scope, { ...settings, CULVERT_PUBLIC_URL, CULVERT_TUNNEL_DOMAIN });
  const attacker = await createAccount(relay, { plan: 'team' });
  const given = Array.from({ length: count }, (_, index) => ({ slug: `${name}-${index}`, localPort: 9 }));
  await giveTunnels(scope, relay, attacker, given);
  const tunnels = await attacker.api.list();
  return {
    relay,
    front: straight(relay.port),
    attacker,
    tunnel(index) {
      const tunnel = tunnels[index];
      if (tunnel === undefined) throw new Error(`there is no tunnel ${index}`);
      return tunnel;
    },
  };
}
