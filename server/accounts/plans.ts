/** What each plan allows (docs/protocol.md section 3.6), as data. A running relay follows a changed plan. */
import type { Plan, TtlLimits } from '../../shared/tunnel.ts';

export interface PlanRules {
  /** as people write it */
  readonly title: string;
  /** Whether a tunnel may ask for its name. */
  readonly customNames: boolean;
  /** Live tunnels at a time; `null`: unlimited */
  readonly maxTunnels: number | null;
  /** Open inbound connections of each tunnel, including those that wait for the client; `null`: unlimited */
  readonly maxConnections: number | null;
  /** Domains, those that are not verified included; `null`: unlimited */
  readonly maxDomains: number | null;
  /** The longest life of a tunnel, counted from now, in seconds; `null`: what the relay allows */
  readonly maxTtl: number | null;
}

/**
 * `free` is for strangers: enough for a site under development, too little for production. `dev` is what the first account of
 * a relay gets, so its numbers only stop what has run away. `team` is trusted.
 */
export const PLAN_RULES: Readonly<Record<Plan, PlanRules>> = {
  free: {
    title: 'Free',
    customNames: false,
    maxTunnels: 20,
    maxConnections: 200,
    maxDomains: 0,
    maxTtl: 24 * 3600,
  },
  dev: {
    title: 'Dev',
    customNames: true,
    maxTunnels: 1000,
    maxConnections: 10_000,
    maxDomains: 5,
    maxTtl: null,
  },
  team: {
    title: 'Team',
    customNames: true,
    maxTunnels: null,
    maxConnections: null,
    maxDomains: null,
    maxTtl: null,
  },
};

/**
 * @param relay what the relay allows everybody
 * @returns what it allows an account on the plan: the smaller of both
 */
export function ttlLimitsOf(plan: Plan, relay: TtlLimits): TtlLimits {
  const maxTtl = Math.min(relay.maxTtl, PLAN_RULES[plan].maxTtl ?? Infinity);
  return { maxTtl, defaultTtl: Math.min(relay.defaultTtl, maxTtl) };
}
