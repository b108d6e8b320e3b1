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
import type { CreateLimiter } from '../../rate-limiter.ts';
import { doorResponse } from './door-responses.ts';
import type { Visit } from './notice.ts';
import { passCookie } from './own-cookies.ts';
import type { OwnResponse } from './own-responses.ts';

/** Somebody who comes in. */
export interface Entrant {
  /** who he is, for the local service; `undefined` where he did not have to say */
  readonly visitor: string | undefined;
  /** what of his request is not the local service's */
  readonly kept: Kept;
  /** a `Set-Cookie` that makes him known */
  readonly cookie: string | undefined;
}

/** Whether somebody comes in, or what he is told instead. */
export type Entry = Entrant | OwnResponse;

export interface DoorOptions {
  readonly gate: Gate;
  readonly passes: Passes;
  readonly hashes: Pick<PasswordHashes, 'matches'>;
  /** wrong passwords, by tunnel and address */
  readonly attempts: Pick<CreateLimiter, 'take' | 'giveBack'>;
  /** Whether tunnels are visited with https. */
  readonly secure: boolean;
  /** address of a link for complaints */
  readonly contact: string | undefined;
  /** wall time in ms */
  readonly now: () => number;
}

export class Door {
  readonly #options: DoorOptions;
  readonly #passed = new PassedPasswords();

  constructor(options: DoorOptions) {
    this.#options = options;
  }

  /**
   * @param address of the visitor
   * @param network of the visitor, whose wrong passwords are counted together
   * @returns `undefined` for a tunnel that is open to everybody; a promise where a password has to be checked, which never rejects
   */
  enter(
    head: RequestHead,
    visit: Visit,
    { address, network }: { readonly address: string; readonly network: string },
  ): Entry | Promise<Entry> | undefined {
    const { access, id: tunnelId } = visit.tunnel;
    if (access === undefined) return undefined;
    const { gate, now } = this.#options;
    const verdict = gate.decide(access, { head, address, tunnelId, prefix: visit.prefix, now: now() });
    switch (verdict.kind) {
      case 'pass':
        return { visitor: verdict.visitor, kept: verdict.kept, cookie: undefined };
      case 'address':
        return this.#refuse('access-address', head, visit, access);
      case 'ask':
        return this.#refuse('access-required', head, visit, access);
      case 'check':
        if (this.#passed.has(access.version, verdict.credentials))
          return this.#admit(head, visit, access, verdict.credentials);
        return this.#check(head, visit, access, network, verdict);
    }
  }

  async #check(
    head: RequestHead,
    visit: Visit,
    access: HeldAccess,
    network: string,
    { credentials, hash }: { readonly credentials: Credentials; readonly hash: string | undefined },
  ): Promise<Entry> {
    const { attempts, hashes } = this.#options;
    const who = `${visit.tunnel.id} ${network}`;
    // Before the hash, so that many tries at once are counted, too.
    if ((await attempts.take(who)) > 0) return this.#refuse('access-attempts', head, visit, access);
    try {
      if (!(await hashes.matches(credentials.password, hash)))
        return this.#refuse('access-required', head, visit, access);
      await attempts.giveBack(who);
    } catch (error) {
      if (!(error instanceof BusyError)) throw error;
      await attempts.giveBack(who);
      return this.#refuse('access-attempts', head, visit, access);
    }
    this.#passed.add(access.version, credentials);
    return this.#admit(head, visit, access, credentials);
  }

  #admit(head: RequestHead, visit: Visit, access: HeldAccess, { user }: Credentials): Entrant {
    const visitor = `basic:${user}`;
    // Programs send their credentials each time; a browser does not for a WebSocket.
    const isBrowser = fieldValue(head.fields, 'sec-fetch-mode') !== undefined;
    const cookie = isBrowser ? this.#cookie(visit, access, visitor) : undefined;
    return { visitor, kept: { authorization: true }, cookie };
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
  ): OwnResponse {
    return doorResponse(code, { head, visit, access, contact: this.#options.contact });
  }
}

export function isEntrant(entry: Entry): entry is Entrant {
  return 'kept' in entry;
}
