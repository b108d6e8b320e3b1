/**
 * Requests that are kept under a name, to be sent again another day. They have secrets, so they are stored like keys.
 */
import { randomUUID } from 'node:crypto';
import * as yup from 'yup';
import { escapeUnprintable } from '../../../shared/unprintable.ts';
import { editable, type ImportedRequest } from '../../client/inspector/edit.ts';
import type { RequestDetail } from '../../client/inspector/records.ts';
import { redactTarget } from '../../client/inspector/redaction.ts';
import { RECORDED_BODY_MAX_BYTES } from '../../client/limits.ts';
import type { SendResult } from '../ipc/request-views.ts';
import type { KeyKept } from '../ipc/snapshot.ts';
import { t } from '../messages/translate.ts';
import { CallFailure } from './failure.ts';
import { REQUEST_SETS_MAX, REQUEST_SETS_MAX_BYTES, SET_REQUESTS_MAX } from './limits.ts';
import { localHost, writeProblem } from './requests.ts';
import type { Loaded } from './settings/app-store.ts';
import type { KeyVault } from './settings/key-vault.ts';
import { Signal } from './signals.ts';
import type { Signatures } from './signing.ts';
import type { TunnelItem } from './tunnels/tunnel-item.ts';
import type { UndoList } from './undo-list.ts';

export interface RequestSetsOptions {
  readonly vault: Pick<KeyVault, 'loadAs' | 'keep' | 'forget'>;
  /** whether the user wants secrets to be stored; never in plain */
  readonly wish: () => Exclude<KeyKept, 'file'>;
  readonly undos: Pick<UndoList, 'offer'>;
}

const MIB = 1024 * 1024;

/** Every change is on disk before it shows; one that fails has changed nothing. */
export class Collections {
  readonly changed = new Signal();
  readonly #options: RequestSetsOptions;
  #sets: readonly RequestSet[];
  #isKept: boolean;
  #revision = 0;
  #changing: Promise<unknown> = Promise.resolve();

  private constructor(options: RequestSetsOptions, sets: readonly RequestSet[]) {
    this.#options = options;
    this.#sets = sets;
    this.#isKept = sets.length > 0;
  }

  /** @returns the sets, and where a file was put that could not be read */
  static async open(options: RequestSetsOptions): Promise<Loaded<Collections>> {
    const { value, asideAt } = await options.vault.loadAs(readSets, []);
    return { value: new Collections(options, value), asideAt };
  }

  /** in order of creation */
  get sets(): readonly RequestSet[] {
    return this.#sets;
  }

  /** Grows with every change. */
  get revision(): number {
    return this.#revision;
  }

  /** Whether they are there again after the app has quit. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** @throws CallFailure */
  find(setId: string, id: string): SavedRequest {
    const request = one(this.#sets, setId).requests.find((other) => other.id === id);
    if (request === undefined) throw new CallFailure({ code: 'kept-gone', text: t('problem.keptGone') });
    return request;
  }

  /**
   * Makes a set with this request in it, which can be undone.
   *
   * @param detail with its secrets
   * @returns id of the set
   * @throws CallFailure
   */
  async create(name: string, detail: RequestDetail): Promise<string> {
    const id = randomUUID();
    const request = savedRequest(randomUUID(), detail);
    await this.#change((sets) => {
      if (sets.length >= REQUEST_SETS_MAX) throw tooManySets();
      return [...sets, { id, name: nameFor(sets, name), requests: [request] }];
    });
    this.#offerToDrop(id, request);
    return id;
  }

  /** Puts a request at the end of a set, which can be undone. @throws CallFailure */
  async add(setId: string, detail: RequestDetail): Promise<void> {
    const request = savedRequest(randomUUID(), detail);
    await this.#replace(setId, (set) => withRequest(set, request, set.requests.length));
    this.#offerToDrop(setId, request);
  }

  /** @throws CallFailure */
  async rename(setId: string, name: string): Promise<void> {
    await this.#change((sets) => {
      const set = one(sets, setId);
      const others = sets.filter((other) => other !== set);
      return sets.map((other) => (other === set ? { ...set, name: nameFor(others, name) } : other));
    });
  }

  /** Removes a set, which can be undone. @throws CallFailure */
  async remove(setId: string): Promise<void> {
    const set = one(this.#sets, setId);
    const index = this.#sets.indexOf(set);
    await this.#change((sets) => sets.filter(({ id }) => id !== setId));
    this.#options.undos.offer({
      text: t('undo.setRemoved', { name: set.name }),
      undo: () =>
        this.#change((sets) => {
          if (sets.length >= REQUEST_SETS_MAX) throw tooManySets();
          return sets.toSpliced(index, 0, { ...set, name: nameFor(sets, set.name) });
        }),
      commit: () => Promise.resolve(),
    });
  }

  /** Removes a request from its set, which can be undone. @throws CallFailure */
  async removeRequest(setId: string, id: string): Promise<void> {
    const request = this.find(setId, id);
    const { name, requests } = one(this.#sets, setId);
    const index = requests.indexOf(request);
    await this.#replace(setId, (set) => without(set, id));
    this.#options.undos.offer({
      text: t('undo.keptRemoved', { request: spoken(request), name }),
      undo: () => this.#replace(setId, (set) => withRequest(set, request, index)),
      commit: () => Promise.resolve(),
    });
  }

  /** Offers to undo the saving of a request. Undone, a collection that is then empty is deleted. */
  #offerToDrop(setId: string, request: SavedRequest): void {
    const { name } = one(this.#sets, setId);
    this.#options.undos.offer({
      text: t(this.#isKept ? 'undo.kept' : 'undo.keptInMemory', { request: spoken(request), name }),
      undo: () =>
        this.#change((sets) =>
          sets.flatMap((set) => {
            if (set.id !== setId) return [set];
            const left = without(set, request.id);
            return left.requests.length === 0 ? [] : [left];
          }),
        ),
      commit: () => Promise.resolve(),
    });
  }

  #replace(setId: string, change: (set: RequestSet) => RequestSet): Promise<void> {
    return this.#change((sets) => {
      const set = one(sets, setId);
      return sets.map((other) => (other === set ? change(set) : other));
    });
  }

  /** Changes run one after another, so that each starts from the result of the previous one. */
  async #change(change: (sets: readonly RequestSet[]) => readonly RequestSet[]): Promise<void> {
    const before = this.#changing;
    const turn = (async () => {
      await before;
      await this.#store(change(this.#sets));
    })();
    this.#changing = turn.catch(() => {});
    await turn;
  }

  async #store(sets: readonly RequestSet[]): Promise<void> {
    const { vault, wish } = this.#options;
    const text = setsText(sets);
    if (Buffer.byteLength(text) > REQUEST_SETS_MAX_BYTES) {
      const max = REQUEST_SETS_MAX_BYTES / MIB;
      throw new CallFailure({ code: 'sets-too-large', text: t('problem.setsLarge', { max }) });
    }
    try {
      if (sets.length === 0) await vault.forget();
      else this.#isKept = (await vault.keep(text, wish())) === 'system';
    } catch (error) {
      const why = writeProblem(error);
      throw new CallFailure({ code: 'not-written', text: t('problem.setsNotWritten', { why }) });
    }
    this.#sets = sets;
    this.#revision += 1;
    this.changed.emit();
  }
}

function one(sets: readonly RequestSet[], id: string): RequestSet {
  const set = sets.find((other) => other.id === id);
  if (set === undefined) throw new CallFailure({ code: 'set-gone', text: t('problem.setGone') });
  return set;
}

function withRequest(set: RequestSet, request: SavedRequest, index: number): RequestSet {
  if (set.requests.length >= SET_REQUESTS_MAX) {
    const values = { name: set.name, max: SET_REQUESTS_MAX };
    throw new CallFailure({ code: 'set-full', text: t('problem.setFull', values) });
  }
  return { ...set, requests: set.requests.toSpliced(index, 0, request) };
}

/** A request in a sentence: without its query, which may be long and may have secrets. */
function spoken({ method, target }: SavedRequest): string {
  const [path = target] = target.split('?');
  return escapeUnprintable(`${method} ${redactTarget(path)}`);
}

function without(set: RequestSet, id: string): RequestSet {
  return { ...set, requests: set.requests.filter((other) => other.id !== id) };
}

/** Normalizes a name. @param others the collections that must not have it */
function nameFor(others: readonly RequestSet[], written: string): string {
  const name = written.trim();
  if (name === '') throw badName(t('problem.setNoName'));
  if (others.some((other) => other.name === name)) throw badName(t('problem.setNameTaken', { name }));
  return name;
}

function badName(text: string): CallFailure {
  return new CallFailure({ code: 'bad-name', field: 'name', text });
}

function tooManySets(): CallFailure {
  return new CallFailure({ code: 'too-many-sets', text: t('problem.setsMany', { max: REQUEST_SETS_MAX }) });
}

/* Sets of requests as the text that is encrypted and stored. */

interface RequestSet {
  readonly id: string;
  readonly name: string;
  /** in the order of sending */
  readonly requests: readonly SavedRequest[];
}

const requestSchema = yup
  .object({
    id: yup.string().required(),
    method: yup.string().required(),
    target: yup.string().required(),
    fields: yup.array(yup.tuple([yup.string().defined(), yup.string().defined()]).required()).required(),
    body: yup.string().defined(),
  })
  .required();
const setsSchema = yup
  .array(
    yup
      .object({
        id: yup.string().required(),
        name: yup.string().required(),
        requests: yup.array(requestSchema).required(),
      })
      .required(),
  )
  .required();

/** @throws for a text that {@link setsText} has not written */
function readSets(text: string): readonly RequestSet[] {
  return setsSchema.validateSync(JSON.parse(text), { strict: true });
}

function setsText(sets: readonly RequestSet[]): string {
  return JSON.stringify(sets);
}

interface SavedRequest {
  readonly id: string;
  readonly method: string;
  readonly target: string;
  /** in order; values as bytes, a character each */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** base64 */
  readonly body: string;
}

const SWITCHING_PROTOCOLS = 101;

/**
 * @param id its id in the collection
 * @param detail with its secrets
 * @throws CallFailure for a request that was not recorded in full or cannot be replayed
 */
function savedRequest(id: string, detail: RequestDetail): SavedRequest {
  if (detail.status === SWITCHING_PROTOCOLS)
    throw new CallFailure({ code: 'not-kept', text: t('problem.keptUpgrade', { id: detail.id }) });
  if (detail.request.isTruncated || detail.request.body.length > RECORDED_BODY_MAX_BYTES) {
    const values = { id: detail.id, max: RECORDED_BODY_MAX_BYTES / 1024 };
    throw new CallFailure({ code: 'not-kept', text: t('problem.keptCut', values) });
  }
  if (!isWhole(detail))
    throw new CallFailure({ code: 'not-kept', text: t('problem.keptOpen', { id: detail.id }) });
  const { method, target, fields } = editable(detail);
  return { id, method, target, fields, body: Buffer.from(detail.request.body).toString('base64') };
}

/** Whether all of its body has come: the local service may have answered, or broken off, before that. */
function isWhole({ request: { fields, body }, durationMs, isBroken }: RequestDetail): boolean {
  const value = (wanted: string): string | undefined =>
    fields.find(([name]) => name.toLowerCase() === wanted)?.[1];
  const length = value('content-length');
  if (length !== undefined) return body.length === Number(length);
  return value('transfer-encoding') === undefined || (durationMs !== undefined && !isBroken);
}

/** Converts a saved request for a log. */
function importedOf({ method, target, fields, body }: SavedRequest): ImportedRequest {
  return {
    method,
    target,
    fields,
    body: Buffer.from(body, 'base64'),
    isCut: false,
    response: undefined,
  };
}

/* Requests of a set, sent to the local service of a tunnel another day. */

type Receiving = Pick<TunnelItem, 'key' | 'form' | 'log' | 'tunnel'>;

/**
 * Adds a saved request to the log of a tunnel for viewing and editing. Nothing is sent.
 *
 * @returns its number
 * @throws CallFailure for a tunnel to a folder
 */
export function openSaved(tunnel: Receiving, request: SavedRequest): number {
  requirePort(tunnel);
  return tunnel.log.add(importedOf(request), localHost(tunnel));
}

/**
 * Sends a saved request, signed again if the secret of its service is set. The log shows it with its response.
 *
 * @throws CallFailure for a tunnel to a folder; ReplayRefused
 */
export async function sendSaved(
  tunnel: Receiving,
  request: SavedRequest,
  signatures: Pick<Signatures, 'send'>,
): Promise<Extract<SendResult, { sent: unknown }>> {
  requirePort(tunnel);
  const id = await signatures.send(tunnel, importedOf(request), localHost(tunnel));
  return { sent: { id, status: tunnel.log.detail(id, false)?.status } };
}

function requirePort({ form }: Receiving): void {
  if (form.folder !== undefined)
    throw new CallFailure({ code: 'not-imported', text: t('problem.importFolder') });
}
