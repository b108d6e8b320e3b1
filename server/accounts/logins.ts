/**
 * Keys for people who sign in at the identity provider (docs/decisions/0035-keys-by-sign-in.md). A program asks, and a
 * person approves in a browser. The request is sealed in the address of the page, and approving it creates an invitation
 * whose token only the program knows: so the relay remembers no request, and keys come from invitations alone.
 */
import { randomUUID } from 'node:crypto';
import { quoted } from '../../shared/unprintable.ts';
import { SignInRules, signedInOf } from '../access/people.ts';
import { digestOf, type Opened, type Seals } from '../access/seals.ts';
import type { SignInTunnel } from '../access/sign-in.ts';
import { KEY_LABEL_MAX_LENGTH } from '../administration/given.ts';
import type { Clock } from '../clock.ts';
import type { CreateLimiter } from '../rate-limiter.ts';
import { orUnavailable } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { orRateLimited } from './team.ts';

/** @limit How long a person has to sign in and approve a key for a program that asked for one. */
export const LOGIN_SECONDS = 600;

/** Where people sign in to approve a key, as an id beside those of tunnels. */
export const LOGIN_PLACE = 'login';

/** Who gets keys of which account: the first rule that lets a person in decides. */
export interface AccountRule {
  /** as in a tunnel's `sign_in` */
  readonly rule: string;
  /** name of the account */
  readonly account: string;
}

/** A program that asks for a key. */
export interface LoginRequest {
  /** SHA-256 in hex of its token */
  readonly digest: string;
  /** what it calls its computer; may be empty */
  readonly machine: string;
  /** `undefined` for the relay's own machine */
  readonly address: string | undefined;
}

/** A request that a person who has signed in may approve, in one browser. */
interface Offer extends LoginRequest {
  readonly person: string;
  readonly account: string;
  readonly browser: string;
}

interface LoginsOptions {
  readonly accounts: readonly AccountRule[];
  readonly seals: () => Seals;
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  /** counts approvals by {@link LOGIN_SECONDS}: 0 for the first one */
  readonly once: Pick<CreateLimiter, 'take'>;
}

export class Logins {
  readonly #options: LoginsOptions;
  readonly #rules: readonly { readonly rules: SignInRules; readonly account: string }[];
  /** Everyone who may sign in. */
  readonly #people: SignInRules;

  constructor(options: LoginsOptions) {
    const { accounts } = options;
    this.#options = options;
    this.#rules = accounts.map(({ rule, account }) => ({ rules: new SignInRules([rule]), account }));
    this.#people = new SignInRules(accounts.map(({ rule }) => rule));
  }

  /** Whether anybody can get a key. */
  get isOffered(): boolean {
    return this.#rules.length > 0;
  }

  /** The page, as a place where people sign in. */
  get place(): SignInTunnel {
    return {
      access: { signIn: this.#people },
      isAt: ({ host, prefix }) => host === null && prefix === '',
    };
  }

  /** @returns a ticket for the address of the page */
  begin(request: LoginRequest): string {
    return this.#options.seals().seal('login', request, LOGIN_SECONDS);
  }

  /** @returns `undefined` for a ticket that is not, or no longer, one of this relay */
  open(ticket: string): LoginRequest | undefined {
    return this.#contentOf(this.#options.seals().open('login', ticket)) as LoginRequest | undefined;
  }

  /** @returns the name of the account that the person gets keys of; `undefined` for none */
  accountFor(visitor: string): string | undefined {
    const person = signedInOf(visitor);
    return person && this.#rules.find(({ rules }) => rules.admits(person))?.account;
  }

  /**
   * @param visitor an identity that {@link accountFor} knows
   * @param browser value of the cookie of the browser that may approve
   * @returns what the button of the page sends back
   */
  offer(request: LoginRequest, visitor: string, account: string, browser: string): string {
    const { name: person = '' } = signedInOf(visitor) ?? {};
    const offer: Offer = { ...request, person, account, browser: digestOf(browser) };
    return this.#options.seals().seal('login-offer', offer, LOGIN_SECONDS);
  }

  /**
   * The person approves: the program's token becomes an invitation to the account.
   *
   * @param browsers values of the cookie
   * @returns `false` for an offer that has ended, was used or was made for another browser, and without the account
   * @throws ApiError 429, 503
   */
  async approve(offered: string, browsers: readonly string[]): Promise<boolean> {
    const { seals, store, clock, once } = this.#options;
    const offer = this.#contentOf(seals().open('login-offer', offered)) as Offer | undefined;
    if (offer === undefined || !browsers.some((browser) => digestOf(browser) === offer.browser)) return false;
    const { digest, machine, person } = offer;
    const account = await orUnavailable(store.findAccount(offer.account));
    if (account === undefined || (await once.take(`login ${digest}`)) > 0) return false;
    const at = clock.now();
    const label = `${person}${machine === '' ? '' : ` on ${machine}`}`.slice(0, KEY_LABEL_MAX_LENGTH);
    const expiresAt = at + LOGIN_SECONDS * 1000;
    const invitation = {
      id: randomUUID(),
      accountId: account.id,
      hash: digest,
      label,
      createdAt: at,
      expiresAt,
    };
    const entry = {
      id: randomUUID(),
      at,
      actor: `sign-in:${person}`,
      action: 'team.login',
      subject: account.name,
      detail: `invite:${invitation.id} for ${quoted(label)}`,
      accountId: account.id,
    };
    const work = store.act('insertInvitations', [[invitation], at], [entry]);
    await orUnavailable(orRateLimited(work, clock));
    return true;
  }

  #contentOf(opened: Opened | undefined): unknown {
    return opened === undefined || opened.isLate ? undefined : opened.content;
  }
}
