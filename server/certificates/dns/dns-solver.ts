/** Proves domains by records in the DNS (RFC 8555 section 8.4). */
import { createHash } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { ChallengeRecord } from '../../store/records.ts';
import type { ChallengeSolver } from '../solver.ts';
import type { PendingText } from './pending-texts.ts';
import { challengeName } from './zones.ts';

/** ms for which relays and resolvers may go on to say that there is no challenge, and then some. */
const DNS_SETTLE_MS = 2000;

/**
 * @param solver keeps challenges where all relays find them
 * @returns the same, which waits until every relay has read them, and resolvers have forgotten that there was nothing
 */
export function dnsSolver(solver: ChallengeSolver, clock: Clock): ChallengeSolver {
  return {
    ...solver,
    async present(challenge) {
      await solver.present(challenge);
      await new Promise<void>((resolve) => {
        clock.setTimeout(resolve, DNS_SETTLE_MS);
      });
    },
  };
}

/** What an authority looks for. */
export function textOf({ host, keyAuthorization }: ChallengeRecord): PendingText {
  const text = createHash('sha256').update(keyAuthorization).digest('base64url');
  return { name: challengeName(host), text };
}
