/** Takes over from the relay that serves now: what the new relay does (docs/decisions/0020-replacing-a-relay.md). */
import type { Duplex } from 'node:stream';
import { HANDOFF_READY_MS, HANDOFF_STEP_MS } from '../limits.ts';
import type { TrafficDelta } from '../store/queries/tunnel-changes.ts';
import type { EndReason } from '../tunnels/peers.ts';
import {
  Conversation,
  type MissedClient,
  type PredecessorMessage,
  readPredecessorMessage,
  SUCCESSION_VERSION,
  type SuccessorMessage,
  TimeoutError,
} from './conversation.ts';
import { meet } from './handoff-socket.ts';
import { type Handle, takeListeners } from './listener-transfer.ts';

/** Why this relay must not serve; the other one goes on. */
export class HandoffError extends Error {}

export class HandoffReceiver {
  /** what the other relay listened with, by name */
  readonly listeners: ReadonlyMap<string, Handle>;
  readonly #conversation: Conversation<SuccessorMessage, PredecessorMessage>;

  private constructor(
    conversation: Conversation<SuccessorMessage, PredecessorMessage>,
    listeners: ReadonlyMap<string, Handle>,
  ) {
    this.#conversation = conversation;
    this.listeners = listeners;
  }

  /**
   * Asks the relay at a meeting point for its listeners; until {@link move} it goes on as before.
   *
   * @param address where visitors are to come, which has to be where they come now
   * @returns `undefined` where there is none
   * @throws TakeoverError
   */
  static async begin(path: string, address: string): Promise<HandoffReceiver | undefined> {
    const socket = await meet(path, { kind: 'replace', version: SUCCESSION_VERSION, address });
    if (socket === undefined) return undefined;
    const conversation = new Conversation<SuccessorMessage, PredecessorMessage>(
      socket,
      readPredecessorMessage,
    );
    const welcome = await answerOf(conversation, HANDOFF_STEP_MS);
    // It has just ended.
    if (welcome === undefined) return undefined;
    if (welcome.kind !== 'welcome') throw outOfTurn(conversation);
    const channel = await meet(path, { kind: 'listeners' });
    if (channel === undefined) return undefined;
    // The line has left when the program that reads the rest is started.
    await new Promise((resolve) => channel.write('', resolve));
    try {
      return new HandoffReceiver(conversation, await takeListeners(channel, welcome.listeners));
    } catch (error) {
      conversation.destroy();
      throw new HandoffError('it did not give its listeners', { cause: error });
    }
  }

  /**
   * Everything is loaded: the other relay stores what it has, and stops serving those who come.
   *
   * @returns whose client was there a moment ago; `undefined` if it has died meanwhile
   * @throws TakeoverError
   */
  async move(): Promise<readonly MissedClient[] | undefined> {
    this.#conversation.send({ kind: 'move' });
    const moved = await answerOf(this.#conversation, HANDOFF_READY_MS);
    if (moved === undefined) return undefined;
    if (moved.kind !== 'moved') throw outOfTurn(this.#conversation);
    return moved.clients;
  }

  /**
   * Nothing is left that could fail: from here on this relay is the one that serves, whatever becomes of the other.
   *
   * @throws TakeoverError when the other has gone on alone
   */
  async commit(): Promise<void> {
    this.#conversation.send({ kind: 'ready' });
    const go = await answerOf(this.#conversation, HANDOFF_STEP_MS);
    if (go !== undefined && go.kind !== 'go') throw outOfTurn(this.#conversation);
  }

  /** Says that this relay serves, also those that the other passes on. */
  serving(): void {
    this.#conversation.send({ kind: 'serving' });
  }

  /** Hears what the connections that the other relay still has have carried. */
  onCounted(listener: (deltas: readonly TrafficDelta[]) => void): void {
    this.#conversation.listen((message) => {
      if (message.kind === 'counted') listener(message.deltas);
    });
  }

  /** A tunnel has ended, also for those whom the other relay still serves. */
  tellEnded(tunnelId: string, reason: EndReason): void {
    this.#conversation.send({ kind: 'ended', tunnelId, reason });
  }

  /** Others may come into a tunnel than before. */
  tellAccess(tunnelId: string): void {
    this.#conversation.send({ kind: 'access', tunnelId });
  }

  /**
   * Has a visitor who was passed on cut: what is between the two relays has no reset.
   *
   * @param id that the other relay has given
   */
  reset(socket: Duplex, id: number): void {
    this.#conversation.send({ kind: 'reset', id });
    void this.#conversation.over.then(() => socket.destroy());
  }

  /** This relay cannot serve. */
  abandon(): void {
    this.#conversation.destroy();
  }
}

/** @throws TakeoverError when it refuses or is silent */
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
  return new HandoffError('it does not answer as a relay does');
}
