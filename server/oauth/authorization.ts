/**
 * A person decides about an agent at the relay's own host (docs/decisions/0034-agents.md): shows what the tunnel asks
 * of people, and then approves with a form. What a step has to know is sealed in the page before it, and counts only in
 * the browser that began; so each step may happen at another relay of a cluster.
 */
import { AGENTS_MAX } from '../../shared/agents.ts';
import { ApiError } from '../../shared/errors.ts';
import { LINK_PARAMETER } from '../../shared/links.ts';
import { escapeHtml } from '../../shared/page.ts';
import { isAdmitted, linkIdOf, visitorByLink } from '../access/access-check.ts';
import type { AccessPolicy } from '../access/access-policy.ts';
import type { LinkTokens } from '../access/passes.ts';
import { signedInOf } from '../access/people.ts';
import { digestOf, type Seals } from '../access/seals.ts';
import { ARRIVAL_PARAMETER, type Place, type SignIn } from '../access/sign-in.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { CreateLimiter } from '../rate-limiter.ts';
import { orUnavailable } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { TooManyApprovalRequestsError, type TunnelApprovals } from '../tunnels/links-and-approvals.ts';
import { type LiveTunnel, tunnelFields } from '../tunnels/live-tunnel.ts';
import type { OnceLinks } from '../tunnels/once-links.ts';
import { type AgentTokens, newAgentId } from './agent-tokens.ts';
import { type AuthorizationRequest, returnAddress } from './authorization-request.ts';
import {
  addressPage,
  allowPage,
  askPage,
  type AuthorizePage,
  type Complaint,
  FORM_FIELD,
  fullPage,
  knockPage,
  LINK_FIELD,
  notAdmittedPage,
  type OfferedWays,
  type PageContext,
  PASSWORD_FIELD,
  PROOF_FIELD,
  WAY_FIELD,
  WAYS,
} from './authorize-pages.ts';
import type { Clients } from './clients.ts';

/** How long a page may stay open before its form is sent. */
export const FORM_SECONDS = 600;
/** How long a person may take to approve after having shown that they may be admitted. */
export const PROOF_SECONDS = 600;
/** How long the code of an approval can be exchanged. */
export const CODE_MS = 60_000;
/** Maximum number of agents that may be approved for a tunnel per minute. */
export const APPROVALS_PER_MINUTE = 30;
/** Maximum number of agents that may be approved for a tunnel in one burst. */
export const APPROVALS_BURST = 2 * AGENTS_MAX;
export const APPROVAL_RATE = { perMinute: APPROVALS_PER_MINUTE, burst: APPROVALS_BURST };

export const AUTHORIZE_PATH = '/oauth/authorize';
/** Whether a person signs in from the page of a request. */
export function isAuthorizePage({ host, prefix, target }: Place): boolean {
  return host === null && prefix === '' && target.startsWith(`${AUTHORIZE_PATH}?`);
}

/** Query parameter of the page that waits for the owner. */
export const ASKED_PARAMETER = 'culvert_asked';
/** Query parameter with which a tunnel's host tells of the link that the browser has opened there. */
export const OPENED_PARAMETER = 'culvert_opened';
/** Query parameter, at a tunnel's host, of the address that looks for such a link. */
export const LOOK_PARAMETER = 'culvert_gate=agent.';

/** A person at the authorization endpoint. */
export interface Person {
  /** IP address */
  readonly address: string;
  /** groups addresses */
  readonly network: string;
  /** `User-Agent` */
  readonly agent: string;
  /** values of the cookie that identifies the browser */
  readonly browsers: readonly string[];
  /** the one that it keeps */
  readonly browser: string;
}

/** What the relay answers: a page, or an address to go to. */
export type Answer = AuthorizePage | { readonly location: string };

/** Shows that a person may be admitted, or that the owner has approved. */
interface Proof {
  /** digest of the browser's cookie */
  readonly browser: string;
  /** digest of the request */
  readonly request: string;
  readonly tunnelId: string;
  /** see server/access/access-check.ts: who used a link or signed in */
  readonly visitor?: string;
  /** id of the approval request */
  readonly knock?: string;
}

/** What is asked of a tunnel's host: whether this browser has opened a link there. */
interface Look {
  readonly browser: string;
  readonly tunnelId: string;
  /** the request */
  readonly query: string;
}

interface AuthorizationOptions {
  readonly store: Pick<Store, 'insertAgent' | 'countAgents'>;
  readonly seals: Seals;
  readonly tokens: AgentTokens;
  readonly clients: Pick<Clients, 'noteApproved'>;
  readonly links: LinkTokens;
  readonly onceLinks: Pick<OnceLinks, 'use'>;
  readonly knocks: Pick<TunnelApprovals, 'knock' | 'useUp'>;
  /** Checks the password of a tunnel's access page, and counts the tries. */
  readonly checkPassword: (
    tunnel: LiveTunnel,
    access: AccessPolicy,
    network: string,
    password: string,
  ) => Promise<'access-required' | 'access-attempts' | undefined>;
  /** Whether a link was not revoked since. */
  readonly isGood: (tunnelId: string, visitor: string) => boolean;
  readonly signIn: Pick<SignIn, 'offered' | 'isReady' | 'begin' | 'arrive'>;
  /** approvals, by tunnel */
  readonly approvals: Pick<CreateLimiter, 'take'>;
  readonly publicUrl: () => URL;
  readonly clock: Clock;
  readonly log: Log;
}

export class Authorization {
  readonly #options: AuthorizationOptions;

  constructor(options: AuthorizationOptions) {
    this.#options = options;
  }

  /** The relay's address, as responses name it (RFC 9207). */
  get issuer(): string {
    return this.#options.publicUrl().origin;
  }

  /**
   * A person opens the address of a request, or of one of its steps.
   *
   * @throws ApiError 503
   */
  async open(request: AuthorizationRequest, person: Person, parameters: URLSearchParams): Promise<Answer> {
    const refused = await this.#refuse(request, person);
    if (refused !== undefined) return refused;
    const context = this.#context(request, person);
    const asked = parameters.get(ASKED_PARAMETER);
    if (asked !== null) return this.#openAsked(context, person, asked);
    const arrival = parameters.get(ARRIVAL_PARAMETER);
    if (arrival !== null) return await this.#arrive(context, person, arrival);
    const opened = parameters.get(OPENED_PARAMETER);
    if (opened === null) return this.#ask(context);
    return this.#read(request, person, opened) === undefined
      ? this.#ask(context, 'not-opened')
      : allowPage(context, opened, 'This browser has opened a link to this address.', false);
  }

  /**
   * A person sends a form of the page.
   *
   * @throws ApiError 503
   */
  async submit(request: AuthorizationRequest, person: Person, fields: URLSearchParams): Promise<Answer> {
    const context = this.#context(request, person);
    const form = this.#options.seals.open('agent-form', fields.get(FORM_FIELD) ?? '');
    const isHere = form?.isLate === false && isFor(form.content as Proof, request, person);
    if (!isHere) return this.#ask(context);
    const way = WAYS.find((each) => each === fields.get(WAY_FIELD));
    if (way === 'cancel')
      return { location: returnAddress(request, { error: 'access_denied' }, this.issuer) };
    const refused = await this.#refuse(request, person);
    if (refused !== undefined) return refused;
    if (way === 'allow') return await this.#allow(context, person, fields.get(PROOF_FIELD) ?? '');
    const offered = this.#offered(request);
    if (way === 'password' && offered.password)
      return await this.#checkPassword(context, person, fields.get(PASSWORD_FIELD) ?? '');
    if (way === 'link' && offered.links)
      return await this.#checkLink(context, person, fields.get(LINK_FIELD) ?? '');
    if (way === 'opened' && offered.links) return { location: this.#lookAddress(request, person) };
    if ((way === 'sign-in' || way === 'sign-in-other') && offered.provider !== undefined)
      return this.#beginSignIn(context, person, way === 'sign-in-other');
    if (way === 'knock' && offered.knock) return await this.#knock(context, person);
    return this.#ask(context);
  }

  /** Before anybody is asked: the person has to be inside `allow`, and the tunnel needs room. */
  async #refuse(request: AuthorizationRequest, person: Person): Promise<AuthorizePage | undefined> {
    const { access, tunnel } = request;
    if (!access.allows(person.address)) return addressPage();
    const { store, clock } = this.#options;
    const count = await orUnavailable(store.countAgents(tunnel.account.id, tunnel.slug, clock.now()));
    return count < AGENTS_MAX ? undefined : fullPage(this.#context(request, person));
  }

  #context(request: AuthorizationRequest, person: Person): PageContext {
    const { seals } = this.#options;
    const form = seals.seal('agent-form', proofOf(request, person), FORM_SECONDS);
    return { request, action: `${AUTHORIZE_PATH}?${request.query}`, form, issuer: this.issuer };
  }

  #ask(context: PageContext, complaint?: Complaint): AuthorizePage {
    return askPage(context, this.#offered(context.request), complaint);
  }

  /** What the tunnel asks of people; the owner decides where it asks nothing. */
  #offered({ access }: AuthorizationRequest): OfferedWays {
    const { password, links, knock } = access.stored;
    const provider = access.signIn.isEmpty ? undefined : this.#options.signIn.offered;
    const isAny = password !== null || links || knock || provider !== undefined;
    return { provider, password: password !== null, links, knock: knock || !isAny };
  }

  #beginSignIn(context: PageContext, { browser }: Person, isOther: boolean): Answer {
    const { signIn } = this.#options;
    const { tunnel } = context.request;
    if (!signIn.isReady) return this.#ask(context, 'unavailable');
    const place = { tunnelId: tunnel.id, host: null, prefix: '', target: context.action };
    return { location: signIn.begin(place, browser, isOther) };
  }

  /** The person comes back from the identity provider. */
  async #arrive(context: PageContext, person: Person, value: string): Promise<Answer> {
    const { signIn, seals } = this.#options;
    const { request } = context;
    const { tunnel, access } = request;
    const place = { tunnelId: tunnel.id, host: null, prefix: '' };
    const visitor = await signIn.arrive(value, place, person.browsers);
    const name = visitor === undefined ? undefined : signedInOf(visitor)?.name;
    if (visitor === undefined || name === undefined) return this.#ask(context, 'sign-in');
    if (!isAdmitted(access, visitor)) return notAdmittedPage(context, name);
    const proof: Proof = { ...proofOf(request, person), visitor };
    return allowPage(
      context,
      seals.seal('agent-proof', proof, PROOF_SECONDS),
      `You are signed in as <strong>${escapeHtml(name)}</strong>.`,
      true,
    );
  }

  async #checkPassword(context: PageContext, person: Person, password: string): Promise<Answer> {
    const { tunnel, access } = context.request;
    const problem = await this.#options.checkPassword(tunnel, access, person.network, password);
    // The owner may have changed the password in the meantime.
    if (tunnel.access !== access) return this.#ask(context);
    if (problem === undefined) return await this.#approve(context, null);
    return this.#ask(context, problem === 'access-attempts' ? 'attempts' : 'password');
  }

  async #checkLink(context: PageContext, { browser }: Person, link: string): Promise<Answer> {
    const { links, onceLinks, isGood, clock } = this.#options;
    const { tunnel } = context.request;
    const token = URL.canParse(link.trim()) ? new URL(link.trim()).searchParams.get(LINK_PARAMETER) : null;
    const signed = token === null ? undefined : links.read(token, tunnel, clock.now());
    if (signed === undefined || !isGood(tunnel.id, visitorByLink(signed))) return this.#ask(context, 'link');
    if (signed.once === true && (await orUnavailable(onceLinks.use(tunnel, signed.id, browser))) !== 'first')
      return this.#ask(context, 'link');
    return await this.#approve(context, null);
  }

  #lookAddress(request: AuthorizationRequest, person: Person): string {
    const { seals, publicUrl } = this.#options;
    const { protocol, port } = publicUrl();
    const { browser } = proofOf(request, person);
    const look: Look = { browser, tunnelId: request.tunnel.id, query: request.query };
    const host = `${request.resourceHost}${port === '' ? '' : `:${port}`}`;
    return `${protocol}//${host}/?${LOOK_PARAMETER}${seals.seal('agent-look', look, PROOF_SECONDS)}`;
  }

  async #knock(context: PageContext, person: Person): Promise<Answer> {
    const { knocks, seals } = this.#options;
    const { request } = context;
    const { client, host, returnsTo, tunnel } = request;
    const asking = { name: client.name, host, returns_to: returnsTo };
    try {
      const { id } = await knocks.knock(tunnel, person.address, person.agent, asking);
      const proof: Proof = { ...proofOf(request, person), knock: id };
      return {
        location: `${context.action}&${ASKED_PARAMETER}=${seals.seal('agent-proof', proof, FORM_SECONDS)}`,
      };
    } catch (error) {
      if (error instanceof TooManyApprovalRequestsError) return this.#ask(context, 'waiting');
      throw error;
    }
  }

  #openAsked(context: PageContext, person: Person, asked: string): AuthorizePage {
    const { clock } = this.#options;
    const { knock = '' } = this.#read(context.request, person, asked) ?? {};
    const state = context.request.tunnel.knocks.stateOf(knock, clock.now());
    return state === 'admitted'
      ? allowPage(context, asked, 'The owner of this address has approved this agent.', false)
      : knockPage(context, state);
  }

  async #allow(context: PageContext, person: Person, value: string): Promise<Answer> {
    const { knocks, isGood } = this.#options;
    const { tunnel, access } = context.request;
    const proof = this.#read(context.request, person, value);
    if (proof?.knock !== undefined) {
      // An approval is for one agent.
      const isUsed = await knocks.useUp(tunnel, proof.knock).then(() => true, notApproved);
      return isUsed ? await this.#approve(context, null) : this.#openAsked(context, person, value);
    }
    const visitor = proof?.visitor;
    if (visitor === undefined) return this.#ask(context);
    // The rules may have changed in the meantime.
    if (linkIdOf(visitor) !== undefined)
      return access.takesLinks && isGood(tunnel.id, visitor)
        ? await this.#approve(context, null)
        : this.#ask(context, 'link');
    return isAdmitted(access, visitor)
      ? await this.#approve(context, visitor)
      : this.#ask(context, 'sign-in');
  }

  /** @param visitor who has signed in to approve it, or `null` */
  async #approve(context: PageContext, visitor: string | null): Promise<Answer> {
    const { store, tokens, clients, approvals, clock, log } = this.#options;
    const { request } = context;
    const { tunnel, client, host, returnsTo, challenge, redirectUri, resource } = request;
    if ((await approvals.take(tunnel.id)) > 0) return this.#ask(context, 'attempts');
    const id = newAgentId();
    const { token: code, hash: codeHash } = tokens.make('code', id);
    const createdAt = clock.now();
    const endsAt = createdAt + CODE_MS;
    const stored = await orUnavailable(
      store.insertAgent(
        {
          id,
          accountId: tunnel.account.id,
          slug: tunnel.slug,
          clientHash: client.hash,
          name: client.name,
          host,
          returnsTo,
          person: visitor,
          createdAt,
          firstUsedAt: null,
          lastUsedAt: null,
          endsAt,
          code: { hash: codeHash, endsAt, challenge, redirectUri, resource, isUsed: false },
          refresh: null,
          accessTokens: [],
        },
        AGENTS_MAX,
      ),
    );
    if (stored === 'full') return fullPage(context);
    if (stored === undefined) return this.#ask(context);
    await clients.noteApproved(client);
    log('agent approved', { ...tunnelFields(tunnel), agent: id, host });
    return { location: returnAddress(request, { code }, this.issuer) };
  }

  /** @returns the proof, if it is for this request in this browser */
  #read(request: AuthorizationRequest, person: Person, value: string): Proof | undefined {
    const opened = this.#options.seals.open('agent-proof', value);
    if (opened === undefined || opened.isLate) return undefined;
    const proof = opened.content as Proof;
    return isFor(proof, request, person) ? proof : undefined;
  }
}

/**
 * The tunnel's host looks whether the browser has opened a link there.
 *
 * @param value that follows {@link LOOK_PARAMETER}
 * @param visitor whom the cookie of the tunnel names, if it is good
 * @returns the address to return to; `undefined` for a value that is not for this tunnel
 */
export function answerLook(
  { seals, publicUrl }: { readonly seals: Seals; readonly publicUrl: () => URL },
  value: string,
  tunnelId: string,
  visitor: string | undefined,
): string | undefined {
  const opened = seals.open('agent-look', value);
  const look = opened?.isLate === false ? (opened.content as Look) : undefined;
  if (look?.tunnelId !== tunnelId) return undefined;
  const { browser, query } = look;
  const isLink = visitor !== undefined && linkIdOf(visitor) !== undefined;
  const proof: Proof = { browser, request: digestOf(query), tunnelId, ...(isLink && { visitor }) };
  const said = isLink ? seals.seal('agent-proof', proof, PROOF_SECONDS) : 'none';
  return `${publicUrl().origin}${AUTHORIZE_PATH}?${query}&${OPENED_PARAMETER}=${said}`;
}

function proofOf(request: AuthorizationRequest, { browser }: Person): Proof {
  return { browser: digestOf(browser), request: digestOf(request.query), tunnelId: request.tunnel.id };
}

function isFor(proof: Proof, request: AuthorizationRequest, { browsers }: Person): boolean {
  const isBrowser = browsers.some((browser) => digestOf(browser) === proof.browser);
  return isBrowser && proof.request === digestOf(request.query) && proof.tunnelId === request.tunnel.id;
}

function notApproved(error: unknown): false {
  if (error instanceof ApiError && error.status === 404) return false;
  throw error;
}
