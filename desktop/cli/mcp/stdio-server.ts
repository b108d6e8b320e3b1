/**
 * The Model Context Protocol over standard input and output: one JSON-RPC 2.0 message per line. It serves tools only, to
 * clients that begin with `initialize` (revisions up to 2025-11-25), and to those whose requests name the revision
 * themselves (2026-07-28). See docs/decisions/0030-mcp-by-hand.md.
 */
import type { Readable, Writable } from 'node:stream';
import type { JsonObject } from '../../../shared/fields.ts';
import { VERSION } from '../../../shared/version.ts';
import type { Clock } from '../../client/clock.ts';
import { LineReader } from '../../client/line-reader.ts';
import { jsonLine } from '../output/format.ts';

/**
 * Longest message that `culvert mcp` reads: an edited body of 256 KiB, even if each of its characters is escaped.
 */
export const MCP_MESSAGE_MAX_BYTES = 4 * 1024 * 1024;
/** Maximum number of tool calls that `culvert mcp` runs at a time. More are refused. */
const MCP_CALLS_MAX = 32;
/** How much output may wait for a client that does not read, before `culvert mcp` stops reading its messages. */
export const MCP_OUTPUT_MAX_BYTES = 1024 * 1024;
/**
 * How often a client that asks for progress hears that a call is still running: clients give up after a minute
 * of silence.
 */
export const MCP_PROGRESS_MS = 15_000;

/** A tool as a client sees it. */
export interface ToolDescription {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly annotations: JsonObject;
}

export interface ToolResult {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[];
  readonly isError?: true;
}

/** The newest first: it is the answer to a client that asks for an unknown one. */
const HANDSHAKE_REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
/** Revisions without a handshake. */
const STATELESS_REVISIONS = ['2026-07-28'];
const META = 'io.modelcontextprotocol/';
const SERVER_INFO = { name: 'culvert', title: 'Culvert tunnels', version: VERSION };
const CAPABILITIES = { tools: {} };

/** JSON-RPC 2.0 section 5.1, and what MCP adds. */
const ErrorCode = {
  parse: -32_700,
  invalidRequest: -32_600,
  unknownMethod: -32_601,
  invalidParams: -32_602,
  busy: -32_000,
  unusable: -32_000,
  unsupportedRevision: -32_022,
} as const;

type Id = string | number;

class RpcError extends Error {
  readonly code: number;
  readonly data: JsonObject | undefined;

  constructor(code: number, message: string, data?: JsonObject) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

interface Request {
  readonly id: Id;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** whether the request names its revision */
  readonly isStateless: boolean;
}

export interface StdioServerOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly clock: Clock;
  /** what a client tells its model about the server */
  readonly instructions: string;
  readonly tools: readonly ToolDescription[];
  /** why nothing works: every request is refused with it, and the connection ends with the client's handshake */
  readonly refusal?: string | undefined;
  /**
   * Calls a tool.
   *
   * @param signal aborted if the client cancels the call, or the connection ends
   * @returns also for a failure, which the result then describes
   */
  readonly call: (name: string, given: unknown, signal: AbortSignal) => Promise<ToolResult>;
}

export class StdioServer {
  readonly #options: StdioServerOptions;
  /** calls under way, by the client's id */
  readonly #calls = new Map<Id, AbortController>();
  readonly #ended = Promise.withResolvers<void>();

  constructor(options: StdioServerOptions) {
    this.#options = options;
  }

  /**
   * Answers messages until the input ends, the output cannot be written, or `interrupted` aborts. Calls under way are
   * aborted then.
   */
  async serve(interrupted: AbortSignal): Promise<void> {
    const { input, output } = this.#options;
    const end = (): void => this.#ended.resolve();
    const lines = new LineReader(
      MCP_MESSAGE_MAX_BYTES,
      (line) => this.#receive(line),
      () => this.#refuse(null, new RpcError(ErrorCode.invalidRequest, TOO_LONG)),
    );
    input.on('data', (chunk: Buffer) => {
      lines.read(chunk);
      if (output.writableLength > MCP_OUTPUT_MAX_BYTES) input.pause();
    });
    output.on('drain', () => input.resume());
    for (const event of ['end', 'close', 'error']) input.on(event, end);
    output.on('error', end);
    interrupted.addEventListener('abort', end, { once: true });
    if (interrupted.aborted) end();
    await this.#ended.promise;
    input.destroy();
    for (const call of this.#calls.values()) call.abort();
  }

  #receive(line: string): void {
    if (line.trim() === '') return;
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return this.#refuse(null, new RpcError(ErrorCode.parse, 'The message is not JSON.'));
    }
    if (!isObject(message) || message['jsonrpc'] !== '2.0')
      return this.#refuse(null, new RpcError(ErrorCode.invalidRequest, 'The message is not JSON-RPC 2.0.'));
    const { id, method, params = {} } = message;
    // Responses: this server asks nothing.
    if (method === undefined && ('result' in message || 'error' in message)) return;
    if (typeof method !== 'string' || !isObject(params) || !(id === undefined || isId(id)))
      return this.#refuse(isId(id) ? id : null, new RpcError(ErrorCode.invalidRequest, NO_REQUEST));
    if (id === undefined) return this.#notified(method, params);
    try {
      this.#answer({ id, method, params, isStateless: namesRevision(params) });
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      this.#refuse(id, error);
    }
  }

  #notified(method: string, { requestId }: Readonly<Record<string, unknown>>): void {
    if (method === 'notifications/cancelled' && isId(requestId)) this.#calls.get(requestId)?.abort();
  }

  /** @throws RpcError */
  #answer(request: Request): void {
    const { instructions, tools, refusal } = this.#options;
    if (refusal !== undefined) {
      // Some clients try a method of a later revision first.
      if (request.method === 'initialize') this.#ended.resolve();
      throw new RpcError(ErrorCode.unusable, refusal);
    }
    switch (request.method) {
      case 'initialize': {
        const wanted = request.params['protocolVersion'];
        const protocolVersion = HANDSHAKE_REVISIONS.find((each) => each === wanted) ?? HANDSHAKE_REVISIONS[0];
        const serverInfo = SERVER_INFO;
        return this.#respond(request, {
          protocolVersion,
          capabilities: CAPABILITIES,
          serverInfo,
          instructions,
        });
      }
      case 'server/discover':
        return this.#respond(request, {
          supportedVersions: STATELESS_REVISIONS,
          capabilities: CAPABILITIES,
          instructions,
          ...NOT_CACHED,
        });
      case 'ping':
        return this.#respond(request, {});
      case 'tools/list':
        return this.#respond(request, { tools, ...(request.isStateless && NOT_CACHED) });
      case 'tools/call':
        return this.#call(request);
      default:
        throw new RpcError(
          ErrorCode.unknownMethod,
          `There is no method ${JSON.stringify(request.method.slice(0, 80))}.`,
        );
    }
  }

  /** @throws RpcError */
  #call(request: Request): void {
    const { id, params } = request;
    const { name, arguments: given } = params;
    if (typeof name !== 'string' || !this.#options.tools.some((tool) => tool.name === name)) {
      const shown = typeof name === 'string' ? JSON.stringify(name.slice(0, 80)) : 'without a name';
      throw new RpcError(ErrorCode.invalidParams, `There is no tool ${shown}.`);
    }
    if (this.#calls.has(id))
      throw new RpcError(ErrorCode.invalidRequest, 'A call with this id is still running.');
    if (this.#calls.size >= MCP_CALLS_MAX)
      throw new RpcError(
        ErrorCode.busy,
        `${MCP_CALLS_MAX} calls are running, which is the maximum. Try again when one has ended.`,
      );
    const call = new AbortController();
    this.#calls.set(id, call);
    void this.#run(request, name, given, call.signal);
  }

  async #run(request: Request, name: string, given: unknown, cancelled: AbortSignal): Promise<void> {
    const stopProgress = this.#reportProgress(request.params);
    const result = await this.#options.call(name, given, cancelled);
    stopProgress();
    this.#calls.delete(request.id);
    // A cancelled call has no response.
    if (!cancelled.aborted) this.#respond(request, result);
  }

  /** @returns a function that ends it */
  #reportProgress({ _meta: meta }: Readonly<Record<string, unknown>>): () => void {
    const progressToken = isObject(meta) ? meta['progressToken'] : undefined;
    if (!isId(progressToken)) return () => {};
    let progress = 0;
    const next = () =>
      this.#options.clock.setTimeout(() => {
        progress += 1;
        this.#send({ method: 'notifications/progress', params: { progressToken, progress } });
        timer = next();
      }, MCP_PROGRESS_MS);
    let timer = next();
    return () => timer.cancel();
  }

  #respond({ id, isStateless }: Request, result: object): void {
    const about = isStateless && {
      resultType: 'complete',
      _meta: { [`${META}serverInfo`]: SERVER_INFO },
    };
    this.#send({ id, result: { ...result, ...about } });
  }

  #refuse(id: Id | null, { code, message, data }: RpcError): void {
    this.#send({ id, error: { code, message, ...(data !== undefined && { data }) } });
  }

  #send(message: object): void {
    const { output } = this.#options;
    if (output.writable) output.write(jsonLine({ jsonrpc: '2.0', ...message }));
  }
}

const TOO_LONG = `The message is longer than the limit of ${MCP_MESSAGE_MAX_BYTES / 1024} KiB.`;
const NO_REQUEST =
  'A request must have a method, params that are an object, and an id that is a string or a number.';
/** The result may not be kept (revision 2026-07-28). */
const NOT_CACHED = { ttlMs: 0, cacheScope: 'private' };

/**
 * Whether the request names its revision.
 *
 * @throws RpcError for a revision that is not supported
 */
function namesRevision({ _meta: meta }: Readonly<Record<string, unknown>>): boolean {
  const requested = isObject(meta) ? meta[`${META}protocolVersion`] : undefined;
  if (requested === undefined) return false;
  if (typeof requested === 'string' && STATELESS_REVISIONS.includes(requested)) return true;
  throw new RpcError(ErrorCode.unsupportedRevision, 'This revision of the protocol is not supported.', {
    supported: STATELESS_REVISIONS,
    requested: typeof requested === 'string' ? requested.slice(0, 40) : 'not a string',
  });
}

function isId(value: unknown): value is Id {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
