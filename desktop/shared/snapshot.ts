/** What the window shows: one immutable value that main builds and pushes. The page has no state of its own about it. */
import type { HostHeader } from '../../shared/value-rules.ts';
import type { RequestSummary } from '../engine/inspector/records.ts';
import type { KnockView, LockView } from './lock.ts';

/** Everything the window can show without asking. Times are wall-clock ms of this machine unless said otherwise. */
export interface Snapshot {
  readonly session: SessionView;
  /** in the order of the list: newest first */
  readonly tunnels: readonly TunnelView[];
  /** ports that something on this machine listens on now, likeliest first */
  readonly ports: readonly PortView[];
  readonly settings: Settings;
  /** whether this machine has a network */
  readonly hasNetwork: boolean;
}

export type SessionView =
  | {
      readonly state: 'signed-out';
      /** the relay of the last sign-in, to be offered again */
      readonly relay: string | undefined;
      /** why, if it was not the user who signed out */
      readonly problem: Problem | undefined;
      /** how a key can be stored on this machine, best first; without `system` if it offers no encryption */
      readonly keeps: readonly KeyKept[];
    }
  | { readonly state: 'signing-in'; readonly relay: string }
  | {
      readonly state: 'signed-in';
      readonly relay: string;
      readonly account: AccountView;
      /** where the key is: kept by the system, in a plain file the user asked for, or only until the app quits */
      readonly keyKept: KeyKept;
      /** the relay cannot be reached for now */
      readonly problem: Problem | undefined;
    };

export type KeyKept = 'system' | 'file' | 'session';

export interface AccountView {
  readonly name: string;
  readonly plan: string;
  /** domain below which tunnels get their names, such as `tunnels.example.com` */
  readonly nameDomain: string;
  readonly allowsNames: boolean;
  /** seconds */
  readonly defaultTtl: number;
  /** seconds */
  readonly maxTtl: number;
}

/** What happened, and what to do about it: two short sentences. */
export interface Problem {
  /** stable, for tests and for choosing an icon */
  readonly code: string;
  readonly text: string;
}

export type TunnelStatus =
  | { readonly name: 'connecting' }
  | { readonly name: 'online' }
  | { readonly name: 'reconnecting'; readonly retryAt: number; readonly why: string }
  /** ended; `again`: whether Start recreates it */
  | { readonly name: 'ended'; readonly reason: string; readonly why: string };

export interface TunnelView {
  /** of this app, the same when the tunnel is started again */
  readonly key: string;
  readonly status: TunnelStatus;
  /** the address to hand out, with its scheme; of an ended tunnel, the last one */
  readonly url: string;
  readonly slug: string;
  /** the requested name, or empty: a tunnel without one gets another address when started again */
  readonly name: string;
  readonly localPort: number;
  /** what was found there, such as `Vite` */
  readonly framework: string | undefined;
  /** nothing answers on the local port, or it refuses the host name: what to do */
  readonly localProblem: Problem | undefined;
  readonly hostHeader: HostHeader;
  /** who may come in */
  readonly lock: LockView;
  /** visitors who wait to be let in, the longest waiting first */
  readonly knocks: readonly KnockView[];
  readonly isIdle: boolean;
  /** seconds */
  readonly ttl: number;
  readonly expiresAt: number;
  readonly requests: number;
  /** bytes from visitors */
  readonly bytesIn: number;
  /** bytes to visitors */
  readonly bytesOut: number;
  /** the last few requests, newest first */
  readonly recent: readonly RequestSummary[];
}

export interface PortView {
  readonly port: number;
  /** name of the program, such as `node` */
  readonly process: string | undefined;
  readonly framework: string | undefined;
}

export interface Settings {
  readonly startsAtLogin: boolean;
  readonly notifies: boolean;
  readonly theme: 'system' | 'light' | 'dark';
  /** what quitting does to tunnels that are online */
  readonly onQuit: 'ask' | 'close' | 'leave';
}
