/** An account as the REST interface shows it (docs/protocol.md section 3.6). */
import { formatDuration } from '../../../shared/duration.ts';
import { type Account, PLANS, type TtlLimits } from '../../../shared/tunnel.ts';
import { PLAN_RULES, type PlanRules, ttlLimitsOf } from '../../accounts/plans.ts';
import { CREATE_BURST, CREATES_PER_MINUTE } from '../../limits.ts';
import type { AccountRecord } from '../../store/records.ts';
import { count, normalizedDuration, text, uuid } from '../json-schema.ts';
import { resource } from './resource.ts';

interface LimitsSource {
  readonly rules: PlanRules;
  readonly ttl: TtlLimits;
}

const LIMITS = resource<LimitsSource, Account['limits']>({
  default_ttl: { schema: normalizedDuration, of: ({ ttl }) => formatDuration(ttl.defaultTtl) },
  max_ttl: { schema: normalizedDuration, of: ({ ttl }) => formatDuration(ttl.maxTtl) },
  creates_per_minute: { schema: count, of: () => CREATES_PER_MINUTE },
  create_burst: { schema: count, of: () => CREATE_BURST },
  max_tunnels: {
    schema: { type: ['integer', 'null'], description: 'null: unlimited' },
    of: ({ rules }) => rules.maxTunnels,
  },
  max_connections: {
    schema: { type: ['integer', 'null'], description: 'of each tunnel; null: unlimited' },
    of: ({ rules }) => rules.maxConnections,
  },
  max_domains: {
    schema: { type: ['integer', 'null'], description: 'null: unlimited' },
    of: ({ rules }) => rules.maxDomains,
  },
});

interface Source {
  readonly account: AccountRecord;
  /** what the relay allows everybody */
  readonly ttl: TtlLimits;
}

export const ACCOUNT = resource<Source, Account>({
  client_id: { schema: uuid, of: ({ account }) => account.id },
  name: { schema: text, of: ({ account }) => account.name },
  plan: { schema: { enum: PLANS }, of: ({ account }) => account.plan },
  subdomain: { schema: { type: ['string', 'null'] }, of: ({ account }) => account.subdomain },
  limits: {
    schema: LIMITS.schema,
    of: ({ account: { plan }, ttl }) => LIMITS.view({ rules: PLAN_RULES[plan], ttl: ttlLimitsOf(plan, ttl) }),
  },
});
