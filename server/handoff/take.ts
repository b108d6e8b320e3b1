/**
 * Takes over from the relay that currently serves: the steps of the new relay
 * (docs/decisions/0020-replacing-a-relay.md).
 */
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TrafficDelta } from '../store/queries/tunnel-changes.ts';
import type { EndReason } from '../tunnels/lifecycle.ts';
import {
  Conversation,
  HANDOFF_READY_MS,
  HANDOFF_STEP_MS,
  type MissedClient,
  type PredecessorMessage,
  readPredecessorMessage,
  SUCCESSION_VERSION,
  type SuccessorMessage,
  TimeoutError,
} from './conversation.ts';
import { type Handle, meet, takeListeners } from './handoff-socket.ts';

/** Why this relay must not serve; the old one continues. */
export class HandoffError extends Error {}

/** The relay that serves until now, as seen by the parts of the one that replaces it. */
export type Takeover = Pick<
  HandoffReceiver,
  'listeners' | 'move' | 'commit' | 'serving' | 'onCounted' | 'tellEnded' | 'tellAccess' | 'reset' | 'abandon'
>;

export class HandoffReceiver {
  /** listeners of the old relay, by name */
  readonly listeners: ReadonlyMap<string, Handle>;
  readonly #conversation: Conversation<SuccessorMessage, PredecessorMessage>;

  readonly #left = Promise.withResolvers<void>();

  private constructor(
    conversation: Conversation<SuccessorMessage, PredecessorMessage>,
    listeners: ReadonlyMap<string, Handle>,
  ) {
    this.#conversation = conversation;
    this.listeners = listeners;
  }

  /**
   * Requests the listeners of the relay at a handoff socket; until {@link move} that relay continues as before.
   *
   * @param address of the listener for visitors, which must be the same for both relays
   * @returns `undefined` if there is no relay
   * @throws HandoffError
   */
  static async begin(path: string, address: string): Promise<HandoffReceiver | undefined> {
    const socket = await meet(path, { kind: 'replace', version: SUCCESSION_VERSION, address });
    if (socket === undefined) return undefined;
    const conversation = new Conversation<SuccessorMessage, PredecessorMessage>(
      socket,
      readPredecessorMessage,
    );
    const welcome = await answerOf(conversation, HANDOFF_STEP_MS);
    // It has just exited.
    if (welcome === undefined) return undefined;
    if (welcome.kind !== 'welcome') throw outOfTurn(conversation);
    const channel = await meet(path, { kind: 'listeners' });
    if (channel === undefined) return undefined;
    // The line must be sent before the program that reads the rest is started.
    await new Promise((resolve) => channel.write('', resolve));
    try {
      return new HandoffReceiver(conversation, await takeListeners(channel, welcome.listeners));
    } catch (error) {
      conversation.destroy();
      throw new HandoffError('it did not hand over its listening sockets', { cause: error });
    }
  }

  /**
   * Everything is loaded: the old relay stores its state, and stops serving new requests.
   *
   * @returns recently connected clients; `undefined` if the old relay has died
   * @throws HandoffError
   */
  async move(): Promise<readonly MissedClient[] | undefined> {
    this.#conversation.send({ kind: 'move' });
    const moved = await answerOf(this.#conversation, HANDOFF_READY_MS);
    if (moved === undefined) return undefined;
    if (moved.kind !== 'moved') throw outOfTurn(this.#conversation);
    return moved.clients;
  }

  /**
   * Nothing is left that could fail: from here on this relay serves, whatever happens to the old one.
   *
   * @throws HandoffError if the old relay has continued
   */
  async commit(): Promise<void> {
    this.#conversation.send({ kind: 'ready' });
    const go = await answerOf(this.#conversation, HANDOFF_STEP_MS);
    if (go !== undefined && go.kind !== 'go') throw outOfTurn(this.#conversation);
  }

  /**
   * Reports that this relay serves, including connections that the old one passes on.
   *
   * @returns once the old relay accepts no more, so that those who connect from then on connect to this one
   */
  async serving(): Promise<void> {
    this.#conversation.send({ kind: 'serving' });
    const late = sleep(HANDOFF_STEP_MS, undefined, { ref: false });
    await Promise.race([this.#left.promise, this.over, late]);
  }

  /** Called with the traffic of the old relay's remaining connections. */
  onCounted(listener: (deltas: readonly TrafficDelta[]) => void): void {
    this.#conversation.listen((message) => {
      if (message.kind === 'left') this.#left.resolve();
      else if (message.kind === 'counted') listener(message.deltas);
    });
  }

  /** Reports that a tunnel has ended, for connections that the old relay still serves. */
  tellEnded(tunnelId: string, reason: EndReason): void {
    this.#conversation.send({ kind: 'ended', tunnelId, reason });
  }

  /** Reports a changed access policy, link or approval request. */
  tellAccess(tunnelId: string): void {
    this.#conversation.send({ kind: 'access', tunnelId });
  }

  /**
   * Has a passed-on visitor cut: the connection between the two relays has no reset.
   *
   * @param id assigned by the old relay
   */
  reset(socket: Duplex, id: number): void {
    this.tellReset(id);
    void this.over.then(() => socket.destroy());
  }

  /** The same for a visitor that another process has. */
  tellReset(id: number): void {
    this.#conversation.send({ kind: 'reset', id });
  }

  /** Fulfilled when the old relay has ended. */
  get over(): Promise<void> {
    return this.#conversation.over;
  }

  /** This relay cannot serve. */
  abandon(): void {
    this.#conversation.destroy();
  }
}

/** @throws HandoffError if the old relay refuses or is silent */
async function answerOf(
  conversation: Conversation<SuccessorMessage, PredecessorMessage>,
  ms: number,
): Promise<PredecessorMessage | undefined> {
  let message: PredecessorMessage | undefined;
  try {
    message = await conversation.next(ms);
  } catch (error) {
    conversation.destroy();
    if (error instanceof TimeoutError) throw new HandoffError(error.message);
    throw error;
  }
  if (message?.kind !== 'refused') return message;
  conversation.destroy();
  throw new HandoffError(message.reason);
}

function outOfTurn(conversation: Conversation<SuccessorMessage, PredecessorMessage>): HandoffError {
  conversation.destroy();
  return new HandoffError('it does not respond like a relay');
}
