/** The tunnels of a `culvert.yml`, as the window offers them. */
import type { LockView } from './lock.ts';

/** A project that was opened, about which the user has not decided. */
export type ProjectView = {
  /** another one has another */
  readonly id: string;
  /** of its folder */
  readonly name: string;
} & (
  | { readonly state: 'open'; readonly tunnels: readonly ProjectTunnelView[] }
  /** in lines, for people */
  | { readonly state: 'refused'; readonly why: string }
);

export interface ProjectTunnelView {
  /** its name in the file */
  readonly label: string;
  /** the name or domain that it asks for; `undefined` for a random name */
  readonly address: string | undefined;
  /** a local address such as `http://localhost:3000`, or the folder as the file names it */
  readonly leadsTo: string;
  /** who may come in; `undefined` where that cannot be told */
  readonly lock: LockView | undefined;
  /** duration string; `undefined` for the relay's default */
  readonly ttl: string | undefined;
  readonly status: ProjectTunnelStatus;
}

export type ProjectTunnelStatus =
  | { readonly name: 'ready' | 'starting' | 'started' }
  /** a tunnel of the account has its name or domain already */
  | { readonly name: 'online' }
  /** it cannot be started here */
  | { readonly name: 'blocked'; readonly why: string }
  /** it could not be started; it can be tried again */
  | { readonly name: 'failed'; readonly why: string };

/** What became of the tunnels that were to be started. */
export interface StartedTunnels {
  readonly started: number;
  readonly failed: number;
}

/** A project that was opened before. */
export interface KnownProject {
  /** of its folder */
  readonly name: string;
  /** path of its folder */
  readonly folder: string;
}
