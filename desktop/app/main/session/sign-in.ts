/** Whose tunnels a session has: those of one account at one relay, or none. */
import { parseDuration } from '../../../../shared/duration.ts';
import type { Account, Tunnel } from '../../../../shared/tunnel.ts';
import { API_KEY_PATTERN, API_KEY_PREFIX } from '../../../../shared/value-rules.ts';
import { refusesKey } from '../../../client/relay/errors.ts';
import { isProtected, parseRelayAddress, type RelayAddress } from '../../../client/relay/relay-address.ts';
import type { AccountView, KeyKept, Problem, SessionView } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import type { Connection, RelayApi } from '../connection.ts';
import { CallFailure, toCallError } from '../failure.ts';
import type { SessionStore } from '../settings/app-store.ts';
import type { KeyVault } from '../settings/key-vault.ts';
import { Signal } from '../../../client/signal.ts';

export interface SignInOptions {
  readonly vault: KeyVault;
  readonly saved: Pick<SessionStore, 'data' | 'change'>;
  readonly connect: (relay: RelayAddress, key: string) => RelayApi;
  /** Signs in with a key that the relay has accepted, here or at the sign-in that the account has already. */
  readonly enter: SignIn['enter'];
}

/** The user has signed in, or was signed in at the start. */
interface SignedIn {
  readonly connection: Connection;
  /** whether the remembered secrets are this account's */
  readonly isSameAccount: boolean;
}

function keyRefused(): Problem {
  return { code: 'key-refused', text: t('problem.keyRefused') };
}

/** Handles signing in and out, from the first start on. Its methods are called one after another. */
export class SignIn {
  /** The view has changed. */
  readonly changed = new Signal();
  readonly signedIn = new Signal<SignedIn>();
  readonly #options: SignInOptions;
  #view: SessionView;
  #connection: Connection | undefined;
  /** gives up the sign-in under way */
  #cancel: (() => void) | undefined;
  /** the account is what the relay said last time, not this time */
  #isUnverified = false;
  #isFree = true;

  constructor(options: SignInOptions) {
    this.#options = options;
    this.#view = { state: 'signed-out', relay: options.saved.data.relay, problem: undefined, keeps: [] };
  }

  get view(): SessionView {
    return this.#view;
  }

  get connection(): Connection | undefined {
    return this.#connection;
  }

  /** Whether another account may take its place: nothing of this one would be lost. */
  get isFree(): boolean {
    return this.#isFree;
  }

  /**
   * Continues with the stored key, if there is one; {@link SignIn.verify} asks the relay about it. A relay that cannot
   * be reached is not a reason to sign out.
   */
  async restore(): Promise<void> {
    const { saved: stored, vault, connect } = this.#options;
    const { relay: origin, account } = stored.data;
    const saved = await vault.load();
    this.#isFree = saved === undefined && stored.data.tunnels.length === 0;
    if (saved === undefined || origin === undefined || account === undefined) {
      await this.#signedOut(undefined);
      return;
    }
    const relay = parseRelayAddress(origin);
    if (!isProtected(relay)) {
      await this.#signedOut(notEncrypted());
      return;
    }
    this.#connection = { relay, key: saved.key, api: connect(relay, saved.key) };
    this.#isUnverified = true;
    this.#set({
      state: 'signed-in',
      relay: origin,
      account: account.view,
      keyKept: saved.kept,
      problem: undefined,
    });
    this.signedIn.emit({ connection: this.#connection, isSameAccount: true });
  }

  /** Asks the relay for the account, unless it has already given it. Does not throw. */
  async verify(): Promise<void> {
    const connection = this.#connection;
    if (connection === undefined || !this.#isUnverified) return;
    try {
      const account = await connection.api.getAccount();
      if (this.#connection !== connection) return;
      this.#isUnverified = false;
      await this.#remember(connection.relay, account);
      await this.reached(undefined);
    } catch (error) {
      if (this.#connection === connection) await this.reached(error);
    }
  }

  /** @throws CallFailure, RelayAddressError, RelayRefusal, RelayUnreachable: the app is signed out then */
  async signIn(form: { relay: string; key: string; keep: KeyKept }): Promise<void> {
    const { connect, enter } = this.#options;
    const relay = parseRelayAddress(withScheme(form.relay.trim()));
    if (!isProtected(relay)) throw new CallFailure({ ...notEncrypted(), field: 'relay' });
    const key = form.key.trim();
    if (!API_KEY_PATTERN.test(key)) {
      throw new CallFailure({
        code: 'bad-key',
        field: 'key',
        text: t('problem.notKey', { prefix: API_KEY_PREFIX }),
      });
    }
    const api = connect(relay, key);
    const before = this.#view;
    this.#set({ state: 'signing-in', relay: relay.origin });
    try {
      const account = await Promise.race([api.getAccount(), this.#cancelled()]);
      await enter({ relay, key, api }, account, form.keep);
      // Another account has another place.
      if (this.#connection === undefined)
        await this.#signedOut(before.state === 'signed-out' ? before.problem : undefined);
    } catch (error) {
      // An invitation may have signed in here.
      if (this.#connection === undefined) await this.#signedOut(undefined);
      throw error;
    } finally {
      this.#cancel = undefined;
    }
  }

  /** Whether an account is the one that was signed in last. */
  isSame(relay: RelayAddress, account: Account): boolean {
    const { data } = this.#options.saved;
    return data.relay === relay.origin && data.account?.clientId === account.client_id;
  }

  /** Signs in with a key that the relay has just accepted. @param account whose it is */
  async enter(connection: Connection, account: Account, keep: KeyKept): Promise<void> {
    const { relay, key } = connection;
    const isSameAccount = this.isSame(relay, account);
    this.#isFree = false;
    const keyKept = await this.#options.vault.keep(key, keep);
    await this.#remember(relay, account);
    this.#connection = connection;
    this.#isUnverified = false;
    this.#set({
      state: 'signed-in',
      relay: relay.origin,
      account: accountView(account, this.#knownDomain(relay)),
      keyKept,
      problem: undefined,
    });
    this.signedIn.emit({ connection, isSameAccount });
  }

  /** Gives up the sign-in under way, if there is one: it fails with the code `cancelled`. */
  cancel(): void {
    this.#cancel?.();
  }

  /** Forgets the key. @returns what signs in again as before */
  async signOut(): Promise<() => Promise<void>> {
    const { vault } = this.#options;
    const connection = this.#connection;
    const view = this.#view;
    await vault.forget();
    this.#isFree = true;
    await this.#signedOut(undefined);
    return async () => {
      if (connection === undefined || view.state !== 'signed-in') return;
      this.#isFree = false;
      const keyKept = await vault.keep(connection.key, view.keyKept);
      this.#connection = connection;
      this.#set({ ...view, keyKept });
    };
  }

  /**
   * The relay has refused the key of a tunnel that was online, or of a call. The key stays stored, and the next start
   * tries it again: a key is shown only once, and a relay may be wrong, or not be the relay.
   */
  async keyRefused(): Promise<void> {
    if (this.#connection === undefined) return;
    // Every tunnel reports it.
    this.#connection = undefined;
    await this.#signedOut(keyRefused());
  }

  /**
   * The result of a call to the relay in the background.
   *
   * @param error `undefined` if it went well
   */
  async reached(error: unknown): Promise<void> {
    if (refusesKey(error)) {
      await this.keyRefused();
      return;
    }
    if (this.#view.state !== 'signed-in') return;
    const failure = error === undefined ? undefined : toCallError(error, 'background');
    const problem = failure && { code: failure.code, text: failure.text };
    if (this.#view.problem?.text === problem?.text) return;
    this.#set({ ...this.#view, problem });
  }

  /** A tunnel has shown below which domain names are. */
  async learnDomain(nameDomain: string): Promise<void> {
    const { account } = this.#options.saved.data;
    if (account === undefined || account.view.nameDomain === nameDomain) return;
    const view = { ...account.view, nameDomain };
    if (this.#view.state === 'signed-in') this.#set({ ...this.#view, account: view });
    await this.#options.saved.change({ account: { ...account, view } });
  }

  #cancelled(): Promise<never> {
    const { promise, reject } = Promise.withResolvers<never>();
    this.#cancel = () => reject(new CallFailure({ code: 'cancelled', text: t('problem.cancelled') }));
    return promise;
  }

  async #remember(relay: RelayAddress, account: Account): Promise<void> {
    const view = accountView(account, this.#knownDomain(relay));
    if (this.#view.state === 'signed-in') this.#set({ ...this.#view, account: view });
    await this.#options.saved.change({
      relay: relay.origin,
      account: { clientId: account.client_id, view },
    });
  }

  #knownDomain(relay: RelayAddress): string {
    const { relay: last, account } = this.#options.saved.data;
    return last === relay.origin ? (account?.view.nameDomain ?? '') : '';
  }

  async #signedOut(problem: Problem | undefined): Promise<void> {
    this.#connection = undefined;
    const { vault, saved } = this.#options;
    this.#set({ state: 'signed-out', relay: saved.data.relay, problem, keeps: await vault.keeps() });
  }

  #set(view: SessionView): void {
    this.#view = view;
    this.changed.emit();
  }
}

/** What the window shows of an account. */
function accountView(account: Account, nameDomain: string): AccountView {
  return {
    name: account.name,
    plan: account.plan,
    nameDomain,
    allowsNames: account.plan !== 'free',
    defaultTtl: parseDuration(account.limits.default_ttl) ?? 3600,
    maxTtl: parseDuration(account.limits.max_ttl) ?? 3600,
  };
}

/**
 * The domain below which a tunnel has its name, with the port if it is not the scheme's own.
 *
 * @returns `undefined` if the tunnel has only a path address
 */
export function nameDomainOf({
  slug,
  public_url,
  urls,
}: Pick<Tunnel, 'slug' | 'public_url' | 'urls'>): string | undefined {
  // A domain of somebody's may begin like the tunnel's name.
  const named = public_url === urls.domain ? (urls.account ?? urls.subdomain) : public_url;
  const host = URL.parse(named ?? '')?.host;
  return host?.startsWith(`${slug}.`) === true ? host.slice(slug.length + 1) : undefined;
}

/* The address of a relay as people type it. */

export function notEncrypted(): Problem {
  return { code: 'not-encrypted', text: t('problem.notEncrypted') };
}

/** People type `relay.example.com`, or `localhost:8080` to try things out. */
export function withScheme(text: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return text;
  return /^(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/]|$)/i.test(text) ? `http://${text}` : `https://${text}`;
}
