/**
 * Sign-in with the operator's identity provider (docs/decisions/0033-sign-in.md): from a tunnel's host to the relay's
 * own, from there to the provider and back, and to the tunnel again. Everything that a step has to know is sealed in the
 * address that leads to it, and counts only in the browser that began. So the relay remembers nobody who is on the way,
 * and each step may happen at another relay of a cluster.
 */
import { hash, randomBytes } from 'node:crypto';
import { ApiError } from '../../shared/errors.ts';
import { describeError, type Log } from '../log.ts';
import type { CreateLimiter, Rate } from '../rate-limiter.ts';
import { BusyError, type Turnstile } from '../turnstile.ts';
import type { AccessPolicy } from './access-policy.ts';
import { type IdentityProvider, NotProvenError, ProviderAwayError } from './identity-provider.ts';
import { personOf, visitorBySignIn } from './people.ts';
import { digestOf, type Seals } from './seals.ts';

/** How long a person may take to sign in at the identity provider. */
export const SIGN_IN_SECONDS = 600;
/** How long the address is valid that brings a person who has signed in back to the tunnel. */
export const ARRIVAL_SECONDS = 60;
/** Maximum length of an address that a person is sent back to at a tunnel; for a longer one it is its path, or `/`. */
export const WANTED_MAX_LENGTH = 3000;
/** Number of sign-ins that the relay completes at the identity provider at the same time. */
export const EXCHANGES_MAX = 32;
/** How many of them may be for visitors from one address (a /64 for IPv6). */
export const ADDRESS_EXCHANGES_MAX = 8;
/** Number of sign-ins that may wait for that. */
export const EXCHANGES_WAITING_MAX = 256;

/** Limits of what is good once: a new token only after the value itself has ended. */
export const STATE_RATE: Rate = { perMinute: 60 / SIGN_IN_SECONDS, burst: 1 };
export const ARRIVAL_RATE: Rate = { perMinute: 60 / ARRIVAL_SECONDS, burst: 1 };

/** Paths at the relay's own host. */
export const SIGN_IN_PATH = '/auth/begin';
export const CALLBACK_PATH = '/auth/callback';
/** Query parameter of {@link SIGN_IN_PATH}. */
const TICKET_PARAMETER = 'ticket';
/** Query parameter of the address that a person who has signed in comes back with. */
export const ARRIVAL_PARAMETER = 'culvert_sign_in';

/** Where a person signs in for, and comes back to. */
export interface Place {
  readonly tunnelId: string;
  /** the tunnel's host in lower case, without a port; `null` for the relay's own, as in the path form */
  readonly host: string | null;
  /** `/t/{slug}` in the path form, else empty */
  readonly prefix: string;
  /** what the person wanted there, in origin form */
  readonly target: string;
}

/** What the flow has to know about a tunnel. */
export interface SignInTunnel {
  /** `undefined` for a tunnel that is open to anyone */
  readonly access: Pick<AccessPolicy, 'signIn'> | undefined;
  /** Whether one of its addresses begins like this. */
  readonly isAt: (place: Place) => boolean;
}

/** A sign-in on its way. `browser` is a digest of the cookie that the place has set. */
interface Trip {
  readonly place: Place;
  readonly browser: string;
}

/** On its way to the relay's own host. */
interface Ticket extends Trip {
  readonly isOther: boolean;
}

/** On its way to the provider and back. */
interface State extends Trip {
  /** digest of the cookie of the relay's own host */
  readonly relayBrowser: string;
  /** nobody else can know the nonce and the verifier, which are made from it */
  readonly secret: string;
}

/** On its way back to the place. */
interface Arrival extends Trip {
  readonly id: string;
  readonly visitor: string;
}

/** Where a browser goes next; `failed` and `unavailable` name the address to begin again at, if it is known. */
export type Step =
  | { readonly kind: 'onward'; readonly location: string }
  | { readonly kind: 'failed'; readonly again: string | undefined }
  | { readonly kind: 'unavailable'; readonly again: string | undefined };

interface SignInOptions {
  /** `undefined` at a relay without one */
  readonly provider: IdentityProvider | undefined;
  /** name of the provider on buttons */
  readonly name: string;
  readonly groupsClaim: string;
  /** how long a person is admitted before the next sign-in */
  readonly seconds: number;
  readonly seals: Seals;
  /** the relay's own address */
  readonly publicUrl: () => URL;
  /** @returns `undefined` for a tunnel that does not exist; rejects if that is not known */
  readonly findTunnel: (id: string) => Promise<SignInTunnel | undefined>;
  /** what is good once, by {@link STATE_RATE} and {@link ARRIVAL_RATE}: 0 for the first time */
  readonly states: Pick<CreateLimiter, 'take'>;
  readonly arrivals: Pick<CreateLimiter, 'take'>;
  readonly exchanges: Turnstile;
  readonly log: Log;
}

export class SignIn {
  readonly #options: SignInOptions;

  constructor(options: SignInOptions) {
    this.#options = options;
  }

  /** The provider's name; `undefined` at a relay without one. */
  get offered(): string | undefined {
    return this.#options.provider && this.#options.name;
  }

  /** The relay's own address. */
  get publicUrl(): URL {
    return this.#options.publicUrl();
  }

  /** Whether browsers reach the relay with https. */
  get isSecure(): boolean {
    return this.#options.publicUrl().protocol === 'https:';
  }

  /** Whether people can sign in now. */
  get isReady(): boolean {
    return this.#options.provider?.isReady === true;
  }

  /** See {@link SignInOptions.seconds}. */
  get seconds(): number {
    return this.#options.seconds;
  }

  /**
   * Begins a sign-in at a tunnel, or at a page of the relay's own that decides about one: then the place has the host
   * `null` and no prefix, and its target is that of the page. The browser comes back there with one more parameter,
   * {@link ARRIVAL_PARAMETER}, for {@link arrive}. If nobody can sign in at the tunnel any more, it comes back without.
   *
   * @param browser the value of the cookie that the place sets in the browser; {@link arrive} asks for it again
   * @param isOther whether the person wants to be somebody else than the provider thinks
   * @returns the address to redirect the browser to
   */
  begin(place: Place, browser: string, isOther: boolean): string {
    // Pages of the relay's own have limits of their own, and could not continue with less.
    const max = place.host === null && place.prefix === '' ? Infinity : WANTED_MAX_LENGTH;
    const to = { ...place, target: wantedAgain(place.target, max) };
    const ticket: Ticket = { place: to, browser: digestOf(browser), isOther };
    const url = new URL(SIGN_IN_PATH, this.#options.publicUrl());
    url.searchParams.set(TICKET_PARAMETER, this.#options.seals.seal('ticket', ticket, SIGN_IN_SECONDS));
    return url.href;
  }

  /**
   * The browser has come to the relay's own host.
   *
   * @param relayBrowser the value of the cookie that this host sets in the browser
   */
  async depart(parameters: URLSearchParams, relayBrowser: string): Promise<Step> {
    const { provider, seals } = this.#options;
    const opened = seals.open('ticket', only(parameters, TICKET_PARAMETER));
    if (opened === undefined) return { kind: 'failed', again: undefined };
    const { isOther, ...trip } = opened.content as Ticket;
    const again = this.#addressOf(trip.place);
    if (opened.isLate) return { kind: 'failed', again };
    if (provider?.isReady !== true) return { kind: 'unavailable', again };
    const secret = randomBytes(32).toString('base64url');
    const content: State = { ...trip, relayBrowser: digestOf(relayBrowser), secret };
    const state = seals.seal('state', content, SIGN_IN_SECONDS);
    return {
      kind: 'onward',
      location: await provider.addressFor(this.#authorization(state, secret), isOther),
    };
  }

  /**
   * The browser has come back from the provider.
   *
   * @param relayBrowsers values of the cookie of the relay's own host
   * @param network of the visitor
   */
  async finish(
    parameters: URLSearchParams,
    relayBrowsers: readonly string[],
    network: string,
  ): Promise<Step> {
    const { seals, exchanges, states } = this.#options;
    const value = only(parameters, 'state');
    const opened = seals.open('state', value);
    if (opened === undefined) return { kind: 'failed', again: undefined };
    const state = opened.content as State;
    const again = this.#addressOf(state.place);
    const isHere = relayBrowsers.some((browser) => digestOf(browser) === state.relayBrowser);
    if (opened.isLate || !isHere) return { kind: 'failed', again };
    try {
      return await exchanges.run(network, async () => {
        if ((await states.take(`sign-in ${digestOf(state.secret)}`)) > 0) return { kind: 'failed', again };
        const location = await this.#complete(parameters, value, state);
        return location === undefined ? { kind: 'failed', again } : { kind: 'onward', location };
      });
    } catch (error) {
      return this.#explain(error, again);
    }
  }

  /**
   * The browser has come back to its place.
   *
   * @param value of {@link ARRIVAL_PARAMETER}
   * @param browsers values of the cookie that the place has set
   * @returns the identity of the visitor (see people.ts), whom the rules may still refuse; `undefined` for a value that
   *   is not, or no longer, for this place and browser
   */
  async arrive(
    value: string,
    place: Omit<Place, 'target'>,
    browsers: readonly string[],
  ): Promise<string | undefined> {
    const { seals, arrivals } = this.#options;
    const opened = seals.open('arrival', value);
    if (opened === undefined || opened.isLate) return undefined;
    const { place: to, browser, id, visitor } = opened.content as Arrival;
    const isHere = to.tunnelId === place.tunnelId && to.host === place.host && to.prefix === place.prefix;
    if (!isHere || !browsers.some((given) => digestOf(given) === browser)) return undefined;
    return (await arrivals.take(`arrival ${id}`)) > 0 ? undefined : visitor;
  }

  /** Whether it is a value of {@link ARRIVAL_PARAMETER} that this relay has made. */
  isArrival(value: string): boolean {
    return this.#options.seals.open('arrival', value) !== undefined;
  }

  /** @returns where the person goes; `undefined` if nobody is proven to be there, or the tunnel is gone */
  async #complete(
    parameters: URLSearchParams,
    value: string,
    { place, browser, secret }: State,
  ): Promise<string | undefined> {
    const { provider, groupsClaim, findTunnel, seals } = this.#options;
    if (provider === undefined) throw new ProviderAwayError('there is none');
    const claims = await provider.redeem(parameters, this.#authorization(value, secret));
    const person = personOf(claims, groupsClaim);
    if (person === undefined) throw new NotProvenError('no-subject');
    const tunnel = await findTunnel(place.tunnelId);
    if (tunnel === undefined || !tunnel.isAt(place)) return undefined;
    const address = this.#addressOf(place);
    if (tunnel.access?.signIn.isEmpty !== false) return address;
    const visitor = visitorBySignIn(tunnel.access.signIn.describe(person));
    // The wanted address is that of the request.
    const here = { ...place, target: '' };
    const arrival: Arrival = { place: here, browser, id: randomBytes(16).toString('base64url'), visitor };
    const separator = address.includes('?') ? '&' : '?';
    return `${address}${separator}${ARRIVAL_PARAMETER}=${seals.seal('arrival', arrival, ARRIVAL_SECONDS)}`;
  }

  #explain(error: unknown, again: string): Step {
    const { log } = this.#options;
    if (error instanceof NotProvenError) {
      log('sign-in failed', { reason: error.message });
      return { kind: 'failed', again };
    }
    if (error instanceof ProviderAwayError) log('identity provider failing', { error: describeError(error) });
    // The database may also be away.
    else if (!(error instanceof BusyError || error instanceof ApiError)) throw error;
    return { kind: 'unavailable', again };
  }

  #authorization(state: string, secret: string) {
    const { href: redirectUri } = new URL(CALLBACK_PATH, this.#options.publicUrl());
    return {
      redirectUri,
      state,
      nonce: hash('sha256', `nonce ${secret}`, 'base64url'),
      verifier: hash('sha256', `verifier ${secret}`, 'base64url'),
    };
  }

  /** Only of places that the relay has sealed: nobody can choose another host. */
  #addressOf({ host, prefix, target }: Place): string {
    const { origin, protocol, port } = this.#options.publicUrl();
    const here = host === null ? origin : `${protocol}//${host}${port === '' ? '' : `:${port}`}`;
    return `${here}${prefix}${target}`;
  }
}

/** Browsers percent-encode some characters that a target may have as raw bytes. */
function wantedAgain(target: string, max: number): string {
  const written = target.replaceAll(
    /[^!-~]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
  if (written.length <= max) return written;
  const [path = '/'] = written.split('?', 1);
  return path.length <= max ? path : '/';
}

/** @returns the parameter, if it is there once */
function only(parameters: URLSearchParams, name: string): string {
  const [value = '', ...more] = parameters.getAll(name);
  return more.length === 0 ? value : '';
}
