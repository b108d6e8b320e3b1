/** What the core needs from the system: Electron provides it for the app, `app/browser` for a page in a browser. */
import type { OpenInvite, TakenInvite } from '../../../shared/team.ts';
import type { Clock } from '../../client/clock.ts';
import type { ConnectTunnel } from '../../client/host/served-tunnel.ts';
import type { InspectorServer } from '../../client/inspector/inspector-server.ts';
import type { FoundTunnel } from '../../client/inspector/inspector.ts';
import type { InvitationAddress } from '../../client/relay/invitation.ts';
import type { RelayAddress } from '../../client/relay/relay-address.ts';
import type { About } from '../ipc/ipc.ts';
import type { Problem, Settings } from '../ipc/snapshot.ts';
import type { RelayApi } from './connection.ts';
import type { ProjectLinks } from './deep-link.ts';
import type { Diagnose } from './diagnostics.ts';
import type { GlobalShortcutKey } from './global-shortcut.ts';
import type { PortScan } from './ports.ts';

export interface Platform {
  readonly clock: Clock;
  /**
   * directory of the app's files, readable only by this user; `undefined` for the window of a command, which shows only
   * what the command serves, and stores nothing, because the app may be running
   */
  readonly dataDirectory: string | undefined;
  /** Encryption that the operating system offers. */
  readonly encryption: {
    /** whether encrypted data is safe from other users and programs that read files; asked once the app is ready */
    isReal(): Promise<boolean>;
    encrypt(text: string): Promise<Buffer>;
    /** @throws if the system no longer has the key it encrypted with */
    decrypt(bytes: Buffer): Promise<string>;
  };
  /** `undefined` if the window is a page in a browser: nothing starts that at login */
  readonly autostart: Autostart | undefined;
  readonly about: About;
  readonly links: ProjectLinks;
  connect(relay: RelayAddress, key: string): RelayApi;
  /** Asks the relay for the account of an invitation. */
  lookAtInvitation(invitation: InvitationAddress): Promise<OpenInvite>;
  takeInvitation(invitation: InvitationAddress): Promise<TakenInvite>;
  readonly examine: Diagnose;
  /** Serves a tunnel that exists at the relay. */
  readonly connectTunnel: ConnectTunnel;
  /** Lets other programs of this user see the tunnels of this one; not in the window of a command, which does that itself. */
  startInspector(): Promise<InspectorServer | undefined>;
  /** Finds the tunnels that other programs of this user serve on this machine. */
  servedHere(): Promise<readonly FoundTunnel[]>;
  scanPorts(): Promise<PortScan | undefined>;
  hasNetwork(): boolean;
  /** BCP 47 tags of the languages that the user reads, best first. */
  preferredLanguages(): readonly string[];
  /** Generates a password that is easy to say and type: three words. */
  readonly inventPassword: () => string;
  copy(text: string): Promise<void>;
  /**
   * Asks the user where to write a file.
   *
   * @param name that it gets unless the user gives another one
   * @returns `undefined` if the user does not want it
   */
  chooseFileToWrite(name: string): Promise<FileToWrite | undefined>;
  /**
   * Asks the user for a folder.
   *
   * @returns its path; `undefined` if the user does not want one
   */
  chooseFolder(): Promise<string | undefined>;
  /**
   * Asks the user for a HAR.
   *
   * @returns its content; `undefined` if the user does not want one
   * @throws ImportRefused
   */
  chooseHarToRead(): Promise<string | undefined>;
  /** Opens an address in the user's browser. */
  open(url: string): Promise<void>;
  /** Shows a problem that the user cannot solve in the window. */
  tell(problem: Problem): void;
  /**
   * Whether the desktop shows tray icons, or `undefined` if that cannot be found out; no function where it always
   * does, and for a page in a browser
   */
  readonly showsTrayIcons: (() => Promise<boolean | undefined>) | undefined;
  /** the shortcut that works while other programs are in front; `undefined` for a page in a browser */
  readonly summonKey: SummonKey | undefined;
  setTheme(theme: Settings['theme']): void;
  /** Reports bugs and minor failures on the terminal that started the app. */
  readonly report: (what: string, error: unknown) => void;
}

export interface Autostart {
  /** Whether the system will start the app. Its user can also change that in the system's own settings. */
  isOn(): Promise<boolean>;
  /** @throws if it cannot be written */
  set(isOn: boolean): Promise<void>;
}

type SummonKey = Pick<GlobalShortcutKey, 'use' | 'isRefused' | 'pressed'>;

/** A file that the user has named. */
interface FileToWrite {
  /** as the user is told */
  readonly path: string;
  /** Replaces its content. @throws if it cannot be written */
  write(text: string): Promise<void>;
}
