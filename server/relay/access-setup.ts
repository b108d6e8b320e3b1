/** The door of the relay's tunnels, with what it needs. */
import { ADMISSION_MAX_SECONDS, KNOCK_SECONDS } from '../../shared/knocks.ts';
import { LINK_MAX_TTL_SECONDS } from '../../shared/links.ts';
import { Gate, knockIdOf, linkIdOf } from '../access/access-check.ts';
import type { KnockWaits } from '../access/approval-requests.ts';
import { KeyRing, LinkTokens, Passes } from '../access/passes.ts';
import type { PasswordHashes } from '../access/password-hashes.ts';
import type { Clock } from '../clock.ts';
import { Knocking } from '../edge/approvals.ts';
import { passCookieName } from '../edge/request-head.ts';
import { Door } from '../edge/visitor-access.ts';
import { ACCESS_ATTEMPTS_PER_MINUTE, PASS_SECONDS, TUNNEL_ATTEMPTS_PER_MINUTE } from '../limits.ts';
import { RateLimiter } from '../rate-limiter.ts';
import type { Store } from '../store/store.ts';
import type { TunnelRegistry } from '../tunnels/registry.ts';
import type { TunnelKnocks } from '../tunnels/tunnel-approvals.ts';

/** s that a signed link is valid at most, or the cookie of a visitor who knocks. */
const LASTING_SECONDS = Math.max(LINK_MAX_TTL_SECONDS, KNOCK_SECONDS + ADMISSION_MAX_SECONDS);

export interface DoorwayOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly hashes: PasswordHashes;
  readonly registry: Pick<TunnelRegistry, 'byId'>;
  readonly knocks: Pick<TunnelKnocks, 'knock'>;
  readonly waits: Pick<KnockWaits, 'wait'>;
  /** Whether tunnels are visited with https. */
  readonly secure: boolean;
  /** address of a link for complaints */
  readonly contact: string | undefined;
}

export interface Doorway {
  readonly door: Door;
  /** of passes, and of signed links */
  readonly keys: readonly KeyRing[];
  /** of signed links */
  readonly links: LinkTokens;
}

/** @throws StoreError */
export async function openDoor({
  store,
  clock,
  hashes,
  registry,
  knocks,
  waits,
  secure,
  contact,
}: DoorwayOptions): Promise<Doorway> {
  const passKeys: KeyRing = new KeyRing({
    store,
    name: 'pass',
    lifetime: PASS_SECONDS * 1000,
    clock,
    changed: () => passes.forget(),
  });
  const passes = new Passes('visit', () => passKeys.keys);
  // Links and admissions may be valid longer than other passes.
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
  const gate = new Gate({
    passes,
    lastingPasses,
    links,
    cookieName: (form) => passCookieName(form, secure),
    isGood: (tunnelId, visitor) => {
      const link = linkIdOf(visitor);
      if (link !== undefined) return registry.byId(tunnelId)?.revokedLinks.has(link) !== true;
      const knock = knockIdOf(visitor);
      return knock === undefined || registry.byId(tunnelId)?.knocks.isAdmitted(knock, clock.now()) === true;
    },
  });
  const now = (): number => clock.now();
  const knocking = new Knocking({ knocks, waits, passes: lastingPasses, secure, contact, now });
  const attemptsOf = (perMinute: number): RateLimiter =>
    new RateLimiter(clock, { perMinute, burst: perMinute });
  const attempts = attemptsOf(ACCESS_ATTEMPTS_PER_MINUTE);
  const tunnelAttempts = attemptsOf(TUNNEL_ATTEMPTS_PER_MINUTE);
  return {
    door: new Door({
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
