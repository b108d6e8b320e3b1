/** What the first process of a relay and its workers send each other, over the channel that Node opens between them. */
import type { Hello, MissedClient, SuccessorMessage } from '../handoff/conversation.ts';
import type { ListenerName } from '../listeners.ts';
import type { CountChanges } from '../shared-counts.ts';
import type { LogEvent, LogFields } from '../log.ts';
import type { TrafficDelta } from '../store/queries/tunnel-changes.ts';
import type { CertificateRecord } from '../store/records.ts';
import type { Call, Report } from '../store/thread/messages.ts';
import type { Store } from '../store/store.ts';

/** An answer to a call with the same number. */
export type Answer = Extract<Report, { kind: 'done' | 'failed' }>;

/** A visitor of the relay that this one has replaced. */
export type AdoptedVisitor = Extract<Hello, { kind: 'visitor' }>;

/** What a worker asks of the first process. */
export type Ask =
  | Omit<Call, 'call'>
  /** Runs what Redis would run for relays on several machines. */
  | { readonly script: string; readonly args: readonly (string | number)[] }
  /** A listener; the handle is sent with the answer. */
  | { readonly listener: ListenerName; readonly host: string; readonly port: number }
  /** Has all others follow what this one has told. */
  | { readonly heard: true }
  /** A step of taking over from another relay, answered when all workers have asked for it and it is done. */
  | { readonly step: 'move' | 'commit' };

/** Messages of a worker. */
export type WorkerMessage =
  | { readonly kind: 'ask'; readonly call: number; readonly ask: Ask }
  | Answer
  | { readonly kind: 'subscribe'; readonly incarnation: string; readonly channels: readonly string[] }
  | { readonly kind: 'counts'; readonly changes: CountChanges }
  | { readonly kind: 'publish'; readonly channel: string; readonly text: string }
  | { readonly kind: 'serving'; readonly url: string; readonly port: number }
  | { readonly kind: 'refused'; readonly failure: SystemFailure }
  /** Its visitors no longer need other workers' clients. */
  | { readonly kind: 'settled' }
  /** The answer to the same question. */
  | { readonly kind: 'alive' }
  /** what all workers log alike */
  | { readonly kind: 'log'; readonly event: LogEvent; readonly fields: LogFields | undefined }
  /** for the relay that this one has replaced */
  | Extract<SuccessorMessage, { kind: 'ended' | 'access' | 'reset' }>
  /** for the relay that has replaced this one: traffic was stored */
  | { readonly kind: 'counted'; readonly deltas: readonly TrafficDelta[] };

/**
 * What the first process asks of a worker: what it counts, to learn of what other processes have stored, to turn new
 * visitors away, or a step of being replaced.
 */
export type WorkerTask =
  'metrics' | 'turn away' | 'followed' | 'keys' | 'access' | 'release' | 'resume' | Issued | Leaving;

/** A certificate that a worker was issued. */
export interface Issued {
  readonly certificate: CertificateRecord;
  /** whether the database accepted it */
  readonly isStored: boolean;
}

/** Another relay serves, at this handoff socket. */
export interface Leaving {
  readonly path: string;
  /** as `PassedVisitors` takes it */
  readonly first: number;
}

/** Messages of the first process. */
export type PrimaryMessage =
  | Start
  | Answer
  | { readonly kind: 'task'; readonly call: number; readonly task: WorkerTask }
  | { readonly kind: 'news'; readonly text: string }
  /** What all other workers count has changed. */
  | { readonly kind: 'counts'; readonly changes: CountChanges }
  | { readonly kind: 'alive' }
  | { readonly kind: 'reload' }
  | { readonly kind: 'stop'; readonly deadlineMs: number }
  /** Every worker has settled. */
  | { readonly kind: 'settled' }
  /** A visitor of the replaced relay, whose connection is sent with it; `head`: what was read from it. */
  | { readonly kind: 'adopt'; readonly visitor: AdoptedVisitor; readonly head: Uint8Array }
  /** The replaced relay has ended. */
  | { readonly kind: 'over' }
  /** of the relay that has replaced this one */
  | Extract<SuccessorMessage, { kind: 'ended' | 'access' | 'reset' }>;

/** The first message to a worker. */
export interface Start {
  readonly kind: 'start';
  /** known only to the processes of this relay */
  readonly secret: string;
  readonly operations: readonly (keyof Store)[];
  /** how many workers there are */
  readonly workers: number;
  /** whether it takes over from another relay */
  readonly replaces: boolean;
  /** whether it renews certificates, which the others follow */
  readonly renews: boolean;
}

/** The answer to the step `move`: clients that are expected to come. */
export type Moved = readonly MissedClient[] | undefined;

/** The answer to a request for a listener. */
export type Lent =
  | { readonly kind: 'lent'; readonly passedAs: string | undefined }
  | { readonly kind: 'refused'; readonly failure: SystemFailure };

/** An error that is to be the same in another process, as far as its reader goes by it. */
export interface SystemFailure {
  readonly name: string;
  readonly message: string;
  readonly code: unknown;
  readonly port: unknown;
}

export function systemFailureOf(error: unknown): SystemFailure {
  const { name, code, port, message } = (
    error instanceof Error ? error : new Error(String(error))
  ) as Error & {
    readonly code?: unknown;
    readonly port?: unknown;
  };
  return { name, message, code, port };
}

export function systemErrorOf({ message, ...rest }: SystemFailure): Error {
  return Object.assign(new Error(message), rest);
}
