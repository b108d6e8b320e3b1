import { rmSync } from 'node:fs';
import { connect } from 'node:net';
import { INSPECT_ANSWER_MAX_BYTES, INSPECT_REQUEST_TIMEOUT_MS, REPLAY_TIMEOUT_MS } from '../limits.ts';
import type { RequestEdit } from './edit.ts';
import type { ImportedRequest } from './imported.ts';
import {
  formatLine,
  type InspectRequest,
  parseAnswer,
  readLines,
  reviveDetail,
  reviveMessages,
  type RuntimeFolder,
  type TunnelEntry,
} from './inspector-protocol.ts';
import type { RequestDetail, RequestSummary, SocketMessages } from './records.ts';
import type { Found } from './search.ts';

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
