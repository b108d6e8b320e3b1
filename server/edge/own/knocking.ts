/** Visitors at the door who knock, and wait until the owner has answered (docs/protocol.md section 11.3). */
import { ApiError } from '../../../shared/errors.ts';
import { prefersHtml } from '../../../shared/http1/accept.ts';
import { fieldValue } from '../../../shared/http1/fields.ts';
import type { RequestHead } from '../../../shared/http1/head.ts';
import { ADMISSION_MAX_SECONDS, KNOCK_SECONDS } from '../../../shared/knocks.ts';
import { isSentFromHere } from '../../gate/credentials.ts';
import type { HeldAccess } from '../../gate/held-access.ts';
import { endOf, type KnockState } from '../../gate/held-knocks.ts';
import type { KnockWaits } from '../../gate/knock-waits.ts';
import type { Passes } from '../../gate/passes.ts';
import { visitorByKnock } from '../../gate/visitors.ts';
import { KNOCK_HOLD_MS, KNOCK_LOOK_SECONDS } from '../../limits.ts';
import type { StoredKnock } from '../../store/records.ts';
import { TooManyKnocksError, type TunnelKnocks } from '../../tunnels/tunnel-knocks.ts';
import { type DoorStep, goOn } from './door-responses.ts';
import {
  lostResponse,
  overResponse,
  tooManyResponse,
  type Waiting,
  waitingResponse,
} from './knock-responses.ts';
import type { Visit } from './notice.ts';
import { passCookie } from '../heads/own-cookies.ts';
import type { OwnResponse } from './own-responses.ts';

/** A visitor whom the gate does not let in, at a tunnel where he may knock. */
export interface Knocker {
  readonly head: RequestHead;
  readonly visit: Visit;
  readonly access: HeldAccess;
  readonly address: string;
  /** id of the knock for which he waits, or has waited */
  readonly knock: string | undefined;
  readonly step: DoorStep | undefined;
}

export interface KnockingOptions {
  readonly knocks: Pick<TunnelKnocks, 'knock'>;
  readonly waits: Pick<KnockWaits, 'wait'>;
  /** with which visitors are known from their knock on, for as long as they may be let in */
  readonly passes: Passes;
  /** Whether tunnels are visited with https. */
  readonly secure: boolean;
  /** address of a link for complaints */
  readonly contact: string | undefined;
  /** wall time in ms */
  readonly now: () => number;
}

export class Knocking {
  readonly #options: KnockingOptions;

  constructor(options: KnockingOptions) {
    this.#options = options;
  }

  /** @returns a promise never rejects; `undefined`: he is told what there is for those who have not knocked */
  respond(knocker: Knocker): OwnResponse | Promise<OwnResponse> | undefined {
    const { head, visit, knock: id, step } = knocker;
    const state = id === undefined ? undefined : visit.tunnel.knocks.stateOf(id, this.#options.now());
    if (step === 'knock') return this.#knockOnce(knocker, state);
    if (id === undefined || state === undefined) return undefined;
    // What a program or a page sends in the background, or a form, goes on from no other page.
    const isLook = head.method === 'GET' || head.method === 'HEAD';
    if (state === 'waiting' && step === 'wait' && head.method === 'GET') return this.#hold(knocker, id);
    return isLook ? this.#tell(knocker, id, state) : undefined;
  }

  #knockOnce(
    knocker: Knocker,
    state: KnockState | undefined,
  ): OwnResponse | Promise<OwnResponse> | undefined {
    if (!isSentFromHere(knocker.head)) return undefined;
    if (state === 'refused') return overResponse(this.#context(knocker), state);
    if (state === 'waiting') return this.#begun(knocker, undefined);
    return this.#knock(knocker);
  }

  async #knock(knocker: Knocker): Promise<OwnResponse> {
    const { head, visit, address } = knocker;
    try {
      const agent = fieldValue(head.fields, 'user-agent') ?? '';
      const knock = await this.#options.knocks.knock(visit.tunnel, address, agent);
      return this.#begun(knocker, knock);
    } catch (error) {
      if (error instanceof TooManyKnocksError)
        return tooManyResponse(this.#context(knocker), Math.ceil(error.ms / 1000));
      if (error instanceof ApiError) return lostResponse(this.#context(knocker));
      throw error;
    }
  }

  /** People see a page that they can reload; programs are told where to wait. */
  #begun(knocker: Knocker, knock: StoredKnock | undefined): OwnResponse {
    const { head, visit } = knocker;
    const cookie = knock === undefined ? undefined : this.#cookie(knocker, knock);
    if (prefersHtml(fieldValue(head.fields, 'accept'))) return goOn(visit, cookie);
    const waiting = { seconds: 0, lookIn: 0, isAsked: true };
    return waitingResponse(this.#context(knocker), { ...waiting, ...(cookie !== undefined && { cookie }) });
  }

  /** Responds once there is an answer, or after a while without one. */
  async #hold(knocker: Knocker, id: string): Promise<OwnResponse> {
    const { visit, access } = knocker;
    const { tunnel } = visit;
    const { waits, now } = this.#options;
    const until = now() + KNOCK_HOLD_MS;
    for (;;) {
      const knock = tunnel.knocks.find(id, now());
      const end = Math.min(until, knock === undefined ? until : endOf(knock));
      const why = await waits.wait(tunnel.id, id, Math.max(1, end - now()));
      const isSame = why !== 'over' && tunnel.access?.version === access.version;
      const state = isSame ? tunnel.knocks.stateOf(id, now()) : undefined;
      if (state === 'refused' || state === 'unanswered') return this.#tell(knocker, id, state);
      // Where he is let in, or everything is different now, the address itself says so.
      if (state !== 'waiting') return goOn(visit, undefined);
      if (why === 'none') return this.#tell(knocker, id, state, KNOCK_LOOK_SECONDS);
      if (now() >= until) return this.#tell(knocker, id, state);
    }
  }

  #tell(knocker: Knocker, id: string, state: KnockState, lookIn = 0): OwnResponse {
    const { visit, step } = knocker;
    if (state === 'admitted') return goOn(visit, undefined);
    if (state !== 'waiting') return overResponse(this.#context(knocker), state);
    const { now } = this.#options;
    const at = visit.tunnel.knocks.find(id, now())?.at ?? now();
    const seconds = Math.max(0, Math.floor((now() - at) / 1000));
    const waiting: Waiting = { seconds, lookIn, isAsked: step === 'wait' };
    return waitingResponse(this.#context(knocker), waiting);
  }

  #cookie({ visit, access }: Knocker, { id, at }: StoredKnock): string {
    const { passes, secure } = this.#options;
    const { tunnel, prefix } = visit;
    const form = prefix === '' ? 'host' : 'path';
    // He may be let in for as long as that; the tunnel knows for how long he is.
    const seconds = KNOCK_SECONDS + ADMISSION_MAX_SECONDS;
    const end = Math.floor(at / 1000) + seconds;
    const value = passes.make(
      { tunnelId: tunnel.id, version: access.version, form },
      visitorByKnock(id),
      end,
    );
    return passCookie({ value, prefix, secure, seconds });
  }

  #context({ head, visit }: Knocker): { head: RequestHead; visit: Visit; contact: string | undefined } {
    return { head, visit, contact: this.#options.contact };
  }
}
