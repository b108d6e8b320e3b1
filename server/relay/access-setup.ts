/** Sets up access to the relay's tunnels. */
import { ADMISSION_MAX_SECONDS, KNOCK_SECONDS } from '../../shared/knocks.ts';
import { LINK_MAX_TTL_SECONDS } from '../../shared/links.ts';
import { AccessCheck, approvalIdOf, linkIdOf } from '../access/access-check.ts';
import type { ApprovalWaits } from '../access/approval-requests.ts';
import { KeyRing, LinkTokens, Passes } from '../access/passes.ts';
import type { PasswordHashes } from '../access/password-hashes.ts';
import type { Clock } from '../clock.ts';
import { Approvals } from '../edge/approvals.ts';
import { passCookieName } from '../edge/request-head.ts';
import { VisitorAccess } from '../edge/visitor-access.ts';
import { ACCESS_ATTEMPTS_PER_MINUTE, PASS_SECONDS, TUNNEL_ATTEMPTS_PER_MINUTE } from '../limits.ts';
import { RateLimiter } from '../rate-limiter.ts';
import type { Store } from '../store/store.ts';
import type { TunnelRegistry } from '../tunnels/registry.ts';
import type { TunnelApprovals } from '../tunnels/tunnel-approvals.ts';

/** Longest validity in seconds of a signed link, or of the cookie of a visitor who asks for approval. */
const LASTING_SECONDS = Math.max(LINK_MAX_TTL_SECONDS, KNOCK_SECONDS + ADMISSION_MAX_SECONDS);

export interface AccessSetupOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly hashes: PasswordHashes;
  readonly registry: Pick<TunnelRegistry, 'byId'>;
  readonly knocks: Pick<TunnelApprovals, 'knock'>;
  readonly waits: Pick<ApprovalWaits, 'wait'>;
  /** Whether tunnels are visited with https. */
  readonly secure: boolean;
  /** address of a link for complaints */
  readonly contact: string | undefined;
}

export interface AccessSetup {
  readonly visitorAccess: VisitorAccess;
  /** of passes, and of signed links */
  readonly keys: readonly KeyRing[];
  /** of signed links */
  readonly links: LinkTokens;
}

/** @throws StoreError */
export async function setUpAccess({
  store,
  clock,
  hashes,
  registry,
  knocks,
  waits,
  secure,
  contact,
}: AccessSetupOptions): Promise<AccessSetup> {
  const passKeys: KeyRing = new KeyRing({
    store,
    name: 'pass',
    lifetime: PASS_SECONDS * 1000,
    clock,
    changed: () => passes.forget(),
  });
  const passes = new Passes('visit', () => passKeys.keys);
  // Links and approvals may be valid longer than other passes.
  const linkKeys: KeyRing = new KeyRing({
    store,
    name: 'links',
    lifetime: LASTING_SECONDS * 1000,
    clock,
    changed: () => lastingPasses.forget(),
  });
  const lastingPasses = new Passes('lasting', () => linkKeys.keys);
  const links = new LinkTokens((createdAt) => linkKeys.keysSince(createdAt));
  const keys = [passKeys, linkKeys];
  for (const ring of keys) await ring.start();
  const gate = new AccessCheck({
    passes,
    lastingPasses,
    links,
    cookieName: (form) => passCookieName(form, secure),
    isGood: (tunnelId, visitor) => {
      const link = linkIdOf(visitor);
      if (link !== undefined) return registry.byId(tunnelId)?.revokedLinks.has(link) !== true;
      const knock = approvalIdOf(visitor);
      return knock === undefined || registry.byId(tunnelId)?.knocks.isApproved(knock, clock.now()) === true;
    },
  });
  const now = (): number => clock.now();
  const knocking = new Approvals({ knocks, waits, passes: lastingPasses, secure, contact, now });
  const attemptsOf = (perMinute: number): RateLimiter =>
    new RateLimiter(clock, { perMinute, burst: perMinute });
  const attempts = attemptsOf(ACCESS_ATTEMPTS_PER_MINUTE);
  const tunnelAttempts = attemptsOf(TUNNEL_ATTEMPTS_PER_MINUTE);
  return {
    visitorAccess: new VisitorAccess({
      gate,
      passes,
      lastingPasses,
      hashes,
      knocking,
      attempts,
      tunnelAttempts,
      secure,
      contact,
      now,
    }),
    keys,
    links,
  };
}
