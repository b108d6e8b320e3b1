/** What the core of the app needs from the system around it. Electron provides it; tests and `e2e/ui` provide their own. */
import type { Clock } from '../../client/clock.ts';
import type { LocalTarget } from '../../client/local/local-dialer.ts';
import type { About } from '../ipc/ipc.ts';
import type { Problem, Settings } from '../ipc/snapshot.ts';
import type { Diagnose } from './diagnostics.ts';
import type { PortScan } from './ports/port-scan.ts';
import type { InvitationCalls } from './session/invitations.ts';
import type { Encryption } from './session/key-vault.ts';
import type { Autostart } from './system/autostart.ts';
import type { ProjectLinks } from './system/deep-link.ts';
import type { GlobalShortcutKey } from './system/global-shortcut.ts';
import type { Serve } from './tunnels/folder-service.ts';
import type { TunnelLog } from './tunnels/tunnel-log.ts';

export interface Platform extends InvitationCalls {
  readonly clock: Clock;
  /** directory of the app's own files, none of which others can read */
  readonly dataDirectory: string;
  readonly encryption: Encryption;
  readonly autostart: Autostart;
  readonly about: About;
  readonly links: ProjectLinks;
  readonly examine: Diagnose;
  readonly serve: Serve;
  /** @param target where its requests are repeated */
  createLog(target: LocalTarget): TunnelLog;
  /** Finds the ids of tunnels that the command serves for this user on this machine. */
  servedHere(): Promise<ReadonlySet<string>>;
  scanPorts(): Promise<PortScan | undefined>;
  hasNetwork(): boolean;
  /** BCP 47 tags of the languages that the user reads, best first. */
  preferredLanguages(): readonly string[];
  /** Makes up a password that people can say and type: three words. */
  readonly inventPassword: () => string;
  copy(text: string): Promise<void>;
  /**
   * Asks the user where to write a file.
   *
   * @param name that it gets unless the user gives another one
   * @returns its path; `undefined` if the user does not want it
   */
  chooseFileToWrite(name: string): Promise<string | undefined>;
  /**
   * Asks the user for a folder.
   *
   * @returns its path; `undefined` if the user does not want one
   */
  chooseFolder(): Promise<string | undefined>;
  /**
   * Asks the user for a HAR.
   *
   * @returns its path; `undefined` if the user does not want one
   */
  chooseHarToRead(): Promise<string | undefined>;
  /** Opens an address in the user's browser. */
  open(url: string): Promise<void>;
  /** Something that the user must know and cannot do anything about in the window. */
  tell(problem: Problem): void;
  /** the shortcut that works while other programs are in front */
  readonly summonKey: Pick<GlobalShortcutKey, 'use' | 'isRefused' | 'pressed'>;
  setTheme(theme: Settings['theme']): void;
  /** Reports bugs and minor failures to whoever starts the app from a terminal. */
  readonly report: (what: string, error: unknown) => void;
}
