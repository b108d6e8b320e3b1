/** Hands over to another relay: the steps of the old relay (docs/decisions/0020-replacing-a-relay.md). */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, type Log } from '../log.ts';
import type { TrafficDelta } from '../store/queries/tunnel-changes.ts';
import type { EndReason } from '../tunnels/lifecycle.ts';
import {
  Conversation,
  HANDOFF_READY_MS,
  HANDOFF_STEP_MS,
  type Hello,
  type MissedClient,
  type PredecessorMessage,
  readSuccessorMessage,
  SUCCESSION_VERSION,
  type SuccessorMessage,
} from './conversation.ts';
import { HandoffSocket, meet, sendListeners } from './handoff-socket.ts';

/** Milliseconds until the next try after a connection to the new relay was refused because its accept queue was full. */
const HANDOFF_RETRY_MS = 20;

/** Steps of a handoff for the old relay, in this order; `resume` reverts `release`. */
export interface Replaceable {
  /** address of the listener for visitors */
  readonly address: string;
  /** file descriptors of the listeners, by name */
  readonly descriptors: ReadonlyMap<string, number>;
  /**
   * Serves no new requests, stores everything, and unlocks the database.
   *
   * @throws Error with the reason if it cannot
   */
  release(): Promise<readonly MissedClient[]>;
  /** Continues to serve. @returns false if another relay has the database by now */
  resume(): Promise<boolean>;
  /** It has been replaced: it passes new connections on, and exits when the rest has ended. */
  leave(successor: Successor): void | Promise<void>;
  /** A tunnel has ended on the other relay. */
  hearEnded(tunnelId: string, reason: EndReason): void;
  /** The access policy, links or approval requests of a tunnel have changed. */
  hearAccess(tunnelId: string): void;
  /** A visitor whom another process of this relay has passed on is to be cut. */
  hearReset?(id: number): void;
  /** A visitor from the previous relay. */
  adopt(socket: Socket, visitor: Extract<Hello, { kind: 'visitor' }>): void;
}

/** The relay that now serves, as seen by the previous one. */
export type Successor = Pick<HandoffSender, 'pass' | 'tellCounted' | 'end'>;

type Talk = Conversation<PredecessorMessage, SuccessorMessage>;

export class HandoffSender {
  readonly #relay: Replaceable;
  readonly #log: Log;
  #meetingPoint: HandoffSocket | undefined;
  #talk: Talk | undefined;
  /** whether the other relay has begun to serve */
  #isReplaced = false;
  readonly #passed: PassedVisitors;

  private constructor(path: string, relay: Replaceable, log: Log) {
    this.#relay = relay;
    this.#log = log;
    this.#passed = new PassedVisitors(path);
  }

  /**
   * Opens the relay's handoff socket, instead of that of the previous relay.
   *
   * @throws Error with a text for the operator
   */
  static async open(path: string, relay: Replaceable, log: Log): Promise<HandoffSender> {
    const handover = new HandoffSender(path, relay, log);
    handover.#meetingPoint = await HandoffSocket.open(path, (hello, socket) =>
      handover.#welcome(hello, socket),
    );
    return handover;
  }

  /** The relay exits: it can no longer be replaced. */
  close(): void {
    this.#meetingPoint?.close(this.#isReplaced);
    if (!this.#isReplaced) this.#refuse('it is being stopped');
  }

  #welcome(hello: Hello, socket: Socket): void {
    switch (hello.kind) {
      case 'replace':
        return void this.#converse(hello, new Conversation(socket, readSuccessorMessage));
      case 'listeners':
        if (this.#talk === undefined) socket.destroy();
        else sendListeners(socket, this.#relay.descriptors);
        return;
      case 'visitor':
        return this.#relay.adopt(socket, hello);
      default:
        socket.destroy();
    }
  }

  async #converse({ version, address }: Extract<Hello, { kind: 'replace' }>, talk: Talk): Promise<void> {
    const reason = this.#whyNot(version, address);
    if (reason !== undefined) {
      talk.send({ kind: 'refused', reason });
      talk.end();
      return;
    }
    this.#talk = talk;
    try {
      await this.#handOver(talk);
    } catch (error) {
      this.#log('replacement failed', { reason: describeError(error) });
      talk.send({ kind: 'refused', reason: describeError(error) });
    }
    if (this.#isReplaced) return;
    this.#talk = undefined;
    talk.end();
  }

  #whyNot(version: number, address: string): string | undefined {
    if (version !== SUCCESSION_VERSION)
      return 'this version cannot replace it; stop the running relay, and start this one';
    if (address !== this.#relay.address)
      return `it is listening on ${this.#relay.address}, but this relay is configured for ${address}; stop the running relay, and start this one`;
    return this.#talk === undefined ? undefined : 'another relay is already replacing it';
  }

  async #handOver(talk: Talk): Promise<void> {
    talk.send({ kind: 'welcome', listeners: [...this.#relay.descriptors.keys()] });
    this.#log('replacement begun');
    // The new relay loads its state during this time, with its own time limit.
    await heard(talk, 'move', HANDOFF_READY_MS);
    const clients = await this.#relay.release();
    try {
      talk.send({ kind: 'moved', clients });
      await heard(talk, 'ready', HANDOFF_STEP_MS);
      talk.send({ kind: 'go' });
      await heard(talk, 'serving', HANDOFF_STEP_MS);
    } catch (error) {
      if (await this.#relay.resume()) throw error;
    }
    await this.#leave(talk);
  }

  async #leave(talk: Talk): Promise<void> {
    this.#isReplaced = true;
    this.#meetingPoint?.close(true);
    const left = this.#relay.leave(this);
    talk.listen((message) => this.#hear(message));
    await left;
    talk.send({ kind: 'left' });
  }

  #hear(message: SuccessorMessage): void {
    switch (message.kind) {
      case 'ended':
        return this.#relay.hearEnded(message.tunnelId, message.reason);
      case 'access':
        return this.#relay.hearAccess(message.tunnelId);
      case 'reset':
        this.#relay.hearReset?.(message.id);
        return this.#passed.reset(message.id);
      case 'move':
      case 'ready':
      case 'serving':
    }
  }

  #refuse(reason: string): void {
    this.#talk?.send({ kind: 'refused', reason });
    this.#talk?.end();
  }

  // As seen by the old relay

  /** See {@link PassedVisitors.pass}. */
  pass(visitor: PassedVisitor, onReset: () => void): Promise<Socket> {
    return this.#passed.pass(visitor, onReset);
  }

  /** Reports what has been stored. */
  tellCounted(deltas: readonly TrafficDelta[]): void {
    this.#talk?.send({ kind: 'counted', deltas });
  }

  /** Ends the conversation. */
  end(): void {
    this.#talk?.end();
  }
}

type PassedVisitor = Omit<Extract<Hello, { kind: 'visitor' }>, 'kind' | 'id'>;

/** Visitors of a relay that has been replaced, who continue on the other one. */
export class PassedVisitors {
  readonly #path: string;
  #last: number;
  readonly #resets = new Map<number, () => void>();

  /**
   * @param path of the other relay's handoff socket
   * @param first the number before that of the first visitor; each number is used once
   */
  constructor(path: string, first = 0) {
    this.#path = path;
    this.#last = first;
  }

  /**
   * Opens a connection to the other relay that continues one of a visitor.
   *
   * @param onReset called when it is to be cut
   */
  async pass(visitor: PassedVisitor, onReset: () => void): Promise<Socket> {
    this.#last += 1;
    const id = this.#last;
    const socket = await meetSoon(this.#path, { kind: 'visitor', id, ...visitor });
    if (socket === undefined) throw new Error('the relay that replaced this one has ended');
    this.#resets.set(id, onReset);
    socket.once('close', () => this.#resets.delete(id));
    return socket;
  }

  /** One of them is to be cut. */
  reset(id: number): void {
    this.#resets.get(id)?.();
  }
}

/** Connects as soon as the queue accepts one more. @throws the system's error */
async function meetSoon(path: string, hello: Hello): ReturnType<typeof meet> {
  const until = performance.now() + HANDOFF_STEP_MS;
  for (;;) {
    try {
      return await meet(path, hello);
    } catch (error) {
      const isFull = error instanceof Error && 'code' in error && error.code === 'EAGAIN';
      if (!isFull || performance.now() > until) throw error;
    }
    await sleep(HANDOFF_RETRY_MS);
  }
}

/** @throws Error unless the other relay sends that message in time */
async function heard(talk: Talk, kind: SuccessorMessage['kind'], ms: number): Promise<void> {
  const message = await talk.next(ms);
  if (message === undefined) throw new Error('the relay that was to replace this one has ended');
  if (message.kind !== kind) throw new Error(`the relay that was to replace this one says "${message.kind}"`);
}
