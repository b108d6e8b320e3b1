import { type Mutation, protocol, unit } from '../mutation.ts';

/** Domains that users bring: whose they are, and what becomes of them. */
export const DOMAINS: readonly Mutation[] = [
  {
    part: 'tunnels',
    notice: 'a domain goes to whoever proves it last, though its owner has never let go of it',
    file: 'server/domains/held-domains.ts',
    find: 'if (isOthers && proofs.includes(proofText(holder.proof))) throw new ApiError(API_ERRORS.domainTaken);',
    replace: '',
    tests: unit(
      'domains in the REST interface gives it to whoever proves it once the proof of before is gone, and ends the tunnel',
    ),
  },
  {
    part: 'tunnels',
    notice: 'a DNS server that is down for a week takes a domain away from its owner',
    file: 'server/domains/domain-look.ts',
    find: 'const isWrong = [proof, address].some((finding) => !finding.ok && finding.certain);',
    replace: 'const isWrong = [proof, address].some((finding) => !finding.ok);',
    tests: unit('DomainWatch takes no domain away, and forgets nothing, because the DNS does not answer'),
  },
  {
    part: 'tunnels',
    notice: 'a relay that was replaced takes domains away behind the back of the one that serves',
    file: 'server/domains/domain-watch.ts',
    find: 'if (this.#isStopped) return;\n    const',
    replace: 'const',
    tests: unit(
      'DomainWatch stores nothing once it has stopped, whatever an answer says, and looks again when it is started',
    ),
  },
  {
    part: 'tunnels',
    notice: 'a key that is for one tunnel gives up the domains of its whole account',
    file: 'server/api/routes.ts',
    find: "router.delete('/v1/domains/:id', accountKey, removeDomain);",
    replace: "router.delete('/v1/domains/:id', tunnelKey, removeDomain);",
    tests: protocol(
      'domains (docs/protocol.md section 12) are used by keys for one tunnel, which see and change none',
    ),
  },
];
