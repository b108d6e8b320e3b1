/**
 * What every program that serves tunnels does with their request logs when it is asked. Values of secrets are replaced
 * (inspector/redaction.ts) unless the owner asks for them with `reveal`.
 */
import * as yup from 'yup';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { detailView } from '../inspector/decode-body.ts';
import { checkEdit, EDITED_FIELDS_MAX, EditRefused, type ImportedRequest } from '../inspector/edit.ts';
import { addImported } from '../inspector/import-text.ts';
import {
  type DetailView,
  type RequestSummary,
  WEBHOOK_PROVIDERS,
  SEARCH_MAX_CHARS,
} from '../inspector/records.ts';
import { type PrepareReplay, type Replayer, ReplayRefused } from '../inspector/replay.ts';
import { RECORDED_REQUESTS_MAX, type RequestLog } from '../inspector/request-log.ts';
import type { LogSearch } from '../inspector/search.ts';
import { SCHEMES, signAgain } from '../inspector/signatures.ts';
import { toMessage } from '../messages.ts';
import { CallRefused, exact, forAgents, methodsFor, type MethodsOf } from './method.ts';
import type { CallError } from './peer.ts';

/** Maximum length of each part of an edited request: twice the body limit, so that an error can state the real size. */
export const EDIT_TEXT_MAX_CHARS = 128 * 1024;

/** A tunnel served by the program. */
export interface TunnelEntry {
  readonly id: string;
  readonly slug: string;
  readonly publicUrl: string;
}

/** A tunnel whose log can be asked for. */
export interface LoggedTunnel {
  readonly log: Pick<RequestLog, 'list' | 'detail' | 'tries'>;
  readonly replayer: Pick<Replayer, 'replay' | 'replayEdited'>;
}

/** The program, for an agent that asks it. */
export interface LogHost<Found = LoggedTunnel> {
  /** @throws an error for a tunnel that the one that asks cannot have */
  readonly find: (key: string) => Found;
  /** whether the one that asks may see the values of secrets */
  readonly mayReveal: boolean;
  /** Signs requests with the secrets that the program keeps for senders of webhooks, if it does. */
  readonly signer?: (key: string, isEdited: boolean) => PrepareReplay;
}

/** A tunnel, for its owner. */
export interface InspectedTunnel extends LoggedTunnel {
  readonly tunnel: Pick<Tunnel, 'id' | 'slug' | 'public_url'>;
  readonly log: RequestLog;
  readonly search: LogSearch;
  /** the Host that the local service receives with requests that no visitor has sent */
  readonly localHost: string;
}

/** The program, for its owner. */
export type OwnerLogHost = LogHost<InspectedTunnel>;

/** The program, for another one of its owner. */
export interface InspectedHost extends OwnerLogHost {
  readonly tunnels: () => readonly TunnelEntry[];
  /** tells of a request that is followed */
  readonly tell: (summary: RequestSummary) => void;
  /** aborted once the one that asks is gone */
  readonly ended: AbortSignal;
}

const key = yup.string().strict().required();
const count = yup.number().integer().min(0).required();
const id = yup.number().integer().min(1).required();
/** Secrets are hidden unless it is asked for them. */
const reveal = yup.boolean();
/** Checks only type and length: the check of the request reports errors in each part. */
const word = yup.string().defined().max(EDIT_TEXT_MAX_CHARS);
const fields = yup
  .array(yup.tuple([word, word]).required())
  .max(2 * EDITED_FIELDS_MAX)
  .required();
const bytes = yup.mixed((value): value is Uint8Array => value instanceof Uint8Array);
const isCut = yup.boolean().required();
const edited = { method: word, target: word, fields };
const response = {
  status: yup.number().integer().min(100).max(999).required(),
  reason: word,
  fields,
  body: bytes.required(),
  isCut,
  durationMs: yup.number().min(0).required(),
};

const agentMethod = methodsFor<LogHost>();
const method = methodsFor<OwnerLogHost>();
const programMethod = methodsFor<InspectedHost>();

/** Whether an answer has the values of secrets. */
function visibility(
  given: { readonly reveal?: boolean | undefined },
  { mayReveal }: LogHost<unknown>,
): { reveal: boolean } {
  return { reveal: given.reveal === true && mayReveal };
}

export const LOG_METHODS = {
  'tunnel:list': programMethod(exact({}), (_, { tunnels }) => tunnels()),
  /** newest first */
  'log:list': forAgents(
    agentMethod(exact({ key, reveal }), (given, host) =>
      host.find(given.key).log.list(visibility(given, host), RECORDED_REQUESTS_MAX),
    ),
  ),
  /** what has changed, in parts of a limited size */
  'log:changes': method(exact({ key, since: exact({ epoch: count, revision: count }) }), (given, { find }) =>
    find(given.key).log.changes(given.since),
  ),
  /** numbers of the requests that contain every word, headers and bodies included; never of secrets */
  'log:search': method(
    exact({ key, words: yup.string().defined().max(SEARCH_MAX_CHARS) }),
    (given, { find }) => find(given.key).search.find(given.words),
  ),
  /** a request; if it `decodes`, as a window shows it */
  'log:detail': forAgents(
    agentMethod(exact({ key, id, reveal, decodes: yup.boolean() }), (given, host): DetailView => {
      const { log } = host.find(given.key);
      const detail = log.detail(given.id, visibility(given, host));
      if (detail === undefined) return noRequest(given.id);
      if (given.decodes !== true) return detail;
      const tries = log.tries(given.id, visibility(given, host));
      return { ...detailView(detail), ...(tries.length > 1 && { tries }) };
    }),
  ),
  /** messages of a WebSocket after one that is known */
  'log:messages': method(
    exact({ key, id, after: count.optional() }),
    (given, { find }) => find(given.key).log.messages(given.id, given.after) ?? noRequest(given.id),
  ),
  /** tells of requests when their heads have arrived, when their responses begin, and when they end */
  'log:follow': programMethod(exact({ key, reveal }), (given, host) => {
    const stop = host.find(given.key).log.subscribe(host.tell, visibility(given, host));
    return new Promise<void>((resolve) => {
      const end = (): void => {
        stop();
        resolve();
      };
      host.ended.addEventListener('abort', end, { once: true });
      if (host.ended.aborted) end();
    });
  }),
  /** number of the repetition, once it has ended; if it `signs`, with a new signature of a webhook's sender */
  'log:replay': forAgents(
    agentMethod(exact({ key, id, signs: yup.boolean() }), (given, host) =>
      host.find(given.key).replayer.replay(given.id, signerOf(given, host, false)),
    ),
  ),
  /** the same with an edited request, whose `secret` may also be one that the program does not keep */
  'log:edit': forAgents(
    agentMethod(
      exact({
        key,
        id,
        edit: exact({ ...edited, body: bytes.optional() }),
        signs: yup.boolean(),
        secret: yup.string().max(EDIT_TEXT_MAX_CHARS),
      }),
      (given, host) => {
        const { body, ...rest } = given.edit;
        const { replayer } = host.find(given.key);
        return replayer.replayEdited(given.id, { ...rest, body }, signerOf(given, host, true));
      },
    ),
  ),
  /** adds a request to the log without sending it; its number */
  'log:import': method(
    exact({
      key,
      request: exact({
        ...edited,
        body: bytes.required(),
        isCut,
        response: exact(response).optional().default(undefined),
      }),
    }),
    ({ key: tunnel, request }, { find }) => {
      const { log, localHost } = find(tunnel);
      const imported: ImportedRequest = { ...request, response: request.response };
      const problems = checkEdit(imported);
      if (problems.length > 0) throw new EditRefused(problems);
      return addImported(log, imported, localHost);
    },
  ),
};

export type LogMethods = MethodsOf<typeof LOG_METHODS>;

type Rows = typeof LOG_METHODS;
/** What an agent may ask. */
export type AgentMethod = {
  [M in keyof Rows]: Rows[M] extends { readonly isForAgents: true } ? M : never;
}[keyof Rows];

/**
 * Runs a row for an agent: only one that is marked, and never with the values of secrets.
 *
 * @param find the tunnels of the agent
 * @throws CallRefused, EditRefused, and what `find` throws
 */
export async function askForAgent<M extends AgentMethod>(
  name: M,
  sent: object,
  find: LogHost['find'],
): Promise<LogMethods[M]['result']> {
  const { isForAgents, payload, run } = LOG_METHODS[name];
  // Whatever the compiler was told.
  if (!isForAgents) throw new CallRefused('no-such-method', `An agent cannot use ${name}.`);
  return run(payload.validateSync(sent) as never, { find, mayReveal: false });
}

function noRequest(number: number): never {
  throw new CallRefused('unknown-request', toMessage('replay.gone', { id: number }));
}

interface Signed {
  readonly key: string;
  readonly id: number;
  readonly signs?: boolean | undefined;
  readonly secret?: string | undefined;
}

/** @returns `undefined` to leave the signature as it is */
function signerOf(
  { key: tunnel, id: number, signs, secret }: Signed,
  { signer }: LogHost,
  isEdited: boolean,
): PrepareReplay | undefined {
  if (secret !== undefined) return signerWith(number, secret);
  if (signs !== true) return undefined;
  if (signer === undefined) throw new CallRefused('no-secret', toMessage('replay.noSecret'));
  return signer(tunnel, isEdited);
}

function signerWith(number: number, secret: string): PrepareReplay {
  return (request) => {
    const signed = signAgain(
      request,
      (provider) => {
        const problem = SCHEMES[provider].secretProblem(secret);
        if (problem === undefined) return secret;
        throw new ReplayRefused('bad-secret', problem);
      },
      Date.now(),
    );
    if (signed !== undefined) return signed;
    const senders = Object.values(WEBHOOK_PROVIDERS).join(', ');
    throw new ReplayRefused('not-a-webhook', toMessage('replay.noWebhook', { id: number, senders }));
  };
}

/** In English. */
export function describeRefusal(error: unknown): CallError | undefined {
  if (error instanceof CallRefused) return { code: error.code, text: error.message };
  if (error instanceof EditRefused) return { code: 'edit-refused', text: error.message };
  return undefined;
}
