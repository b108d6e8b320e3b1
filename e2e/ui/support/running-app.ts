import type { Page } from 'playwright-core';
import type { TunnelView } from '../../../desktop/shared/snapshot.ts';
import type { Scope } from '../../support/scope.ts';

/** What a scenario sees of the app besides its page, and does to it: the same on every rung (docs/testing.md). */
export interface RunningApp {
  /** The newest tunnel, as the window is told about it. @throws while there is none */
  tunnel(): Promise<TunnelView>;
  /** what was copied, in order */
  copied(): Promise<readonly string[]>;
  /** addresses that were opened in the user's browser, in order */
  opened(): Promise<readonly string[]>;
  /** the theme that the system was asked for */
  theme(): Promise<string>;
  /** What the user answers when the system asks for a folder; `undefined`: wants none. */
  chooseNext(folder: string | undefined): Promise<void>;
  /** Somebody opens a `culvert://` link, for example in a browser. */
  openLink(link: string): Promise<void>;
  /** The machine is going to sleep. */
  suspend(): Promise<void>;
  /** The machine is awake again. */
  wake(): Promise<void>;
}

export interface StartedApp {
  readonly app: RunningApp;
  readonly page: Page;
  /** Drops files or folders on the window, as the system does. @param paths theirs */
  readonly drop: (paths: readonly string[]) => Promise<void>;
  /** Zooms the page, as the user can. @param factor 1 is 100 % */
  readonly zoom: (factor: number) => Promise<void>;
}

/**
 * Starts the app on a directory of its own files: the same directory is the same app, started again, once the scope of the
 * previous one has ended.
 */
export type StartApp = (scope: Scope, directory: string) => Promise<StartedApp>;

/** A way to run the app with its window. */
export interface Driver {
  /** Prepares what all suites share. */
  begin(): Promise<StartApp>;
}

/** @throws when there is no tunnel */
export function newest(tunnels: readonly TunnelView[]): TunnelView {
  const [tunnel] = tunnels;
  if (tunnel === undefined) throw new Error('the app has no tunnel');
  return tunnel;
}
