/**
 * The protocol between `culvert inspect` and a running `culvert`: each connection carries one request as a line of
 * JSON, and one line as the answer, or one for each event of a watch.
 */
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { array, boolean, number, object, string, tuple } from 'yup';
import {
  INSPECT_ANSWER_MAX_BYTES,
  INSPECT_REQUEST_TIMEOUT_MS,
  REPLAY_TIMEOUT_MS,
  SEARCH_MAX_CHARS,
} from '../limits.ts';
import { LineReader } from '../line-reader.ts';
import type { ImportedRequest, RequestEdit } from './edit.ts';
import type { RequestDetail, RequestSummary, SocketMessages } from './records.ts';
import type { Found } from './search.ts';

export type InspectRequest =
  | { readonly op: 'tunnels' }
  | { readonly op: 'list'; readonly tunnel: string; readonly reveal: boolean }
  | { readonly op: 'search'; readonly tunnel: string; readonly words: string }
  | { readonly op: 'show'; readonly tunnel: string; readonly id: number; readonly reveal: boolean }
  | { readonly op: 'messages'; readonly tunnel: string; readonly id: number }
  | { readonly op: 'replay'; readonly tunnel: string; readonly id: number }
  | {
      readonly op: 'edit';
      readonly tunnel: string;
      readonly id: number;
      readonly edit: RequestEdit;
      /** of the sender of a webhook, to sign it again */
      readonly secret?: string | undefined;
    }
  | { readonly op: 'import'; readonly tunnel: string; readonly request: ImportedRequest }
  | { readonly op: 'watch'; readonly tunnel: string; readonly reveal: boolean };

/** A tunnel served by the process. */
export interface TunnelEntry {
  readonly id: string;
  readonly slug: string;
  readonly publicUrl: string;
}

export type InspectAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string };

const TUNNEL = { tunnel: string().strict().required() };
const REQUEST = { ...TUNNEL, id: number().strict().integer().min(1).required() };
const REVEAL = { reveal: boolean().strict().required() };
const word = string().strict().defined();
const fields = array(tuple([word, word]).required())
  .strict()
  .required();
/** base64 */
const body = word.matches(/^[A-Za-z\d+/]*={0,2}$/);
const requestFields = object({ method: word, target: word, fields });
const responseFields = object({
  status: number().strict().integer().min(100).max(999).required(),
  reason: word,
  fields,
  body,
  isCut: boolean().strict().required(),
  durationMs: number().strict().min(0).required(),
});
const SCHEMAS = {
  tunnels: object({}),
  list: object({ ...TUNNEL, ...REVEAL }),
  search: object({ ...TUNNEL, words: word.max(SEARCH_MAX_CHARS) }),
  show: object({ ...REQUEST, ...REVEAL }),
  messages: object(REQUEST),
  replay: object(REQUEST),
  edit: object({
    ...REQUEST,
    edit: requestFields.shape({ body: body.optional() }).required(),
    secret: string().strict().optional(),
  }),
  import: object({
    ...TUNNEL,
    request: requestFields
      .shape({
        body,
        isCut: boolean().strict().required(),
        response: responseFields.default(undefined).optional(),
      })
      .required(),
  }),
  watch: object({ ...TUNNEL, ...REVEAL }),
} as const;

/** @returns `undefined` for anything that is not a request */
export function parseRequest(line: string): InspectRequest | undefined {
  const value = parseJson(line);
  if (typeof value !== 'object' || value === null || !('op' in value)) return undefined;
  const { op } = value;
  if (typeof op !== 'string' || !Object.hasOwn(SCHEMAS, op)) return undefined;
  const isValid = SCHEMAS[op as InspectRequest['op']].isValidSync(value, { strict: true });
  return isValid ? reviveRequest(value as InspectRequest) : undefined;
}

/** One line; bodies are base64. */
export function formatLine(said: InspectRequest | InspectAnswer): string {
  return `${JSON.stringify(said, (key, value: unknown) => (key === 'body' ? base64(value) : value))}\n`;
}

/** Buffers arrive in their JSON form. */
function base64(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  const { data } = (value ?? {}) as { readonly data?: readonly number[] };
  return data === undefined ? value : Buffer.from(data).toString('base64');
}

/** @returns `undefined` for anything that is not an answer */
function parseAnswer(line: string): InspectAnswer | undefined {
  const value = parseJson(line);
  return typeof value === 'object' && value !== null && 'ok' in value ? (value as InspectAnswer) : undefined;
}

/** Decodes bodies to bytes. */
function reviveRequest(request: InspectRequest): InspectRequest {
  switch (request.op) {
    case 'edit':
      return { ...request, edit: { ...request.edit, body: bytes(request.edit.body) } };
    case 'import': {
      const { response } = request.request;
      return {
        ...request,
        request: {
          ...revive(request.request),
          response: response === undefined ? undefined : revive(response),
        },
      };
    }
    case 'tunnels':
    case 'list':
    case 'search':
    case 'show':
    case 'messages':
    case 'replay':
    case 'watch':
      return request;
  }
}

/** Decodes bodies to bytes. */
function reviveDetail(value: unknown): RequestDetail {
  const detail = value as RequestDetail;
  const { request, response } = detail;
  return { ...detail, request: revive(request), response: response && revive(response) };
}

/** Decodes bodies to bytes. */
function reviveMessages(value: unknown): SocketMessages {
  const sent = value as SocketMessages;
  return { ...sent, messages: sent.messages.map((message) => revive(message)) };
}

function revive<T extends { readonly body: Uint8Array }>(message: T): T {
  return { ...message, body: bytes(message.body) };
}

/** Decodes base64 written by {@link formatLine}. */
function bytes(text: Uint8Array): Uint8Array;
function bytes(text: Uint8Array | undefined): Uint8Array | undefined;
function bytes(text: Uint8Array | undefined): Uint8Array | undefined {
  return text === undefined ? undefined : Uint8Array.from(Buffer.from(String(text), 'base64'));
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}

/**
 * Calls back with each complete line received on a socket.
 *
 * @param maxBytes of one line; a peer that sends a longer one is cut off
 */
export function readLines(socket: Socket, maxBytes: number, onLine: (line: string) => void): void {
  const lines = new LineReader(
    maxBytes,
    (line) => {
      if (!socket.destroyed) onLine(line);
    },
    () => socket.destroy(),
  );
  socket.on('data', (chunk: Buffer) => lines.read(chunk));
}

/* Where `culvert inspect` finds processes of `culvert`: one socket each, private to this user. */

/** On Windows Node cannot listen on sockets in folders; named pipes are private to the user who created them. */
const PIPES = '\\\\.\\pipe\\';
const NAME = /^(\d+)\.sock$/;

export interface RuntimeFolder {
  /** Where the process with that id listens. @throws Error if no private socket can be created there */
  pathOf(pid: number): string;
  /** where processes listen, or listened before they were killed */
  paths(): string[];
  /** whether paths are files, which a killed process leaves behind */
  readonly hasFiles: boolean;
}

/**
 * The folder of this user. A process started without a login session has no XDG_RUNTIME_DIR, so sockets are found in
 * both places, and created in the first usable one.
 */
export function runtimeFolder(
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform = process.platform,
): RuntimeFolder {
  if (platform === 'win32') return namedPipes(`culvert-${userInfo().username}-`);
  const base = env['XDG_RUNTIME_DIR'];
  const hasBase = base !== undefined && base.startsWith('/');
  const folders = [
    ...(hasBase ? [join(base, 'culvert')] : []),
    join(env['TMPDIR'] ?? tmpdir(), `culvert-${userInfo().uid}`),
  ];
  return {
    hasFiles: true,
    pathOf: (pid) => join(firstUsable(folders), `${pid}.sock`),
    paths: () => folders.filter(isOwn).flatMap(socketsIn),
  };
}

/**
 * Creates the folder with mode 0700 if it is missing.
 *
 * @throws Error if it cannot be created, or another user may have created it
 */
function firstUsable(folders: readonly string[]): string {
  const problems: string[] = [];
  for (const folder of folders) {
    try {
      if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
      if (!isOwn(folder)) throw new Error(`${folder} does not belong to this user; remove it`);
      chmodSync(folder, 0o700);
      return folder;
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(problems.join('; '));
}

/** In a world-writable folder, another user may have been first, or have placed a link. */
function isOwn(folder: string): boolean {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  return stat !== undefined && stat.isDirectory() && stat.uid === userInfo().uid;
}

function socketsIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => NAME.test(name))
    .map((name) => join(folder, name));
}

function namedPipes(prefix: string): RuntimeFolder {
  return {
    hasFiles: false,
    pathOf: (pid) => `${PIPES}${prefix}${pid}`,
    paths: () =>
      readdirSync(PIPES)
        .filter((name) => name.startsWith(prefix))
        .map((name) => PIPES + name),
  };
}

/** The inspected process refused. The message is for people. */
export class InspectRefused extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'InspectRefused';
    this.code = code;
  }
}

/** No process listens at that path any longer. */
class NobodyThere extends Error {}

/** A tunnel served by a process of this user. */
export interface FoundTunnel extends TunnelEntry {
  /** where the process listens */
  readonly path: string;
}

/** The tunnels of all processes of this user. Removes sockets left behind by processes that have ended. */
export async function findTunnels(folder: RuntimeFolder): Promise<FoundTunnel[]> {
  const found = await Promise.all(folder.paths().map((path) => tunnelsAt(folder, path)));
  return found.flat();
}

async function tunnelsAt(folder: RuntimeFolder, path: string): Promise<FoundTunnel[]> {
  try {
    const tunnels = (await ask(path, { op: 'tunnels' })) as readonly TunnelEntry[];
    return tunnels.map((tunnel) => ({ ...tunnel, path }));
  } catch (error) {
    if (error instanceof NobodyThere && folder.hasFiles) rmSync(path, { force: true });
    // A process that is ending or stopped cannot be inspected.
    return [];
  }
}

/** Inspects one tunnel of a running process. Every failed call throws {@link InspectRefused} with the reason. */
export class Inspector {
  readonly #path: string;
  readonly #tunnel: string;

  constructor({ path, id }: FoundTunnel) {
    this.#path = path;
    this.#tunnel = id;
  }

  /** The recorded requests, newest first. */
  async list(reveal: boolean): Promise<readonly RequestSummary[]> {
    const value = await ask(this.#path, { op: 'list', tunnel: this.#tunnel, reveal });
    return value as readonly RequestSummary[];
  }

  /** Finds requests by words in their lines, headers and bodies; never by values of secrets. */
  async search(words: string): Promise<Found> {
    return (await ask(this.#path, { op: 'search', tunnel: this.#tunnel, words })) as Found;
  }

  async show(id: number, reveal: boolean): Promise<RequestDetail> {
    return reviveDetail(await ask(this.#path, { op: 'show', tunnel: this.#tunnel, id, reveal }));
  }

  /** The messages of a WebSocket. */
  async messages(id: number): Promise<SocketMessages> {
    return reviveMessages(await ask(this.#path, { op: 'messages', tunnel: this.#tunnel, id }));
  }

  /** @returns the number of the repetition, once it has ended */
  async replay(id: number): Promise<number> {
    const value = await ask(this.#path, { op: 'replay', tunnel: this.#tunnel, id });
    return (value as { readonly id: number }).id;
  }

  /**
   * Sends an edited request.
   *
   * @param secret of the sender of a webhook, to sign it again
   * @returns like {@link Inspector.replay}
   */
  async replayEdited(id: number, edit: RequestEdit, secret?: string): Promise<number> {
    const value = await ask(this.#path, { op: 'edit', tunnel: this.#tunnel, id, edit, secret });
    return (value as { readonly id: number }).id;
  }

  /** Adds a request to the log without sending it. @returns its number */
  async add(request: ImportedRequest): Promise<number> {
    const value = await ask(this.#path, { op: 'import', tunnel: this.#tunnel, request });
    return (value as { readonly id: number }).id;
  }

  /**
   * Reports requests as they arrive, until `ended` aborts, or the tunnel or its process ends.
   *
   * @param onRequest called when a request's head has arrived, when its response begins and when it ends
   */
  async watch(
    reveal: boolean,
    onRequest: (summary: RequestSummary) => void,
    ended: AbortSignal,
  ): Promise<void> {
    const request = { op: 'watch', tunnel: this.#tunnel, reveal } as const;
    await converse(this.#path, request, 0, (value) => onRequest(value as RequestSummary), ended);
  }
}

async function ask(path: string, request: Exclude<InspectRequest, { op: 'watch' }>): Promise<unknown> {
  const wait =
    INSPECT_REQUEST_TIMEOUT_MS +
    (request.op === 'replay' || request.op === 'edit' ? 2 * REPLAY_TIMEOUT_MS : 0);
  let value: unknown;
  await converse(path, request, wait, (answer) => (value = answer));
  if (value === undefined) throw new InspectRefused('no-answer', 'The culvert process has ended.');
  return value;
}

/** @param idleMs ms of silence after which the client gives up on the process; 0 for never */
async function converse(
  path: string,
  request: InspectRequest,
  idleMs: number,
  onValue: (value: unknown) => void,
  ended?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path, ...(ended === undefined ? {} : { signal: ended }) });
    const fail = (error: Error): void => {
      socket.destroy();
      reject(error);
    };
    socket.setTimeout(idleMs, () =>
      fail(new InspectRefused('no-answer', 'The culvert process does not respond.')),
    );
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const isNobody = error.code === 'ECONNREFUSED' || error.code === 'ENOENT';
      if (ended?.aborted !== true) fail(isNobody ? new NobodyThere() : error);
    });
    socket.on('close', () => resolve());
    readLines(socket, INSPECT_ANSWER_MAX_BYTES, (line) => {
      const answer = parseAnswer(line);
      if (answer === undefined)
        fail(new InspectRefused('bad-answer', 'The culvert process has a different version.'));
      else if (answer.ok) onValue(answer.value);
      else fail(new InspectRefused(answer.code, answer.message));
    });
    socket.write(formatLine(request));
  });
}
