import { type Mutation, unit } from '../mutation.ts';

/** Certificates, and the DNS that proves names for them. */
export const CERTIFICATES: readonly Mutation[] = [
  {
    part: 'certificates',
    notice: 'visitors are shown a certificate that has ended, and their browsers refuse it',
    file: 'server/certificates/known-certificates.ts',
    find: 'return summary !== undefined && summary.notAfter > this.#clock.now() ? summary : undefined;',
    replace: 'return summary;',
    tests: unit('KnownCertificates are not used after their end, and then removed'),
  },
  {
    part: 'certificates',
    notice: 'a relay that is replaced leaves questions to its DNS without an answer',
    file: 'server/certificates/dns/udp-listener.ts',
    find: 'if (this.#isLeaving && this.#waiting === 0) this.close();',
    replace: 'if (this.#isLeaving) this.close();',
    tests: unit('the DNS server answers what it has taken before it leaves'),
  },
  {
    part: 'certificates',
    notice: 'the DNS of the relay says of zones of other classes, and of whole zones, what nobody is to know',
    file: 'server/certificates/dns/authority.ts',
    find: 'return isMeta || of !== CLASS_IN ? Code.refused : undefined;',
    replace: 'return undefined;',
    tests: unit(
      'the authority for challenges refuses the root, other classes, and questions for whole zones',
    ),
  },
  {
    part: 'certificates',
    notice: 'one account uses up the orders of an hour, and tunnels of others have no certificate',
    file: 'server/certificates/orders.ts',
    find: 'const perAccount = Math.ceil(most * ORDERS_OF_ACCOUNT_SHARE);',
    replace: 'const perAccount = most;',
    tests: unit(
      'Orders are no more for one account in an hour than half of those for visitors, so that others get theirs',
    ),
  },
  {
    part: 'certificates',
    notice: 'visitors drive the authority to a limit, and the certificate of the relay itself is not renewed',
    file: 'server/certificates/pauses.ts',
    find: "isLimit && cause === 'visitor' ? [this.#of.visitor] : Object.values(this.#of);",
    replace: 'isLimit ? Object.values(this.#of) : Object.values(this.#of);',
    tests: unit(
      'Orders that visitors have driven to a limit of the authority keep nothing from being renewed',
    ),
  },
  {
    part: 'certificates',
    notice:
      'a relay that starts again after its DNS was mended orders nothing for minutes, because a visitor came first',
    file: 'server/certificates/orders.ts',
    find: 'const isOver = (await known) || !ignoreWait;',
    replace: 'const isOver = (await known) || true;',
    tests: unit(
      'Orders begin at once for whom earlier failures do not matter, though a visitor for whom they do came first',
    ),
  },
  {
    part: 'certificates',
    notice: 'a relay is replaced while a certificate is ordered, and its visitors get a warning',
    file: 'server/certificates/presented.ts',
    find: 'const put = this.#store.putChallenge(challenge, this.#clock.now());',
    replace: 'const put = Promise.resolve();',
    tests: unit('PresentedChallenges are found by the relay that replaces the one that has presented them'),
  },
];
