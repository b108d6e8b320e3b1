/**
 * The door of a tunnel: what a visitor meets where the owner has said who may come in (docs/decisions/0017-gate.md). The gate
 * decides; here is what that means for the request.
 */
import { fieldValue } from '../../../shared/http1/fields.ts';
import type { RequestHead } from '../../../shared/http1/head.ts';
import type { Credentials } from '../../gate/credentials.ts';
import type { Gate, Kept } from '../../gate/gate.ts';
import type { HeldAccess } from '../../gate/held-access.ts';
import { PassedPasswords } from '../../gate/passed-passwords.ts';
import { BusyError, type PasswordHashes } from '../../gate/password-hashes.ts';
import type { Passes } from '../../gate/passes.ts';
import { PASS_SECONDS } from '../../limits.ts';
import type { RateLimiter } from '../../rate-limiter.ts';
import type { LiveTunnel } from '../../tunnels/live-tunnel.ts';
import { type DoorContext, doorResponse, doorStep, goOn, PASSWORD_FIELD } from './door-responses.ts';
import type { Knocking } from './knocking.ts';
import type { Visit } from './notice.ts';
import { passCookie } from '../heads/own-cookies.ts';
import type { OwnResponse } from './own-responses.ts';

/** Somebody who comes in. */
export interface Entrant {
  /** who he is (server/gate/visitors.ts); `undefined` where he did not have to say */
  readonly visitor: string | undefined;
  /** of the `access` that let him in */
  readonly version: string;
  /** what of his request is not the local service's */
  readonly kept: Kept;
  /** a `Set-Cookie` that makes him known */
  readonly cookie: string | undefined;
}

/** A request at the door. */
export interface Arriving extends Visit {
  /** what the parameter of a signed link says; `undefined` where it is not there */
  readonly link: string | undefined;
  /** Whether it offers a WebSocket. */
  readonly upgrade: boolean;
}

/** The request is the form of the door's own page: its body is for {@link Door.submit}. */
export interface FormEntry {
  readonly form: Visit & { readonly access: HeldAccess };
}

/** Whether somebody comes in, or what he is told instead. */
export type Entry = Entrant | FormEntry | OwnResponse;

export interface DoorOptions {
  readonly gate: Gate;
  readonly passes: Passes;
  /** those of who has come with a link */
  readonly lastingPasses: Passes;
  readonly hashes: Pick<PasswordHashes, 'matches'>;
  readonly knocking: Pick<Knocking, 'respond'>;
  /** wrong passwords, by tunnel and address */
  readonly attempts: Pick<RateLimiter, 'take' | 'giveBack' | 'isOut'>;
  /** Whether tunnels are visited with https. */
  readonly secure: boolean;
  /** address of a link for complaints */
  readonly contact: string | undefined;
  /** wall time in ms */
  readonly now: () => number;
}

/** Whose password the page's is, among those that are remembered: no user of HTTP Basic has a colon in his name. */
const PAGE_USER = ':';

export class Door {
  readonly #options: DoorOptions;
  readonly #passed = new PassedPasswords();

  constructor(options: DoorOptions) {
    this.#options = options;
  }

  /**
   * @param address of the visitor
   * @param network of the visitor, whose wrong passwords are counted together
   * @returns `undefined` for a tunnel that is open to everybody; a promise where a password has to be checked, or somebody
   *   waits for an answer, which never rejects
   */
  enter(
    head: RequestHead,
    visit: Arriving,
    { address, network }: { readonly address: string; readonly network: string },
  ): Entry | Promise<Entry> | undefined {
    const { access, id: tunnelId } = visit.tunnel;
    const { link, prefix } = visit;
    const step = doorStep(head, visit);
    const leadsOn = step !== undefined || (link !== undefined && isFollowed(head, visit));
    // Whoever has waited goes on, if the tunnel is open by now.
    if (access === undefined) return leadsOn && step !== 'password' ? goOn(visit, undefined) : undefined;
    const { gate, now } = this.#options;
    const verdict = gate.decide(access, { head, address, tunnelId, prefix, link, now: now() });
    // Whoever sends it, and whatever else he shows: it never reaches the tunnel.
    if (verdict.kind !== 'address' && step === 'password') return { form: { ...visit, access } };
    switch (verdict.kind) {
      case 'link': {
        const cookie = this.#linkCookie(visit, access, verdict.visitor, verdict.link.end);
        if (leadsOn) return goOn(visit, cookie);
        return { visitor: verdict.visitor, version: access.version, kept: verdict.kept, cookie };
      }
      case 'pass':
        if (leadsOn) return goOn(visit, undefined);
        return { visitor: verdict.visitor, version: access.version, kept: verdict.kept, cookie: undefined };
      case 'address':
        return this.#refuse('access-address', head, visit, access);
      case 'ask': {
        const { knock } = verdict;
        const told = access.takesKnocks
          ? this.#options.knocking.respond({ head, visit, access, address, knock, step })
          : undefined;
        return (
          told ?? this.#refuse('access-required', head, visit, access, { linkEnded: link !== undefined })
        );
      }
      case 'check':
        if (this.#remembers(visit, access, network, verdict.credentials))
          return this.#admit(head, visit, access, verdict.credentials);
        return this.#check(head, visit, access, network, verdict);
    }
  }

  /**
   * Somebody has filled in the form.
   *
   * @param network as for {@link enter}
   * @returns never rejects
   */
  async submit(head: RequestHead, { form }: FormEntry, network: string, body: string): Promise<OwnResponse> {
    const { access } = form;
    const password = new URLSearchParams(body).get(PASSWORD_FIELD) ?? '';
    const { stored } = access;
    // The owner may have changed his mind while the page was open.
    if (stored.password === null) return goOn(form, undefined);
    const credentials = { user: PAGE_USER, password };
    if (!this.#remembers(form, access, network, credentials)) {
      const problem = await this.#try(form, network, password, stored.password);
      if (problem !== undefined)
        return this.#refuse(problem, head, form, access, { wasWrong: problem === 'access-required' });
      this.#passed.add(access.version, credentials);
    }
    return goOn(form, this.#cookie(form, access, 'password'));
  }

  /** The page again, for a form that could not be taken. */
  askAgain(head: RequestHead, { form }: FormEntry): OwnResponse {
    return this.#refuse('access-required', head, form, form.access);
  }

  /**
   * Whether somebody who has come in might still do so.
   *
   * @param address as for {@link enter}
   * @param entrant as what he has come in; `undefined` where everybody could
   */
  mayStay({ id, access }: LiveTunnel, address: string, entrant: Entrant | undefined): boolean {
    if (access === undefined) return true;
    if (!access.allows(address)) return false;
    if (!access.asks) return true;
    if (entrant?.version !== access.version) return false;
    return entrant.visitor === undefined || this.#options.gate.isGood(id, entrant.visitor);
  }

  /**
   * Whether a password is known to be right. Whoever has tried too often is not told: at one that somebody has used lately he
   * could guess as fast as he likes.
   */
  #remembers({ tunnel }: Visit, { version }: HeldAccess, network: string, credentials: Credentials): boolean {
    return !this.#options.attempts.isOut(triesOf(tunnel, network)) && this.#passed.has(version, credentials);
  }

  /** @returns why the password is not accepted */
  async #try(
    { tunnel }: Visit,
    network: string,
    password: string,
    hash: string | undefined,
  ): Promise<'access-required' | 'access-attempts' | undefined> {
    const { attempts, hashes } = this.#options;
    const who = triesOf(tunnel, network);
    // Before the hash, so that many tries at once are counted, too.
    if (attempts.take(who) > 0) return 'access-attempts';
    try {
      if (!(await hashes.matches(password, hash, { account: tunnel.account.id, tunnel: tunnel.id })))
        return 'access-required';
      attempts.giveBack(who);
      return undefined;
    } catch (error) {
      if (!(error instanceof BusyError)) throw error;
      attempts.giveBack(who);
      return 'access-attempts';
    }
  }

  async #check(
    head: RequestHead,
    visit: Visit,
    access: HeldAccess,
    network: string,
    { credentials, hash }: { readonly credentials: Credentials; readonly hash: string | undefined },
  ): Promise<Entry> {
    const problem = await this.#try(visit, network, credentials.password, hash);
    if (problem !== undefined) return this.#refuse(problem, head, visit, access);
    this.#passed.add(access.version, credentials);
    return this.#admit(head, visit, access, credentials);
  }

  #admit(head: RequestHead, visit: Visit, access: HeldAccess, { user }: Credentials): Entrant {
    const visitor = `basic:${user}`;
    // Programs send their credentials each time; a browser does not for a WebSocket.
    const isBrowser = fieldValue(head.fields, 'sec-fetch-mode') !== undefined;
    const cookie = isBrowser ? this.#cookie(visit, access, visitor) : undefined;
    return { visitor, version: access.version, kept: { authorization: true }, cookie };
  }

  /** @param end of the link, wall time in s */
  #linkCookie({ tunnel, prefix }: Visit, { version }: HeldAccess, visitor: string, end: number): string {
    const { lastingPasses, secure, now } = this.#options;
    const form = prefix === '' ? 'host' : 'path';
    const value = lastingPasses.make({ tunnelId: tunnel.id, version, form }, visitor, end);
    return passCookie({ value, prefix, secure, seconds: end - Math.floor(now() / 1000) });
  }

  #cookie(visit: Visit, { version }: HeldAccess, visitor: string): string {
    const { passes, secure, now } = this.#options;
    const form = visit.prefix === '' ? 'host' : 'path';
    const end = Math.floor(now() / 1000) + PASS_SECONDS;
    const value = passes.make({ tunnelId: visit.tunnel.id, version, form }, visitor, end);
    return passCookie({ value, prefix: visit.prefix, secure, seconds: PASS_SECONDS });
  }

  #refuse(
    code: 'access-required' | 'access-address' | 'access-attempts',
    head: RequestHead,
    visit: Visit,
    access: HeldAccess,
    what: Pick<DoorContext, 'wasWrong' | 'linkEnded'> = {},
  ): OwnResponse {
    return doorResponse(code, { head, visit, access, contact: this.#options.contact, ...what });
  }
}

/** Under which name wrong passwords are counted. */
function triesOf({ id }: LiveTunnel, network: string): string {
  return `${id} ${network}`;
}

/** Whether somebody follows a link: he is led on to the address without the parameter, which he may show and pass on. */
function isFollowed({ method }: RequestHead, { upgrade }: Arriving): boolean {
  return (method === 'GET' || method === 'HEAD') && !upgrade;
}

export function isEntrant(entry: Entry): entry is Entrant {
  return 'kept' in entry;
}

export function isFormEntry(entry: Entry): entry is FormEntry {
  return 'form' in entry;
}
