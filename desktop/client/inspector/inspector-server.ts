import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import {
  INSPECT_BACKLOG_MAX_BYTES,
  INSPECT_REQUEST_MAX_BYTES,
  INSPECT_REQUEST_TIMEOUT_MS,
  INSPECTORS_MAX,
} from '../limits.ts';
import { toMessage } from '../messages.ts';
import { SCHEMES, signAgain } from './signatures.ts';
import { checkEdit, EditRefused, type ImportedRequest } from './edit.ts';
import { addImported } from './import-text.ts';
import {
  findTunnels,
  formatLine,
  type InspectAnswer,
  type InspectRequest,
  parseRequest,
  readLines,
  type RuntimeFolder,
  type TunnelEntry,
} from './inspector-protocol.ts';
import { type RequestSummary, WEBHOOK_PROVIDERS } from './records.ts';
import { type PrepareReplay, type Replayer, ReplayRefused } from './replay.ts';
import type { RequestLog } from './request-log.ts';
import { LogSearch } from './search.ts';

/** A tunnel that can be inspected. */
export interface InspectedTunnel extends TunnelEntry {
  readonly log: RequestLog;
  readonly replayer: Pick<Replayer, 'replay' | 'replayEdited'>;
  /** the Host that the local service receives with requests that no visitor has sent */
  readonly host: string;
}

/** Lets `culvert inspect` inspect the tunnels of this process, over a socket that only this user can open. */
export class InspectorServer {
  readonly #folder: RuntimeFolder;
  readonly #tunnels = new Set<InspectedTunnel>();
  readonly #sockets = new Set<Socket>();
  readonly #searches = new WeakMap<InspectedTunnel, LogSearch>();
  readonly #server: Server;
  readonly #path: string;

  constructor(folder: RuntimeFolder, pid = process.pid) {
    this.#folder = folder;
    this.#path = folder.pathOf(pid);
    this.#server = createServer((socket) => this.#accept(socket));
    this.#server.maxConnections = INSPECTORS_MAX;
    // Inspecting a process must not keep it alive.
    this.#server.unref();
  }

  /**
   * Listens, and removes sockets left behind by processes that have ended.
   *
   * @throws Error if it cannot listen
   */
  async start(): Promise<void> {
    // Left by an earlier process with the same id.
    if (this.#folder.hasFiles) rmSync(this.#path, { force: true });
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#path, () => {
        this.#server.off('error', reject);
        // A failed accept affects only one inspector.
        this.#server.on('error', () => {});
        resolve();
      });
    });
    if (this.#folder.hasFiles) chmodSync(this.#path, 0o600);
    await findTunnels(this.#folder);
  }

  add(tunnel: InspectedTunnel): void {
    this.#tunnels.add(tunnel);
  }

  remove(tunnel: InspectedTunnel): void {
    this.#tunnels.delete(tunnel);
  }

  stop(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    if (this.#folder.hasFiles) rmSync(this.#path, { force: true });
  }

  /** Reuses what earlier searches have found. */
  #searchOf(tunnel: InspectedTunnel): LogSearch {
    const search = this.#searches.get(tunnel) ?? new LogSearch(tunnel.log);
    this.#searches.set(tunnel, search);
    return search;
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#sockets.delete(socket));
    socket.setTimeout(INSPECT_REQUEST_TIMEOUT_MS, () => socket.destroy());
    let isAsked = false;
    readLines(socket, INSPECT_REQUEST_MAX_BYTES, (line) => {
      if (isAsked) return void socket.destroy();
      isAsked = true;
      socket.setTimeout(0);
      void this.#answer(socket, parseRequest(line));
    });
  }

  async #answer(socket: Socket, request: InspectRequest | undefined): Promise<void> {
    if (request === undefined)
      return end(socket, refusal('bad-request', 'This is not a "culvert inspect" request.'));
    if (request.op === 'tunnels') {
      const tunnels = [...this.#tunnels].map(({ id, slug, publicUrl }) => ({ id, slug, publicUrl }));
      return end(socket, { ok: true, value: tunnels });
    }
    const tunnel = [...this.#tunnels].find(({ id }) => id === request.tunnel);
    if (tunnel === undefined) return end(socket, refusal('unknown-tunnel', 'This tunnel has ended.'));
    const { log } = tunnel;
    switch (request.op) {
      case 'list':
        return end(socket, { ok: true, value: log.list(request) });
      case 'search':
        return end(socket, { ok: true, value: await this.#searchOf(tunnel).find(request.words) });
      case 'show':
        return end(socket, found(log.detail(request.id, request), request.id));
      case 'messages':
        return end(socket, found(log.messages(request.id), request.id));
      case 'replay':
        return end(socket, await replayAnswer(() => tunnel.replayer.replay(request.id)));
      case 'edit':
        return end(
          socket,
          await replayAnswer(() =>
            tunnel.replayer.replayEdited(request.id, request.edit, signer(request.id, request.secret)),
          ),
        );
      case 'import':
        return end(socket, importAnswer(tunnel, request.request));
      case 'watch':
        return watch(socket, tunnel.log, request.reveal);
    }
  }
}

function found(value: unknown, id: number): InspectAnswer {
  const text = `There is no request ${id}, or it is no longer available.`;
  return value === undefined ? refusal('unknown-request', text) : { ok: true, value };
}

/** @param secret `undefined` to leave the signature as it is */
function signer(id: number, secret: string | undefined): PrepareReplay | undefined {
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
    throw new ReplayRefused('not-a-webhook', toMessage('replay.noWebhook', { id, senders }));
  };
}

async function replayAnswer(replay: () => Promise<number>): Promise<InspectAnswer> {
  try {
    return { ok: true, value: { id: await replay() } };
  } catch (error) {
    if (error instanceof ReplayRefused) return refusal(error.code, error.message);
    if (error instanceof EditRefused) return refusal('edit-refused', error.message);
    throw error;
  }
}

function importAnswer({ log, host }: InspectedTunnel, request: ImportedRequest): InspectAnswer {
  const [problem] = checkEdit(request);
  if (problem !== undefined) return refusal('edit-refused', problem.said.text);
  return { ok: true, value: { id: addImported(log, request, host) } };
}

function watch(socket: Socket, log: RequestLog, reveal: boolean): void {
  const tell = (summary: RequestSummary): void => {
    // Cut off a peer that does not read, instead of buffering without limit.
    if (socket.writableLength > INSPECT_BACKLOG_MAX_BYTES) socket.destroy();
    else socket.write(formatLine({ ok: true, value: summary }));
  };
  socket.on('close', log.subscribe(tell, { reveal }));
}

function refusal(code: string, message: string): InspectAnswer {
  return { ok: false, code, message };
}

function end(socket: Socket, answer: InspectAnswer): void {
  // A peer that asks but does not read must not occupy the memory of the answer indefinitely.
  socket.setTimeout(INSPECT_REQUEST_TIMEOUT_MS);
  socket.end(formatLine(answer));
}
