/**
 * Who may come in (docs/decisions/0017-gate.md): decided from a request's head, the visitor's address, the tunnel's `access` and
 * the time, and from nothing else.
 */
import { cookieValues } from '../../shared/http1/cookies.ts';
import type { RequestHead } from '../../shared/http1/head.ts';
import { type Credentials, gateCredentials, isFromElsewhere, isPreflight, type Way } from './credentials.ts';
import type { HeldAccess } from './held-access.ts';
import type { LinkTokens, SignedLink } from './link-tokens.ts';
import type { Passes, PassScope } from './passes.ts';
import { knockIdOf, linkIdOf, visitorByLink } from './visitors.ts';

/** A request at the gate. */
export interface Arrival {
  readonly head: RequestHead;
  /** Whether it brings a body, of whatever length. */
  readonly hasBody: boolean;
  /** Whether it offers a WebSocket. */
  readonly upgrade: boolean;
  readonly way: Way;
  /** of the visitor */
  readonly address: string;
  readonly tunnelId: string;
  /** wall time in ms at which the tunnel was made */
  readonly createdAt: number;
  /** id of the account that the tunnel belongs to */
  readonly account: string;
  /** `/t/{slug}` in the path form, else empty */
  readonly prefix: string;
  /** what the parameter of a signed link says; `undefined` where it is not there */
  readonly link: string | undefined;
  /** wall time in ms */
  readonly now: number;
}

/** What of a request was meant for the gate, and never reaches the local service. */
export interface Kept {
  /** `Authorization` */
  readonly authorization: boolean;
}

export type Verdict =
  /**
   * the visitor has access; `visitor`: who it is (visitors.ts), if it had to say; `until`: wall time in ms at which the right ends,
   * if it has an end of its own
   */
  | {
      readonly kind: 'pass';
      readonly visitor: string | undefined;
      readonly until?: number;
      readonly kept: Kept;
    }
  /** a preflight without credentials passes; only the status and the fields that answer it are passed on */
  | { readonly kind: 'preflight'; readonly kept: Kept }
  /** he comes in with a signed link */
  | { readonly kind: 'link'; readonly link: SignedLink; readonly visitor: string; readonly kept: Kept }
  /** he comes in if the password is right, which takes time to find out */
  | { readonly kind: 'check'; readonly credentials: Credentials; readonly hash: string | undefined }
  /** he is asked for what he has not shown; `knock` is the id of the knock for which he waits, or has waited */
  | { readonly kind: 'ask'; readonly knock: string | undefined }
  /** not from there, whatever he shows */
  | { readonly kind: 'address' };

export interface GateOptions {
  readonly passes: Passes;
  /** those of who has come with a link or has knocked, which live longer */
  readonly lastingPasses: Passes;
  readonly links: LinkTokens;
  /** name of the cookie that carries a pass, for the form of the address */
  readonly cookieName: (form: PassScope['form']) => string;
  /** Whether a pass of that visitor is still good, beyond its own end: links and admissions can be revoked. */
  readonly isGood: (tunnelId: string, visitor: string) => boolean;
}

const NOTHING: Kept = { authorization: false };

export class Gate {
  readonly #options: GateOptions;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  decide(access: HeldAccess, arrival: Arrival): Verdict {
    const { fields } = arrival.head;
    if (!access.allows(arrival.address)) return { kind: 'address' };
    if (!access.asks) return { kind: 'pass', visitor: undefined, kept: NOTHING };
    const credentials = gateCredentials(fields, access);
    const kept = { authorization: credentials !== undefined && access.hasUser(credentials.user) };
    // A browser adds cookies and passwords by itself, also to the WebSocket of another origin's page.
    const counts = !arrival.upgrade || !isFromElsewhere(arrival.head, arrival.way);
    const { pass, knock } = counts ? this.#bearer(access, arrival) : {};
    // Before links: another person's link must not replace the identity of a visitor who has access.
    if (pass !== undefined) return { kind: 'pass', ...pass, kept };
    const link = this.#link(access, arrival);
    if (link !== undefined) return { kind: 'link', link, visitor: visitorByLink(link), kept };
    if (credentials !== undefined && counts)
      return { kind: 'check', credentials, hash: access.hashOf(credentials.user) };
    // No browser sends credentials with it; the request that follows has to bring them.
    if (access.hasUsers && credentials === undefined && isPreflight(arrival.head, arrival.hasBody))
      return { kind: 'preflight', kept };
    return { kind: 'ask', knock };
  }

  /** Whether a pass of that visitor is still good, beyond its own end. */
  isGood(tunnelId: string, visitor: string): boolean {
    return this.#options.isGood(tunnelId, visitor);
  }

  /** The link that is followed, if it is good. */
  #link(access: HeldAccess, arrival: Arrival): SignedLink | undefined {
    const { head, hasBody, tunnelId, createdAt, link: token, now } = arrival;
    // The request that follows a preflight is asked for its own.
    if (token === undefined || !access.takesLinks || isPreflight(head, hasBody)) return undefined;
    const { links, isGood } = this.#options;
    const link = links.read(token, { id: tunnelId, createdAt }, now);
    return link !== undefined && isGood(tunnelId, visitorByLink(link)) ? link : undefined;
  }

  /** Who has a pass that is good; or who has knocked, and is not in. */
  #bearer(
    access: HeldAccess,
    { head, tunnelId, account, prefix, now }: Arrival,
  ): {
    readonly pass?: { readonly visitor: string; readonly until?: number };
    readonly knock?: string | undefined;
  } {
    const { passes, lastingPasses, cookieName, isGood } = this.#options;
    const form = prefix === '' ? 'host' : 'path';
    const scope = { tunnelId, version: access.version, form } as const;
    let knock: string | undefined;
    for (const value of cookieValues(head.fields, cookieName(form))) {
      const found = passes.read(value, scope, now, account) ?? lastingPasses.read(value, scope, now, account);
      if (found === undefined) continue;
      const { who: visitor, end } = found;
      // A password stays valid after its pass has ended; a link ends with its pass.
      if (isGood(tunnelId, visitor))
        return { pass: { visitor, ...(linkIdOf(visitor) !== undefined && { until: end }) } };
      knock ??= knockIdOf(visitor);
    }
    return { knock };
  }
}
