/** Routes of the domains of an account (protocol.md section 12). */
import {
  ADD_DOMAIN_SCHEMA,
  CHECKED_DOMAIN,
  type CheckedDomain,
  DOMAIN,
  DOMAIN_LIST,
  type Domain,
  type DomainCheck,
  readAddDomain,
} from '../../shared/domains.ts';
import { timestamp, timestampOr } from '../administration/views.ts';
import type { Finding } from '../domains/domain-check.ts';
import { DOMAIN_CLAIM_MS, DOMAIN_GRACE_MS } from '../domains/domain-watch.ts';
import type { DomainRecord } from '../store/records.ts';
import { type ApiDeps, idOf, type Route, statusOf } from './route.ts';
import { DOMAIN_CALLS_BURST, DOMAIN_CALLS_PER_MINUTE } from './scheduler.ts';

const REMOVED = statusOf('removed', 'Removed');

export function domainRoutes({ domains, writes }: ApiDeps): Route[] {
  /** @param claim of the account */
  async function view(claim: DomainRecord): Promise<Domain> {
    return {
      id: claim.id,
      domain: claim.domain,
      status: claim.verifiedAt === null ? 'pending' : 'verified',
      records: await domains.recordsOf(claim),
      created_at: timestamp(claim.createdAt),
      verified_at: timestampOr(null, claim.verifiedAt),
      failing_since: timestampOr(null, claim.failingSince),
      ends_at: timestampOr(null, endOf(claim)),
    };
  }

  return [
    {
      call: 'post /v1/domains',
      id: 'addDomain',
      tag: 'Domains',
      summary: 'Claim a domain',
      description:
        'Create its DNS records, then verify it. A domain that the account has already claimed is returned unchanged. Claims and ' +
        `verifications together are limited to ${DOMAIN_CALLS_PER_MINUTE} per minute, with bursts of up to ${DOMAIN_CALLS_BURST}.`,
      caller: 'accountKey',
      body: { schema: ADD_DOMAIN_SCHEMA, required: true },
      results: { 201: ['The domain.', DOMAIN.schema, 'Location'] },
      errors: ['invalidDomain', 'tooManyDomains', 'domainTaken', 'rateLimited'],
      async handle(ctx) {
        const claim = await domains.add(ctx.state.account, readAddDomain(ctx.request.body));
        ctx.set('Location', `/v1/domains/${claim.id}`);
        return await view(claim);
      },
    },
    {
      call: 'get /v1/domains',
      id: 'listDomains',
      tag: 'Domains',
      summary: "List the account's domains",
      caller: 'accountKey',
      results: { 200: ['The domains.', DOMAIN_LIST.schema] },
      async handle(ctx) {
        const shown: Domain[] = [];
        for (const claim of await domains.list(ctx.state.account)) shown.push(await view(claim));
        return { domains: shown };
      },
    },
    {
      call: 'get /v1/domains/{id}',
      id: 'getDomain',
      tag: 'Domains',
      summary: 'Get a domain',
      caller: 'accountKey',
      results: { 200: ['The domain.', DOMAIN.schema] },
      errors: ['domainNotFound'],
      handle: async (ctx) => await view(await domains.get(ctx.state.account, idOf(ctx))),
    },
    {
      call: 'delete /v1/domains/{id}',
      id: 'removeDomain',
      tag: 'Domains',
      summary: 'Remove a domain',
      description: 'Tunnels that use the domain are closed.',
      caller: 'accountKey',
      results: { 200: ['The domain was removed.', REMOVED.schema] },
      errors: ['domainNotFound'],
      async handle(ctx) {
        const { account } = ctx.state;
        await writes.run(account.id, () => domains.remove(account, idOf(ctx)));
        return REMOVED.body;
      },
    },
    {
      call: 'post /v1/domains/{id}/verify',
      id: 'verifyDomain',
      tag: 'Domains',
      summary: 'Verify a domain',
      description: 'Checks both DNS records. The `checks` field shows what is missing.',
      caller: 'accountKey',
      results: { 200: ['The domain.', CHECKED_DOMAIN.schema] },
      errors: ['domainNotFound', 'domainTaken', 'rateLimited'],
      async handle(ctx): Promise<CheckedDomain> {
        // Not one of the account's writes: the DNS may take its time.
        const { claim, look } = await domains.verify(ctx.state.account, idOf(ctx));
        return { ...(await view(claim)), checks: [viewCheck(look.address), viewCheck(look.proof)] };
      },
    },
  ];
}

function viewCheck({ what, ok, found, problem }: Finding): DomainCheck {
  return { what, ok, found, problem };
}

function endOf({ verifiedAt, failingSince, createdAt }: DomainRecord): number | null {
  if (verifiedAt === null) return createdAt + DOMAIN_CLAIM_MS;
  return failingSince === null ? null : failingSince + DOMAIN_GRACE_MS;
}
