/** What each plan allows (contract.md, REST: `limits` of an account), as data. */
import type { Plan } from '../../shared/tunnel.ts';

export interface PlanRules {
  /** Whether a tunnel may ask for its name. */
  readonly customNames: boolean;
  /** Live tunnels at a time; `null`: unlimited */
  readonly maxTunnels: number | null;
  /** Inbound connections at a time; `null`: unlimited */
  readonly maxConnections: number | null;
}

export const PLAN_RULES: Readonly<Record<Plan, PlanRules>> = {
  free: { customNames: false, maxTunnels: null, maxConnections: null },
  dev: { customNames: true, maxTunnels: null, maxConnections: null },
  team: { customNames: true, maxTunnels: null, maxConnections: null },
};
