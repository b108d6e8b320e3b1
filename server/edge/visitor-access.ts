/**
 * Applies a tunnel's access policy to its visitors (docs/decisions/0017-gate.md). The access check decides; this turns
 * the verdict into a response or lets the request pass.
 */
import { cookieValues, fieldValue, prefersHtml } from '../../shared/http1/fields.ts';
import type { RequestHead } from '../../shared/http1/head.ts';
import {
  type AccessCheck,
  type Credentials,
  hostOf,
  isAdmitted,
  isAgentAdmitted,
  isSentFromHere,
  type Kept,
  PassedPasswords,
  visitorByLink,
} from '../access/access-check.ts';
import type { AccessPolicy } from '../access/access-policy.ts';
import { PASS_SECONDS, type Passes, passScope, personScope, type SignedLink } from '../access/passes.ts';
import type { PasswordHashes } from '../access/password-hashes.ts';
import { signedInOf } from '../access/people.ts';
import type { Place, SignIn } from '../access/sign-in.ts';
import type { CreateLimiter } from '../rate-limiter.ts';
import type { StoredToken } from '../store/records.ts';
import { TenantCache } from '../tenant-cache.ts';
import type { AgentEntrance, AgentVisitor } from '../oauth/entrance.ts';
import { StoreError } from '../store/store-errors.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { OnceLinks } from '../tunnels/once-links.ts';
import {
  accessPage,
  type AccessPageContext,
  type AccessStep,
  accessStep,
  arrivalOf,
  notFoundResponse,
  openAddress,
  openPage,
  PASSWORD_FIELD,
  plainTarget,
  redirect,
  signInAddress,
  startsAuthorization,
} from './access-pages.ts';
import { BusyError } from '../turnstile.ts';
import type { Approvals } from './approvals.ts';
import { errorResponse, type OwnResponse, reply, requestFacts, type Visit } from './builtin-responses.ts';
import { endedPassCookie, passCookie, signingBrowser } from './request-head.ts';
import { refusedResponse, signedOutResponse, signInErrorResponse } from './sign-in-pages.ts';

/**
 * Maximum number of wrong passwords and tokens that an IP address may send to a tunnel per minute, and in one
 * burst.
 * @limit visitor: Wrong passwords and tokens from one IP address, per tunnel | 429 `access-attempts`
 */
export const ACCESS_ATTEMPTS_PER_MINUTE = 10;
/**
 * Maximum number of wrong passwords, per minute and in one burst, that a tunnel checks for all unknown addresses
 * combined.
 */
export const TUNNEL_ATTEMPTS_PER_MINUTE = 60;
/**
 * Maximum number of addresses that are remembered for having sent a correct password to any tunnel; about 2 MB.
 */
const KNOWN_NETWORKS_MAX = 10_000;

/** A visitor who has access. */
export interface AllowedVisitor {
  /** the identity (server/access/access-check.ts); `undefined` if none was required */
  readonly visitor: string | undefined;
  /** of the `access` that the visitor met */
  readonly version: string;
  /** hash of the token that gave access; the visitor keeps it as long as the tunnel keeps the token */
  readonly token?: string;
  /** the agent that was admitted by OAuth; it keeps its access as long as the tunnel keeps it */
  readonly agent?: AgentVisitor;
  /** when the visitor's right ends, wall time in ms; `undefined` if it has no end of its own */
  readonly until?: number | undefined;
  /** Whether it is a preflight without credentials: only the status and the fields that answer it are passed on. */
  readonly isPreflight?: true;
  /** parts of the request that are not for the local service */
  readonly kept: Kept;
  /** a `Set-Cookie` that identifies the visitor */
  readonly cookie: string | undefined;
}

/** A request whose access is to be decided. */
export interface Arriving extends Visit {
  /** the value of a signed link's parameter; `undefined` if it is missing */
  readonly link: string | undefined;
  /** Whether it offers a WebSocket. */
  readonly upgrade: boolean;
  /** Whether it has a body. */
  readonly hasBody: boolean;
}

/** The sender of a request. */
interface Whereabouts {
  readonly address: string;
  /** groups addresses whose wrong passwords are counted together */
  readonly network: string;
  /** Whether it comes through a proxy whose forwarded fields are trusted. */
  readonly trusted: boolean;
}

/** The request submits the form of the access page: its body is for {@link VisitorAccess.submit}. */
export interface FormEntry {
  readonly form: Visit & { readonly access: AccessPolicy };
}

/** A visitor with access, or the response instead. */
export type Entry = AllowedVisitor | FormEntry | OwnResponse;

/**
 * Whether a visitor still has access. `barred`: the access policy of the tunnel no longer allows it. `revoked`: the visitor's own
 * right is over, or the tunnel is suspended.
 */
export type Standing = 'allowed' | 'barred' | 'revoked';

interface VisitorAccessOptions {
  readonly gate: AccessCheck;
  readonly passes: Passes;
  /** of visitors who used a link */
  readonly lastingPasses: Passes;
  /** of visitors who have signed in */
  readonly personPasses: Passes;
  readonly signIn: SignIn;
  /** agents that are admitted by OAuth */
  readonly agents: Pick<AgentEntrance, 'respond' | 'challenge' | 'find' | 'note'>;
  readonly hashes: Pick<PasswordHashes, 'matches'>;
  readonly knocking: Pick<Approvals, 'respond'>;
  /** links that admit one browser */
  readonly onceLinks: Pick<OnceLinks, 'use' | 'isKnownUsed'>;
  /** wrong passwords, by tunnel and network */
  readonly attempts: CreateLimiter;
  /** wrong passwords of unknown networks, by tunnel */
  readonly tunnelAttempts: CreateLimiter;
  /** Whether tunnels are visited with https. */
  readonly secure: boolean;
  /** address of a link for complaints */
  readonly contact: string | undefined;
  /** wall time in ms */
  readonly now: () => number;
}

/** The user name for the page's password in the cache: user names of HTTP Basic cannot contain a colon. */
const PAGE_USER = ':';

export class VisitorAccess {
  readonly #options: VisitorAccessOptions;
  readonly #passed = new PassedPasswords();
  /** networks known to have used a correct password, by tunnel */
  readonly #known = new TenantCache<true>(KNOWN_NETWORKS_MAX);

  constructor(options: VisitorAccessOptions) {
    this.#options = options;
  }

  /**
   * @param from the sender of the request
   * @returns `undefined` for a tunnel without an access policy; a promise if a password has to be checked, or the
   *   visitor waits for an answer, which never rejects
   */
  enter(
    head: RequestHead,
    visit: Arriving,
    from: Whereabouts,
  ): Entry | Promise<Entry | undefined> | undefined {
    const { access, account, linkScope, linksSince, id: tunnelId } = visit.tunnel;
    const { address, trusted } = from;
    const { link, prefix, host, upgrade, hasBody } = visit;
    const step = this.#stepOf(head, visit);
    const leadsOn = step !== undefined || (link !== undefined && isFollowed(head, visit));
    // A waiting visitor continues if the tunnel has no access policy by now.
    if (access === undefined) return leadsOn && step !== 'password' ? redirect(visit, undefined) : undefined;
    if (step !== undefined && SIGN_IN_STEPS.has(step) && access.allows(address)) {
      const contact = this.#options.contact;
      if (step === 'sign-out')
        return signedOutResponse({ head, visit, contact }, endedPassCookie(prefix, this.#options.secure));
      if (step === 'sign-in-other') return this.#beginSignIn(head, visit, true);
      if (step === 'arrive') return this.#arrive(head, visit);
    }
    const { gate, now, secure } = this.#options;
    const way = { trusted, secure };
    const tunnel = { tunnelId, linkScope, linksSince, account: account.id };
    const arrival = { head, hasBody, upgrade, way, address, ...tunnel, prefix, host, link, now: now() };
    const verdict = gate.decide(access, arrival);
    if (access.takesAgents && verdict.kind !== 'address') {
      const visitor = verdict.kind === 'pass' ? verdict.visitor : undefined;
      const response = this.#options.agents.respond({ head, visit, way }, visitor);
      if (response !== undefined) return response;
    }
    // A submitted form never reaches the tunnel, whatever else the request contains.
    if (verdict.kind !== 'address' && step === 'password')
      return isSentFromHere(head)
        ? { form: { ...visit, access } }
        : this.#refuse('access-required', head, visit, access, from);
    const isLet = verdict.kind === 'pass' || verdict.kind === 'link';
    if (step === 'sign-in' && verdict.kind !== 'address' && !isLet)
      return this.#beginSignIn(head, visit, false);
    switch (verdict.kind) {
      case 'link': {
        if (verdict.link.once === true)
          return this.#openOnce(head, visit, access, from, { link: verdict.link, step });
        const cookie = this.#linkCookie(visit, access, verdict.visitor, verdict.link.end);
        if (leadsOn) return redirect(visit, cookie);
        const { visitor, kept } = verdict;
        return { visitor, version: access.version, until: verdict.link.end * 1000, kept, cookie };
      }
      case 'pass': {
        if (leadsOn) return redirect(visit, undefined);
        const { visitor, until, kept } = verdict;
        return { visitor, version: access.version, until, kept, cookie: undefined };
      }
      case 'preflight': {
        const { version } = access;
        return { visitor: undefined, version, isPreflight: true, kept: verdict.kept, cookie: undefined };
      }
      case 'address':
        return this.#refuse('access-address', head, visit, access, from);
      case 'ask': {
        const { knock, refused } = verdict;
        if (access.isForPeopleWhoSignIn) return this.#askToSignIn(head, visit, access, from, refused);
        const told = access.takesApprovalRequests
          ? this.#options.knocking.respond({ head, visit, access, address, knock, step })
          : undefined;
        return (
          told ??
          this.#refuse('access-required', head, visit, access, from, {
            link: link === undefined ? undefined : 'ended',
          })
        );
      }
      case 'token':
        return this.#enterWithToken(head, visit, access, from, verdict.token);
      case 'agent':
        return this.#enterAsAgent(head, visit, access, from, verdict.token);
      case 'check':
        return this.#checkOrRemember(head, visit, access, from, verdict);
    }
  }

  /**
   * Handles a submitted form. The current `access` of the tunnel applies: its owner may have changed it since the head
   * of the request arrived.
   *
   * @param from as for {@link enter}
   * @returns never rejects
   */
  async submit(head: RequestHead, entry: FormEntry, from: Whereabouts, body: string): Promise<OwnResponse> {
    const { form } = entry;
    const { access } = form.tunnel;
    if (access === undefined) return redirect(form, undefined);
    if (!access.allows(from.address)) return this.#refuse('access-address', head, form, access, from);
    const password = new URLSearchParams(body).get(PASSWORD_FIELD) ?? '';
    const { stored } = access;
    if (stored.password === null) return redirect(form, undefined);
    const problem = await this.checkPassword(form.tunnel, access, from.network, password);
    if (form.tunnel.access !== access) return await this.submit(head, entry, from, body);
    if (problem !== undefined)
      return this.#refuse(problem, head, form, access, from, { wasWrong: problem === 'access-required' });
    return redirect(form, this.#cookie(form, access, 'password'));
  }

  /**
   * Checks a password that somebody has typed into a page, and counts wrong ones.
   *
   * @returns why it is not accepted
   */
  async checkPassword(
    tunnel: LiveTunnel,
    access: AccessPolicy,
    network: string,
    password: string,
  ): Promise<'access-required' | 'access-attempts' | undefined> {
    const credentials = { user: PAGE_USER, password };
    if (await this.#remembers({ tunnel }, access, network, credentials)) return undefined;
    const problem = await this.#try({ tunnel }, network, password, access.stored.password ?? undefined);
    if (problem === undefined) this.#passed.add(tunnel.account.id, access.version, credentials);
    return problem;
  }

  /**
   * Whether a visitor who got access still has it.
   *
   * @param address as for {@link enter}
   * @param entrant what gave the visitor access; `undefined` if the tunnel had no access policy
   */
  standing(
    { id, access, revokedLinks }: LiveTunnel,
    address: string,
    entrant: AllowedVisitor | undefined,
  ): Standing {
    if (access === undefined) return 'allowed';
    if (!access.allows(address)) return 'barred';
    if (!access.asks) return 'allowed';
    if (entrant?.token !== undefined) return access.hasToken(entrant.token) ? 'allowed' : 'revoked';
    if (entrant?.agent !== undefined) {
      const isOver = !access.takesAgents || revokedLinks.has(entrant.agent.id);
      return isOver || !isAgentAdmitted(access, entrant.agent) ? 'revoked' : 'allowed';
    }
    const { gate, now } = this.#options;
    if (entrant?.visitor !== undefined && signedInOf(entrant.visitor) !== undefined) {
      if (!isAdmitted(access, entrant.visitor)) return 'barred';
      return (entrant.until ?? Infinity) <= now() ? 'revoked' : 'allowed';
    }
    if (entrant?.version !== access.version) return 'barred';
    const { visitor, until = Infinity } = entrant;
    return until <= now() || (visitor !== undefined && !gate.isGood(id, visitor)) ? 'revoked' : 'allowed';
  }

  /** What a request wants from the access page. Addresses about signing in are the service's where nobody can. */
  #stepOf(head: RequestHead, visit: Arriving): AccessStep | undefined {
    const step = accessStep(head, visit);
    const isOffered = visit.tunnel.access?.signIn.isEmpty === false;
    if (step === undefined || isOffered || !SIGN_IN_STEPS.has(step)) return step;
    if (step === 'sign-out') return undefined;
    // The owner may have changed the rules during a sign-in.
    return step !== 'arrive' || this.#options.signIn.isArrival(arrivalOf(visit.target) ?? '')
      ? 'leave'
      : undefined;
  }

  /** A person without access, at a tunnel that people can only sign in to. */
  #askToSignIn(
    head: RequestHead,
    visit: Arriving,
    access: AccessPolicy,
    from: Whereabouts,
    refused: string | undefined,
  ): OwnResponse {
    const { contact } = this.#options;
    if (refused !== undefined) return refusedResponse({ head, visit, contact }, refused, false);
    const isPerson = !visit.upgrade && prefersHtml(fieldValue(head.fields, 'accept'));
    if (!isPerson) return this.#refuse('access-required', head, visit, access, from);
    // The path form may be asked for by another name of the relay, which a person does not come back to.
    const { host, origin } = this.#options.signIn.publicUrl;
    if (visit.prefix === '' || (fieldValue(head.fields, 'host') ?? '').toLowerCase() === host)
      return this.#beginSignIn(head, visit, false);
    return reply({ status: 302, fields: `Location: ${origin}${signInAddress(visit)}\r\nVary: Accept\r\n` });
  }

  /** @param isOther whether the person wants to be somebody else than the provider thinks */
  #beginSignIn(head: RequestHead, visit: Arriving, isOther: boolean): OwnResponse {
    const { signIn, secure, contact } = this.#options;
    if (!signIn.isReady) return signInErrorResponse({ head, visit, contact }, 'sign-in-unavailable');
    const { value, cookie } = signingBrowser((name) => cookieValues(head.fields, name), visit, secure);
    const location = signIn.begin(placeOf(head, visit), value, isOther);
    const fields = `Location: ${location}\r\nSet-Cookie: ${cookie}\r\nReferrer-Policy: no-referrer\r\n`;
    return reply({ status: 302, fields: `${fields}Vary: Accept\r\n` });
  }

  /** A person comes back from the sign-in. */
  async #arrive(head: RequestHead, visit: Arriving): Promise<OwnResponse> {
    const { signIn, secure, contact, personPasses, now } = this.#options;
    const { tunnel, prefix, target } = visit;
    const { values } = signingBrowser((name) => cookieValues(head.fields, name), visit, secure);
    const visitor = await signIn.arrive(arrivalOf(target) ?? '', placeOf(head, visit), values);
    const context = { head, visit, contact };
    if (visitor === undefined) return signInErrorResponse(context, 'sign-in-failed');
    // The rules may have changed in the meantime.
    const { access } = tunnel;
    if (access === undefined) return redirect(visit, undefined);
    if (!isAdmitted(access, visitor)) return refusedResponse(context, visitor, !access.isForPeopleWhoSignIn);
    const { seconds } = signIn;
    const scope = personScope(tunnel.id, { prefix, host: hostOf(head) });
    const value = personPasses.make(scope, visitor, Math.floor(now() / 1000) + seconds);
    return redirect(visit, passCookie({ value, prefix, secure, seconds }));
  }

  /** @param token `undefined` for a wrong one */
  #enterWithToken(
    head: RequestHead,
    visit: Arriving,
    access: AccessPolicy,
    from: Whereabouts,
    token: StoredToken | undefined,
  ): Entry | Promise<Entry> {
    const { tunnel } = visit;
    const who = triesOf(tunnel, from.network);
    if (token === undefined) return this.#refuseToken(head, visit, access, from);
    if (this.#known.get(who) !== true) this.#known.set(tunnel.account.id, who, true);
    tunnel.tokenUses.note(token.hash);
    const { version } = access;
    const visitor = `token:${token.name}`;
    return { visitor, version, token: token.hash, kept: { authorization: true }, cookie: undefined };
  }

  /** @param token `undefined` with other credentials that services may take for it */
  #enterAsAgent(
    head: RequestHead,
    visit: Arriving,
    access: AccessPolicy,
    from: Whereabouts,
    token: string | undefined,
  ): Entry | Promise<Entry | undefined> {
    const { agents, contact } = this.#options;
    const decide = (found: AgentVisitor | 'wrong' | 'expired'): Entry | Promise<Entry> => {
      if (found === 'wrong') return this.#refuseToken(head, visit, access, from);
      if (found === 'expired' || !isAgentAdmitted(access, found))
        return this.#refuse('access-required', head, visit, access, from, { isWrongToken: true });
      agents.note(found.id);
      const { version } = access;
      return {
        visitor: found.visitor,
        version,
        agent: found,
        kept: { authorization: true },
        cookie: undefined,
      };
    };
    const found = token === undefined ? 'wrong' : agents.find(visit.tunnel, access, token);
    if (!(found instanceof Promise)) return decide(found);
    return found.then(
      (known) => (visit.tunnel.access === access ? decide(known) : this.enter(head, visit, from)),
      (error: unknown) => {
        if (!(error instanceof StoreError || error instanceof BusyError)) throw error;
        return errorResponse('relay-busy', requestFacts({ head }), contact);
      },
    );
  }

  /** A token cannot be guessed, so others' wrong ones must not keep a right one out, nor a password. */
  #refuseToken(
    head: RequestHead,
    visit: Visit,
    access: AccessPolicy,
    from: Whereabouts,
  ): OwnResponse | Promise<OwnResponse> {
    const taken = this.#options.attempts.take(triesOf(visit.tunnel, from.network));
    const refuse = (wait: number): OwnResponse => {
      const code = wait > 0 ? 'access-attempts' : 'access-required';
      return this.#refuse(code, head, visit, access, from, { isWrongToken: true });
    };
    return typeof taken === 'number' ? refuse(taken) : taken.then(refuse);
  }

  #checkOrRemember(
    head: RequestHead,
    visit: Arriving,
    access: AccessPolicy,
    from: Whereabouts,
    check: { readonly credentials: Credentials; readonly hash: string | undefined },
  ): Entry | Promise<Entry | undefined> {
    const decide = (isRemembered: boolean): Entry | Promise<Entry | undefined> =>
      isRemembered
        ? this.#allow(head, visit, access, check.credentials)
        : this.#check(head, visit, access, from, check);
    const remembers = this.#remembers(visit, access, from.network, check.credentials);
    return typeof remembers === 'boolean' ? decide(remembers) : remembers.then(decide);
  }

  /**
   * Whether a password is known to be correct. Not used when no more attempts are allowed: otherwise, a password that
   * was used recently could be guessed as fast as requests arrive.
   */
  #remembers(
    { tunnel }: Pick<Visit, 'tunnel'>,
    { version }: AccessPolicy,
    network: string,
    credentials: Credentials,
  ): boolean | Promise<boolean> {
    if (!this.#passed.has(version, credentials)) return false;
    const { attempts, tunnelAttempts } = this.#options;
    const who = triesOf(tunnel, network);
    const isKnown = this.#known.get(who) === true;
    const outs = [attempts.isOut(who), isKnown ? false : tunnelAttempts.isOut(tunnel.id)];
    const decide = (areOut: readonly boolean[]): boolean => {
      if (areOut.includes(true)) return false;
      if (!isKnown) this.#known.set(tunnel.account.id, who, true);
      return true;
    };
    if (outs.every((out) => typeof out === 'boolean')) return decide(outs);
    return Promise.all(outs.map((out) => Promise.resolve(out))).then(decide);
  }

  /** @returns why the password is not accepted */
  async #try(
    { tunnel }: Pick<Visit, 'tunnel'>,
    network: string,
    password: string,
    hash: string | undefined,
  ): Promise<'access-required' | 'access-attempts' | undefined> {
    const { attempts, tunnelAttempts, hashes } = this.#options;
    const { id, account } = tunnel;
    const who = triesOf(tunnel, network);
    const isKnown = this.#known.get(who) === true;
    // Before the hash, so that simultaneous attempts are also counted.
    if ((await attempts.take(who)) > 0) return 'access-attempts';
    if (!isKnown && (await tunnelAttempts.take(id)) > 0) {
      await attempts.giveBack(who);
      return 'access-attempts';
    }
    const giveBack = async (): Promise<void> => {
      await Promise.all([attempts.giveBack(who), isKnown ? undefined : tunnelAttempts.giveBack(id)]);
    };
    try {
      if (!(await hashes.matches(password, hash, { account: account.id, tunnel: id })))
        return 'access-required';
      await giveBack();
      this.#known.set(account.id, who, true);
      return undefined;
    } catch (error) {
      if (!(error instanceof BusyError)) throw error;
      await giveBack();
      return 'access-attempts';
    }
  }

  async #check(
    head: RequestHead,
    visit: Arriving,
    access: AccessPolicy,
    from: Whereabouts,
    { credentials, hash }: { readonly credentials: Credentials; readonly hash: string | undefined },
  ): Promise<Entry | undefined> {
    const problem = await this.#try(visit, from.network, credentials.password, hash);
    // The owner changed the access while the password was checked.
    if (visit.tunnel.access !== access) return await this.enter(head, visit, from);
    if (problem !== undefined) return this.#refuse(problem, head, visit, access, from);
    this.#passed.add(visit.tunnel.account.id, access.version, credentials);
    return this.#allow(head, visit, access, credentials);
  }

  #allow(head: RequestHead, visit: Visit, access: AccessPolicy, { user }: Credentials): AllowedVisitor {
    const visitor = `basic:${user}`;
    // Programs send their credentials each time; a browser does not for a WebSocket.
    const isBrowser = fieldValue(head.fields, 'sec-fetch-mode') !== undefined;
    const cookie = isBrowser ? this.#cookie(visit, access, visitor) : undefined;
    return { visitor, version: access.version, kept: { authorization: true }, cookie };
  }

  /**
   * A link that admits one browser. Programs that preview a link, and browsers that fetch it in advance, must not use it
   * up: they do not keep a cookie and navigate, nor press a button.
   */
  #openOnce(
    head: RequestHead,
    visit: Arriving,
    access: AccessPolicy,
    from: Whereabouts,
    { link, step }: { readonly link: SignedLink; readonly step: AccessStep | undefined },
  ): OwnResponse | Promise<Entry | undefined> {
    const { onceLinks, secure, contact, now } = this.#options;
    // The browser may have to open the link again: its pass ends with a change of the access policy.
    const seconds = link.end - Math.floor(now() / 1000);
    const cookies = (name: string): string[] => cookieValues(head.fields, name);
    const { values, value, cookie } = signingBrowser(cookies, visit, secure, seconds);
    const isPressed = step === 'open' && head.method === 'POST' && isSentFromHere(head);
    const isGoing = isNavigation(head) && !visit.upgrade && !visit.hasBody;
    if (values.length > 0 && (isPressed || isGoing))
      return this.#useOnce(head, visit, access, from, { link, browser: value, cookie });
    if (onceLinks.isKnownUsed(link.id))
      return this.#refuse('access-required', head, visit, access, from, { link: 'used' });
    const address = openAddress(visit);
    if (isGoing && step !== 'open')
      return reply({ status: 303, fields: `Location: ${address}\r\nSet-Cookie: ${cookie}\r\n` });
    return openPage({ head, contact }, { address, cookie, hadNoCookie: isPressed });
  }

  async #useOnce(
    head: RequestHead,
    visit: Arriving,
    access: AccessPolicy,
    from: Whereabouts,
    {
      link,
      browser,
      cookie,
    }: { readonly link: SignedLink; readonly browser: string; readonly cookie: string },
  ): Promise<Entry | undefined> {
    const { onceLinks, gate, contact } = this.#options;
    const { tunnel } = visit;
    try {
      const use = await onceLinks.use(tunnel, link.id, browser);
      // The owner may have changed the access in the meantime.
      if (tunnel.access !== access) return await this.enter(head, visit, from);
      const visitor = visitorByLink(link);
      if (use === 'first' && gate.isGood(tunnel.id, visitor))
        return redirect(visit, this.#linkCookie(visit, access, visitor, link.end), cookie);
      return this.#refuse('access-required', head, visit, access, from, {
        link: use === 'used' ? 'used' : 'ended',
      });
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      return errorResponse('relay-busy', requestFacts({ head }), contact);
    }
  }

  /** @param end of the link, wall time in s */
  #linkCookie(visit: Visit, { version }: AccessPolicy, visitor: string, end: number): string {
    const { lastingPasses, secure, now } = this.#options;
    const value = lastingPasses.make(passScope(visit.tunnel.id, version, visit), visitor, end);
    return passCookie({ value, prefix: visit.prefix, secure, seconds: end - Math.floor(now() / 1000) });
  }

  #cookie(visit: Visit, { version }: AccessPolicy, visitor: string): string {
    const { passes, secure, now } = this.#options;
    const end = Math.floor(now() / 1000) + PASS_SECONDS;
    const value = passes.make(passScope(visit.tunnel.id, version, visit), visitor, end);
    return passCookie({ value, prefix: visit.prefix, secure, seconds: PASS_SECONDS });
  }

  #refuse(
    code: 'access-required' | 'access-address' | 'access-attempts',
    head: RequestHead,
    visit: Visit,
    access: AccessPolicy,
    { trusted }: Whereabouts,
    {
      isWrongToken = false,
      ...what
    }: Pick<AccessPageContext, 'wasWrong' | 'link'> & { readonly isWrongToken?: boolean } = {},
  ): OwnResponse {
    // Tunnels in the path form share the host where clients would look.
    const hasNoServer = access.isForPrograms || (access.takesAgents && visit.prefix !== '');
    if (code === 'access-required' && hasNoServer && startsAuthorization(head.method, visit.target))
      return notFoundResponse(head);
    const { contact, signIn, agents, secure } = this.#options;
    const bearer = access.takesAgents
      ? agents.challenge({ head, visit, way: { trusted, secure } }, isWrongToken)
      : undefined;
    return accessPage(code, { head, visit, access, contact, provider: signIn.offered, bearer, ...what });
  }
}

/** Steps of a sign-in, and what follows it. */
const SIGN_IN_STEPS: ReadonlySet<AccessStep> = new Set(['sign-in', 'sign-in-other', 'arrive', 'sign-out']);

/** Where a person comes back to who signs in from a page. In the path form, it is the relay's own host. */
function placeOf(head: RequestHead, { tunnel, prefix, target }: Visit): Place {
  const host = prefix === '' ? hostOf(head) : null;
  return { tunnelId: tunnel.id, host, prefix, target: plainTarget({ target }) };
}

/** The key of an address's wrong passwords at a tunnel. */
function triesOf({ id }: LiveTunnel, network: string): string {
  return `${id} ${network}`;
}

/** Whether a person goes to the address in a browser, which does not only fetch it in advance. */
function isNavigation({ method, fields }: RequestHead): boolean {
  const isPrefetch = PREFETCH_FIELDS.some((name) => /prefetch/i.test(fieldValue(fields, name) ?? ''));
  return method === 'GET' && fieldValue(fields, 'sec-fetch-mode') === 'navigate' && !isPrefetch;
}

/** Browsers' names for it: of today, and of earlier ones. */
const PREFETCH_FIELDS = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'];

/**
 * Whether the visitor opened a link in a browser: then the relay redirects to the address without the parameter, which
 * is safe to show and share. Programs often neither follow a redirect nor keep its cookie.
 */
function isFollowed({ method, fields }: RequestHead, { upgrade }: Arriving): boolean {
  if (upgrade || (method !== 'GET' && method !== 'HEAD')) return false;
  const mode = fieldValue(fields, 'sec-fetch-mode');
  return mode === undefined ? prefersHtml(fieldValue(fields, 'accept')) : mode === 'navigate';
}

export function isAllowedVisitor(entry: Entry): entry is AllowedVisitor {
  return 'kept' in entry;
}

export function isFormEntry(entry: Entry): entry is FormEntry {
  return 'form' in entry;
}
