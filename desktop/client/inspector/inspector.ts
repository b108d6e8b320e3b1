/** Inspects tunnels that other processes of this user serve. */
import { rmSync } from 'node:fs';
import { connect } from 'node:net';
import { WebSocket } from 'ws';
import { VERSION } from '../../../shared/version.ts';
import { toMessage } from '../messages.ts';
import type { LogMethods, TunnelEntry } from '../methods/log-methods.ts';
import { CallRefused } from '../methods/method.ts';
import { type Hello, type Peer, PROTOCOL } from '../methods/peer.ts';
import { peerOver } from '../methods/socket-peer.ts';
import type { RequestSummary } from './records.ts';
import type { RuntimeFolder } from './runtime-folder.ts';
import { REPLAY_TIMEOUT_MS } from './replay.ts';

/** How long `culvert inspect` may be connected without asking for anything. The command asks immediately. */
export const INSPECT_REQUEST_TIMEOUT_MS = 5000;
/**
 * Maximum size of a response to `culvert inspect`, and of what waits for one that does not read: 200 summaries
 * with targets of 8 KiB, or a request and its response with the largest bodies.
 */
export const INSPECT_ANSWER_MAX_BYTES = 32 * 1024 * 1024;
/** Amount of unread data after which a `culvert inspect watch` that has fallen behind is disconnected. */
export const INSPECT_BACKLOG_MAX_BYTES = 1024 * 1024;

/** A tunnel served by a process of this user. */
export interface FoundTunnel extends TunnelEntry {
  /** where the process listens */
  readonly path: string;
}

/** No process listens at that path any longer. */
class NobodyThere extends CallRefused {
  constructor() {
    super('no-answer', toMessage('inspect.ended'));
  }
}

/** A process of another version of Culvert, which speaks another protocol. The message says what to do. */
export class OtherVersion extends CallRefused {
  constructor({ version }: Pick<Hello, 'version'>) {
    super('other-version', toMessage('inspect.otherVersion', { version, own: VERSION }));
  }
}

/**
 * The tunnels of all processes of this user. Removes sockets left behind by processes that have ended.
 *
 * @param onOther called with each process that cannot be asked
 */
export async function findTunnels(
  folder: RuntimeFolder,
  onOther: (why: OtherVersion) => void = () => {},
): Promise<FoundTunnel[]> {
  const found = await Promise.all(
    folder.paths().map(async (path) => {
      try {
        const tunnels = await ask(path, 'tunnel:list', {});
        return tunnels.map((tunnel) => ({ ...tunnel, path }));
      } catch (error) {
        if (error instanceof NobodyThere && folder.hasFiles) rmSync(path, { force: true });
        if (error instanceof OtherVersion) onOther(error);
        // A process that is ending or stopped cannot be inspected.
        return [];
      }
    }),
  );
  return found.flat();
}

/** Inspects one tunnel of a running process. Every failed call throws {@link CallRefused} with the reason. */
export class Inspector {
  readonly #tunnel: FoundTunnel;

  constructor(tunnel: FoundTunnel) {
    this.#tunnel = tunnel;
  }

  call<M extends keyof LogMethods>(
    name: M,
    payload: Omit<LogMethods[M]['payload'], 'key'>,
  ): Promise<LogMethods[M]['result']> {
    const { path, id: key } = this.#tunnel;
    return ask(path, name, { ...payload, key });
  }

  /**
   * Reports requests as they arrive, until `ended` aborts, or the process ends.
   *
   * @param onRequest called when a request's head has arrived, when its response begins and when it ends
   * @param onFollowing called once the process was asked: what it is asked later is answered later
   */
  async follow(
    reveal: boolean,
    onRequest: (summary: RequestSummary) => void,
    ended: AbortSignal,
    onFollowing: () => void = () => {},
  ): Promise<void> {
    const { path, id: key } = this.#tunnel;
    const { peer, end } = await dial(path, (value) => onRequest(value as RequestSummary));
    const answered = peer.call('log:follow', { key, reveal }, ended);
    onFollowing();
    const answer = await answered;
    end();
    if (!answer.ok && answer.error.code !== 'no-answer')
      throw new CallRefused(answer.error.code, answer.error.text);
  }
}

async function ask<M extends keyof LogMethods>(
  path: string,
  name: M,
  payload: object,
): Promise<LogMethods[M]['result']> {
  const { peer, end } = await dial(path, () => {});
  const replays = name === 'log:replay' || name === 'log:edit';
  const late = AbortSignal.timeout(INSPECT_REQUEST_TIMEOUT_MS + (replays ? 2 * REPLAY_TIMEOUT_MS : 0));
  const answer = await peer.call(name, payload, late);
  end();
  if (answer.ok) return answer.value;
  const { code, text } = answer.error;
  if (code !== 'no-answer') throw new CallRefused(code, text);
  throw late.aborted ? silent() : new CallRefused(code, toMessage('inspect.ended'));
}

function silent(): CallRefused {
  return new CallRefused('no-answer', toMessage('inspect.silent'));
}

interface Dialed {
  readonly peer: Peer;
  /** Ends the connection. */
  readonly end: () => void;
}

/**
 * Connects to a process.
 *
 * @param pushed receives what it tells
 * @throws NobodyThere, CallRefused
 */
function dial(path: string, pushed: (value: unknown) => void): Promise<Dialed> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket('ws://process/', {
      createConnection: () => connect(path),
      maxPayload: INSPECT_ANSWER_MAX_BYTES,
      perMessageDeflate: false,
    });
    const end = (): void => {
      clearTimeout(late);
      socket.terminate();
    };
    const fail = (error: Error): void => {
      end();
      reject(error);
    };
    const late = setTimeout(() => fail(silent()), INSPECT_REQUEST_TIMEOUT_MS);
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const { code = '' } = error;
      if (code === 'ECONNREFUSED' || code === 'ENOENT') return fail(new NobodyThere());
      // What answers speaks another language.
      fail(code.startsWith('HPE_') ? new OtherVersion({ version: 'unknown' }) : error);
    });
    socket.on('close', () => fail(new CallRefused('no-answer', toMessage('inspect.ended'))));
    const peer = peerOver(
      socket,
      {
        greeted(hello) {
          if (hello.protocol !== PROTOCOL) return fail(new OtherVersion(hello));
          clearTimeout(late);
          resolve({ peer, end });
        },
        pushed: (_, value) => pushed(value),
        answer: () =>
          Promise.resolve({ ok: false, error: { code: 'no-such-method', text: 'Nobody asks this.' } }),
      },
      { maxBytes: INSPECT_ANSWER_MAX_BYTES, maxCalls: 0, backlogBytes: INSPECT_BACKLOG_MAX_BYTES },
    );
  });
}
