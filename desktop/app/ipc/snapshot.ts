/**
 * What the window shows: one immutable value that main builds and pushes. The page has no state of its own about it.
 */
import type { HostHeader } from '../../../shared/value-rules.ts';
import type { KnockClient } from '../../../shared/control.ts';
import { endOfHost } from '../../client/host/approval-requests.ts';
import type { HopResult } from '../../client/diagnostics/hop.ts';
import type { LogPoint, RequestSummary, TrafficSecond } from '../../client/inspector/records.ts';
import { type LanguageChoice, type Locale, t } from '../messages/translate.ts';
import type { LogView } from './request-views.ts';
import type {
  ApprovalRequestView,
  GlobalShortcutKeys,
  KeptNameView,
  KnownProject,
  ProjectRef,
  ProjectView,
  TokenView,
  TunnelAccessView,
} from './tunnel-views.ts';

/** Everything the window can show without asking. Times are wall-clock ms of this machine unless said otherwise. */
export interface Snapshot {
  readonly session: SessionView;
  /** all sign-ins, in the order in which they were added */
  readonly signIns: readonly SignInView[];
  /** in the order of the list: newest first */
  readonly tunnels: readonly TunnelView[];
  /** tunnels of the account that this app does not serve, newest first */
  readonly others: readonly OtherTunnelView[];
  /** names that the account keeps, oldest first */
  readonly names: readonly KeptNameView[];
  /** diagnostics of the way to the relay, once requested */
  readonly diagnostics: DiagnosticsView | undefined;
  /** an invitation that was opened, about which the user has not decided */
  readonly invitation: InvitationView | undefined;
  /** a drop on the app that the user has not decided on */
  readonly drop: DropView | undefined;
  /** a project that was opened, about which the user has not decided */
  readonly project: ProjectView | undefined;
  /** projects that were opened last, the last one first */
  readonly projects: readonly KnownProject[];
  /** ports that something on this machine listens on now, likeliest first */
  readonly ports: readonly PortView[];
  readonly settings: Settings;
  /** how the app speaks to the user now */
  readonly locale: Locale;
  /** what the user has just done and can still take back, in that order */
  readonly undos: readonly UndoView[];
  /** a newer version of the app */
  readonly update: UpdateView | undefined;
  /** whether the window belongs to a command: it shows only the tunnels of the command, and keeps nothing */
  readonly isOfCommand: boolean;
  /** whether the system does not give the shortcut of the settings */
  readonly isShortcutRefused: boolean;
  /** whether the desktop shows no tray icons, so that closing the window quits */
  readonly isTrayMissing: boolean;
  /** whether this machine has a network */
  readonly hasNetwork: boolean;
}

export interface UpdateView {
  readonly version: string;
  /** whether it is downloaded, so that a restart installs it; otherwise the user has to get it */
  readonly isReady: boolean;
}

export interface UndoView {
  readonly id: string;
  /** the action, as a sentence */
  readonly text: string;
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
      /**
       * storage of the key: the system's key store, a plain file the user asked for, or only memory until the app quits
       */
      readonly keyKept: KeyKept;
      /** the relay cannot be reached for now */
      readonly problem: Problem | undefined;
    };

/** A sign-in among others. */
export interface SignInView {
  readonly id: string;
  /** origin of the relay; empty before the first sign-in */
  readonly relay: string;
  /** name of the account; empty before the first sign-in */
  readonly account: string;
  /** whether the window shows its tunnels */
  readonly isChosen: boolean;
  readonly isSignedIn: boolean;
  /** number of tunnels that are not ended */
  readonly running: number;
  /** whether something about it needs the user */
  readonly isTroubled: boolean;
}

/** An invitation to a relay. Its address is a secret, which the page is not told. */
export type InvitationView = {
  /** another one has another */
  readonly id: string;
  /** origin of the relay */
  readonly relay: string;
} & (
  | { readonly state: 'looking' }
  | {
      readonly state: 'open';
      /** account name, as reported by the relay */
      readonly account: string;
      readonly endsAt: number;
      /** how the key can be stored on this machine, best first */
      readonly keeps: readonly KeyKept[];
    }
  | { readonly state: 'failed'; readonly problem: Problem }
);

/** Something that was dropped on the app: a folder that can be shared, or what cannot. */
export type DropView = {
  /** another one has another */
  readonly id: string;
} & (
  | {
      readonly state: 'folder';
      readonly name: string;
      /** whether a `culvert.yml` is in it */
      readonly isProject: boolean;
    }
  | { readonly state: 'refused'; readonly problem: Problem }
);

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
  /** id in this app; stays the same when the tunnel is restarted */
  readonly key: string;
  readonly status: TunnelStatus;
  /** the address to hand out, with its scheme; of an ended tunnel, the last one */
  readonly url: string;
  /** the address of all hosts of a wildcard tunnel, with `*` */
  readonly wildcardUrl: string | undefined;
  readonly slug: string;
  /** the requested name, or an empty string: a tunnel without one gets another address when started again */
  readonly name: string;
  readonly localPort: number;
  /** the project that it was started from */
  readonly project?: ProjectRef | undefined;
  /** name of the shared folder, if the target is not a port */
  readonly folder: string | undefined;
  /** framework detected there, such as `Vite` */
  readonly framework: string | undefined;
  /** nothing answers on the local port, or it refuses the host name: what to do */
  readonly localProblem: Problem | undefined;
  readonly hostHeader: HostHeader;
  /** the access policy */
  readonly lock: TunnelAccessView;
  readonly tokens: readonly TokenView[];
  /** pending approval requests, the longest waiting first */
  readonly knocks: readonly ApprovalRequestView[];
  readonly isIdle: boolean;
  /** whether it is extended before it expires, for as long as the app runs */
  readonly isKeptOpen: boolean;
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
  /** seconds of the last minute that had traffic, earliest first */
  readonly pulse: readonly TrafficSecond[];
  /** how far its request log has come */
  readonly log: LogPoint;
  /** what of it the user wants to see */
  readonly logView: LogView;
}

/** A check of the way from this machine through the relay, hop by hop. */
export interface DiagnosticsView {
  /** another one has another */
  readonly id: string;
  /** the tunnel that fails; `undefined` for the relay alone */
  readonly slug: string | undefined;
  /** in the order of arrival */
  readonly results: readonly HopResult[];
  readonly isRunning: boolean;
}

/** A tunnel that the command, another program or another machine has opened. */
export interface OtherTunnelView extends Pick<
  TunnelView,
  'key' | 'slug' | 'url' | 'localPort' | 'lock' | 'isIdle' | 'ttl' | 'expiresAt' | 'requests'
> {
  /** label of the key that created it, such as the name of a colleague; `null` if it has none */
  readonly createdBy: string | null;
  /** whether the tunnel's client is connected */
  readonly isOnline: boolean;
  /** where a reader of its log is, if a program of this user serves it on this machine; `undefined` elsewhere */
  readonly log: LogPoint | undefined;
  /** whether it is being stopped */
  readonly isStopping: boolean;
}

export interface PortView {
  readonly port: number;
  /** name of the program, such as `node` */
  readonly process: string | undefined;
  readonly framework: string | undefined;
}

/** px that a pane can have at most */
export const PANE_WIDTH_MAX = 4000;

/** Bytes of each body that request logs can keep. */
export const KEPT_BODY_CHOICES: readonly number[] = [64, 256, 1024, 10 * 1024].map((kib) => kib * 1024);

export interface Settings {
  readonly startsAtLogin: boolean;
  readonly notifies: boolean;
  readonly theme: 'system' | 'light' | 'dark';
  /** of every text, date and number */
  readonly language: LanguageChoice;
  /** what quitting does to tunnels that are online */
  readonly onQuit: 'ask' | 'close' | 'leave';
  /** whether visitors of kept names read "Asleep" while this computer sleeps */
  readonly saysAsleep: 'ask' | 'yes' | 'no';
  /** whether long lines of bodies are wrapped */
  readonly wrapsBodies: boolean;
  /** bytes of each body that request logs keep */
  readonly keptBody: number;
  /** whether the window says that the desktop shows no tray icons */
  readonly saysTrayMissing: boolean;
  /** px of the tunnels in a wide window; 0 for the default */
  readonly listWidth: number;
  /** px of the requests beside an open one; 0 for the default */
  readonly logWidth: number;
  /** what shows the window from anywhere */
  readonly summonShortcut: GlobalShortcutKeys;
}

/** Whether visitors cannot reach the local service of a live tunnel, as far as is known. */
export function isTroubled({ status, localProblem }: Pick<TunnelView, 'status' | 'localProblem'>): boolean {
  return status.name === 'reconnecting' || localProblem !== undefined;
}

/** The kept name of each tunnel that has it, or had it last and can be resumed, by the key of the tunnel. */
export function keptNames(
  tunnels: readonly Pick<TunnelView, 'key' | 'name' | 'status'>[],
  names: readonly KeptNameView[],
): ReadonlyMap<string, KeptNameView> {
  return new Map(
    names.flatMap((kept) => {
      const tunnel = tunnels.find(
        ({ name, status }) => name === kept.key && (status.name !== 'ended') === kept.isLive,
      );
      return tunnel === undefined ? [] : [[tunnel.key, kept] as const];
    }),
  );
}

/* Words for parts of it, which the window, the tray and notifications share. */

/** In this order: most browsers also claim to be an older one. */
const PROGRAMS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|Chromium)\//, 'Chrome'],
  [/^(?=.*\bVersion\/\d).*\bSafari\//s, 'Safari'],
  [/^curl\//, 'curl'],
  [/^Wget\//, 'Wget'],
  [/^git\//, 'git'],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMacintosh\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];

/**
 * @param agent a `User-Agent` field, which anybody can write as they like
 * @returns `Chrome on Windows`; as much of it as is known
 */
export function agentWords(agent: string): string {
  const program = nameOf(PROGRAMS, agent);
  const system = nameOf(SYSTEMS, agent);
  if (program !== undefined)
    return system === undefined ? program : t('agent.programOn', { program, system });
  return system === undefined ? t('agent.unknown') : t('agent.someOn', { system });
}

function nameOf(names: readonly (readonly [RegExp, string])[], agent: string): string | undefined {
  return names.find(([pattern]) => pattern.test(agent))?.[1];
}

/** Who asks for approval: a visitor by the program, or an agent by its host. */
export function whoAsks({ agent, client }: Pick<ApprovalRequestView, 'agent' | 'client'>): string {
  return client === undefined ? agentWords(agent) : t('knocks.agent', { host: hostsOf(client).host });
}

/** The hosts by which people recognize an agent: it can give itself any name. */
export function hostsOf({ host, returns_to: returnsTo }: KnockClient): { host: string; returnsTo: string } {
  return { host: endOfHost(host), returnsTo: endOfHost(returnsTo) };
}

/** Where a tunnel leads, in a sentence: `folder dist`, or `port 3000`. */
export function leadsTo({ folder, localPort }: Pick<TunnelView, 'folder' | 'localPort'>): string {
  return folder === undefined
    ? t('common.leadsToPort', { port: localPort })
    : t('common.leadsToFolder', { folder });
}
