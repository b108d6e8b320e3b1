/**
 * What every program that serves tunnels does with their request logs when it is asked. Values of secrets are replaced
 * (inspector/redaction.ts) unless the owner asks for them with `reveal`.
 */
import * as yup from 'yup';
import { checkEdit, EditRefused, type ImportedRequest } from '../inspector/edit.ts';
import { addImported } from '../inspector/import-text.ts';
import { type RequestSummary, WEBHOOK_PROVIDERS, SEARCH_MAX_CHARS } from '../inspector/records.ts';
import { type PrepareReplay, type Replayer, ReplayRefused } from '../inspector/replay.ts';
import type { RequestLog } from '../inspector/request-log.ts';
import type { LogSearch } from '../inspector/search.ts';
import { SCHEMES, signAgain } from '../inspector/signatures.ts';
import { toMessage } from '../messages.ts';
import { CallRefused, exact, forAgents, methodsFor, type MethodsOf } from './method.ts';
import type { CallError } from './peer.ts';

/** A tunnel served by the program. */
export interface TunnelEntry {
  readonly id: string;
  readonly slug: string;
  readonly publicUrl: string;
}

/** A tunnel whose log can be asked for. */
export interface LoggedTunnel {
  readonly log: Pick<RequestLog, 'list' | 'detail'>;
  readonly replayer: Pick<Replayer, 'replay' | 'replayEdited'>;
}

/** The program, for an agent that asks it. */
export interface LogHost<Tunnel = LoggedTunnel> {
  /** @throws an error for a tunnel that the one that asks cannot have */
  readonly find: (key: string) => Tunnel;
  /** whether the one that asks may see the values of secrets */
  readonly mayReveal: boolean;
}

/** A tunnel, for its owner. */
export interface InspectedTunnel extends TunnelEntry, LoggedTunnel {
  readonly log: RequestLog;
  /** the Host that the local service receives with requests that no visitor has sent */
  readonly host: string;
}

/** The program, for another one of its owner. */
export interface OwnerLogHost extends LogHost<InspectedTunnel & { readonly search: LogSearch }> {
  readonly tunnels: () => readonly TunnelEntry[];
  /** tells of a request that is followed */
  readonly tell: (summary: RequestSummary) => void;
  /** aborted once the one that asks is gone */
  readonly ended: AbortSignal;
}

const key = yup.string().strict().required();
const id = yup.number().integer().min(1).required();
/** Secrets are hidden unless it is asked for them. */
const reveal = yup.boolean().default(false);
const word = yup.string().defined();
const fields = yup.array(yup.tuple([word, word]).required()).required();
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

/** Whether an answer has the values of secrets. */
function visibility(
  given: { readonly reveal: boolean },
  { mayReveal }: LogHost<unknown>,
): { reveal: boolean } {
  return { reveal: given.reveal && mayReveal };
}

export const LOG_METHODS = {
  'tunnel:list': method('read', exact({}), (_, { tunnels }) => tunnels()),
  /** newest first */
  'log:list': forAgents(
    agentMethod('read', exact({ key, reveal }), (given, host) =>
      host.find(given.key).log.list(visibility(given, host)),
    ),
  ),
  /** numbers of the requests that contain every word, headers and bodies included; never of secrets */
  'log:search': method('read', exact({ key, words: word.max(SEARCH_MAX_CHARS) }), (given, { find }) =>
    find(given.key).search.find(given.words),
  ),
  'log:detail': forAgents(
    agentMethod(
      'read',
      exact({ key, id, reveal }),
      (given, host) =>
        host.find(given.key).log.detail(given.id, visibility(given, host)) ?? noRequest(given.id),
    ),
  ),
  /** messages of a WebSocket */
  'log:messages': method(
    'read',
    exact({ key, id }),
    (given, { find }) => find(given.key).log.messages(given.id) ?? noRequest(given.id),
  ),
  /** tells of requests when their heads have arrived, when their responses begin, and when they end */
  'log:follow': method('read', exact({ key, reveal }), (given, host) => {
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
  /** number of the repetition, once it has ended */
  'log:replay': forAgents(
    agentMethod('local', exact({ key, id }), (given, { find }) => find(given.key).replayer.replay(given.id)),
  ),
  /** the same with an edited request; signed again with the secret of the sender of a webhook */
  'log:edit': forAgents(
    agentMethod(
      'local',
      exact({
        key,
        id,
        edit: exact({ ...edited, body: bytes.optional() }),
        secret: yup.string().optional(),
      }),
      (given, { find }) => {
        const { body, ...rest } = given.edit;
        return find(given.key).replayer.replayEdited(
          given.id,
          { ...rest, body },
          signer(given.id, given.secret),
        );
      },
    ),
  ),
  /** adds a request to the log without sending it; its number */
  'log:import': method(
    'local',
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
      const { log, host } = find(tunnel);
      const imported: ImportedRequest = { ...request, response: request.response };
      const problems = checkEdit(imported);
      if (problems.length > 0) throw new EditRefused(problems);
      return addImported(log, imported, host);
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

/** @throws CallRefused */
export function noRequest(number: number): never {
  throw new CallRefused('unknown-request', toMessage('replay.gone', { id: number }));
}

/** @param secret `undefined` to leave the signature as it is */
function signer(number: number, secret: string | undefined): PrepareReplay | undefined {
  if (secret === undefined) return undefined;
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
