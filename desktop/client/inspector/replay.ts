import { REDACTED } from '../../../shared/version.ts';
import type { Deadlines, Expiring } from '../clock.ts';
import type { LocalDialer, LocalDialHandler } from '../local/local-dialer.ts';
import { describeLocalError, isRefusal } from '../local/local-error.ts';
import { describeTarget, type LocalConnection, type LocalHandler } from '../local/local-service.ts';
import { toMessage, type MessageValue } from '../messages.ts';
import { CallRefused } from '../methods/method.ts';
import type { Attempt } from '../network/dial.ts';
import { editedRequest, EditRefused, type RequestEdit } from './edit.ts';
import type { Exchange } from './exchange.ts';
import type { ConnectionRecording } from './recording.ts';
import type { RequestLog } from './request-log.ts';

/** How long a replayed request may take. The user is waiting for it. */
export const REPLAY_TIMEOUT_MS = 60_000;
/** Maximum number of requests that may be replayed at the same time. */
export const REPLAYS_MAX = 8;

const NOTHING = Buffer.alloc(0);
const SWITCHING_PROTOCOLS = 101;

/** Thrown when a request cannot be repeated. The message explains why, for people. */
export class ReplayRefused extends CallRefused {
  declare readonly code:
    | 'unknown-request'
    | 'not-repeatable'
    | 'incomplete'
    | 'truncated'
    | 'redacted'
    | 'bad-secret'
    | 'not-a-webhook'
    | 'local-refused'
    | 'too-many-replays';

  constructor(code: ReplayRefused['code'], said: MessageValue) {
    super(code, said);
    this.name = 'ReplayRefused';
  }
}

/** Changes a complete request before it is repeated. Its errors become those of the repetition. */
export type PrepareReplay = (request: Buffer) => Buffer;

const asItIs: PrepareReplay = (request) => request;

/** Repeats recorded requests of one tunnel, each over a new local connection. */
export class Replayer {
  readonly #log: RequestLog;
  readonly #local: (request: Buffer) => LocalDialer;
  readonly #deadlines: Deadlines;
  #running = 0;

  /** @param local of the service, or finds that of a request */
  constructor(
    log: RequestLog,
    local: LocalDialer | ((request: Buffer) => LocalDialer),
    deadlines: Deadlines,
  ) {
    this.#log = log;
    this.#local = typeof local === 'function' ? local : () => local;
    this.#deadlines = deadlines;
  }

  /**
   * Sends a request to the local service again, byte for byte unless `prepare` changes it, including secrets. An
   * imported request may have placeholders instead of secrets, and is refused then.
   *
   * @param prepare changes the recorded request before it is sent
   * @returns the number under which the repetition is recorded, once its response is complete, has broken off, or has
   *   taken more than {@link REPLAY_TIMEOUT_MS}
   * @throws ReplayRefused
   */
  async replay(id: number, prepare: PrepareReplay = asItIs): Promise<number> {
    const request = prepare(repeatable(this.#log, id));
    if (this.#log.find(id)?.isImported === true && placeholderIn(request) !== undefined) throw redacted(id);
    return this.#send(request, id);
  }

  /**
   * Sends an edited request, which is recorded like a repetition.
   *
   * @param prepare changes the edited request before it is sent
   * @returns like {@link Replayer.replay}
   * @throws ReplayRefused, EditRefused
   */
  async replayEdited(id: number, edit: RequestEdit, prepare: PrepareReplay = asItIs): Promise<number> {
    const request = prepare(edited(this.#log, id, edit));
    refusePlaceholder(request, id, edit);
    return this.#send(request, id);
  }

  async #send(request: Buffer, id: number): Promise<number> {
    if (this.#running >= REPLAYS_MAX)
      throw new ReplayRefused('too-many-replays', toMessage('replay.tooMany', { max: REPLAYS_MAX }));
    this.#running += 1;
    try {
      return await new Promise((resolve, reject) => {
        const local = this.#local(request);
        const run = new Replay(request, this.#log.openReplay(id), this.#deadlines, {
          resolve,
          reject,
          local,
        });
        run.start();
      });
    } finally {
      this.#running -= 1;
    }
  }
}

/** A copy of the request's bytes. */
function repeatable(log: RequestLog, id: number): Buffer {
  const exchange = http(log.find(id), id);
  const bytes = exchange.captures?.request.bytes ?? NOTHING;
  if (!exchange.isRequestComplete)
    throw new ReplayRefused('incomplete', toMessage('replay.incomplete', { id }));
  if (exchange.bytesIn > bytes.length) throw truncated(log, id);
  return Buffer.from(bytes);
}

/** The bytes of an edited request. */
function edited(log: RequestLog, id: number, edit: RequestEdit): Buffer {
  http(log.find(id), id);
  const original = log.detail(id, { reveal: true });
  if (original === undefined) throw new ReplayRefused('incomplete', toMessage('replay.notComeYet', { id }));
  if (edit.body === undefined && original.request.isTruncated) throw truncated(log, id);
  return editedRequest(original, edit);
}

/** The recorded exchange, unless it is not HTTP or was dropped. */
function http(exchange: Exchange | undefined, id: number): Exchange {
  if (exchange?.captures === undefined) {
    throw new ReplayRefused('unknown-request', toMessage('replay.unknown', { id }));
  }
  if (exchange.status === SWITCHING_PROTOCOLS)
    throw new ReplayRefused('not-repeatable', toMessage('replay.webSocket', { id }));
  if (exchange.connection !== undefined)
    throw new ReplayRefused('not-repeatable', toMessage('replay.raw', { id }));
  return exchange;
}

function truncated({ keptBody }: RequestLog, id: number): ReplayRefused {
  return new ReplayRefused(
    'truncated',
    toMessage('replay.truncated', { id, kept: Math.floor(keptBody / 1024) }),
  );
}

function redacted(id: number): ReplayRefused {
  return new ReplayRefused('redacted', toMessage('replay.redacted', { id, mark: REDACTED }));
}

/** As it is written in a field, and as an address may encode it. */
const PLACEHOLDER = /\[redacted\]|%5Bredacted%5D/i;

/**
 * Finds a placeholder in the head of a request: no secret was known there, and a service must not get an invented
 * one. Bodies are recorded unchanged, so they never contain one.
 *
 * @returns the name of the field, `''` for the address; `undefined` for nowhere
 */
function placeholderIn(request: Buffer): string | undefined {
  const lines = request.toString('latin1', 0, request.indexOf('\r\n\r\n')).split('\r\n');
  const at = lines.findIndex((line) => PLACEHOLDER.test(line));
  return at === 0 ? '' : lines[at]?.split(':', 1)[0];
}

/** @throws EditRefused for the part that has a placeholder */
function refusePlaceholder(request: Buffer, id: number, { fields }: RequestEdit): void {
  const name = placeholderIn(request);
  if (name === undefined) return;
  const values = { mark: REDACTED, id };
  if (name === '')
    throw new EditRefused([{ part: 'target', said: toMessage('edit.noSecretInPath', values) }]);
  const index = fields.findIndex(([other, value]) => other === name && PLACEHOLDER.test(value));
  const part = index === -1 ? 'fields' : `fields.${index}.value`;
  throw new EditRefused([{ part, said: toMessage('edit.noSecretInHeader', { ...values, name }) }]);
}

interface ReplayOutcome {
  readonly local: LocalDialer;
  readonly resolve: (id: number) => void;
  readonly reject: (error: ReplayRefused) => void;
}

class Replay implements LocalDialHandler, LocalHandler, Expiring {
  readonly #request: Buffer;
  readonly #recording: ConnectionRecording;
  readonly #deadlines: Deadlines;
  readonly #outcome: ReplayOutcome;
  #dial: Attempt | undefined;
  #connection: LocalConnection | undefined;

  constructor(request: Buffer, recording: ConnectionRecording, deadlines: Deadlines, outcome: ReplayOutcome) {
    this.#request = request;
    this.#recording = recording;
    this.#deadlines = deadlines;
    this.#outcome = outcome;
  }

  start(): void {
    this.#dial = this.#outcome.local.connect(this);
  }

  connected(local: LocalConnection): void {
    this.#deadlines.add(this, REPLAY_TIMEOUT_MS);
    this.#connection = local;
    local.attach(this);
    this.#recording.connected();
    this.#recording.toLocal(this.#request);
    local.write(this.#request);
  }

  refused(error: Error): void {
    const { target } = this.#outcome.local;
    const said = isRefusal(error)
      ? toMessage('replay.localRefused', { service: describeTarget(target) })
      : describeLocalError(target, error);
    this.#outcome.reject(new ReplayRefused('local-refused', said));
  }

  onLocalData(chunk: Buffer): void {
    this.#recording.toVisitor(chunk);
    if (this.#recording.exchange?.durationMs !== undefined) this.#finish(false);
  }

  onLocalDrain(): void {}

  onLocalEnd(): void {
    this.#finish(false);
  }

  onLocalClose(): void {
    this.#finish(true);
  }

  expire(): void {
    this.#finish(true);
  }

  #finish(isBroken: boolean): void {
    if (this.#dial === undefined) return;
    this.#dial = undefined;
    this.#deadlines.delete(this);
    this.#connection?.destroy();
    this.#recording.end(isBroken);
    this.#outcome.resolve(this.#recording.exchange?.id ?? 0);
  }
}
