/** An account on the relay under torture, with a tunnel that `culvert` serves. */
import type { Plan, Tunnel } from '../../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../../support/accounts.ts';
import { hostOf } from '../../support/manual-client.ts';
import { Culvert, type Environment, type Relay } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';

export interface Tenant {
  readonly account: TestAccount;
  readonly culvert: Culvert;
  readonly tunnel: Tunnel;
  /** what its visitors send as `Host` */
  readonly host: string;
}

export interface TenantOptions {
  /** by default the one without limits, so that only the relay's own limits protect others */
  readonly plan?: Plan;
  /** of its client */
  readonly environment?: Environment;
  /** where its client finds the relay; the relay's own address unless something is in between */
  readonly by?: { readonly url: string };
}

/** @param servicePort the port that its tunnel leads to */
export async function startTenant(
  scope: Scope,
  relay: Relay,
  servicePort: number,
  { plan = 'team', environment = {}, by = relay }: TenantOptions = {},
): Promise<Tenant> {
  const account = await createAccount(relay, { plan });
  const culvert = await Culvert.start(scope, by, account.key, servicePort, [], environment);
  return { account, culvert, tunnel: culvert.tunnel, host: hostOf(culvert.tunnel, relay) };
}
