/** Domains of the account, as the app shows them (protocol.md section 12). */
import type { Agent } from '../../../shared/agents.ts';
import type { KnockClient } from '../../../shared/control.ts';
import type { DnsRecord, DomainStatus } from '../../../shared/domains.ts';

export interface DomainView {
  /** of the relay */
  readonly id: string;
  readonly domain: string;
  readonly status: DomainStatus;
  /** DNS records to create */
  readonly records: readonly Readonly<DnsRecord>[];
}

/** A domain that the relay has just looked at. */
export interface CheckedDomainView extends DomainView {
  /** missing and wrong records; empty if all are correct */
  readonly problems: readonly { readonly text: string; readonly found: readonly string[] }[];
}

/** The access policy of a tunnel, as the app offers and shows it (protocol.md section 11). */

/** What the app can ask of visitors: one of these. */
export type TunnelAccess =
  | { readonly kind: 'anyone' }
  | { readonly kind: 'links' }
  | { readonly kind: 'knock' }
  /** `name`: of the first token */
  | { readonly kind: 'tokens'; readonly name: string }
  | { readonly kind: 'password'; readonly password: string }
  | { readonly kind: 'addresses'; readonly allow: readonly string[] }
  /** people of the relay's identity provider */
  | { readonly kind: 'signIn'; readonly rules: readonly string[] }
  /** by OAuth; the owner approves each of them */
  | { readonly kind: 'agents' };

export type AccessKind = TunnelAccess['kind'];

/** One requirement for visitors; `users` are names with passwords, in the browser's own dialog. */
export type AccessPart =
  'addresses' | 'users' | 'password' | 'links' | 'knock' | 'tokens' | 'signIn' | 'agents';

/** What a tunnel asks of its visitors. */
export type TunnelAccessView =
  | { readonly kind: 'anyone' }
  | { readonly kind: 'links' }
  | { readonly kind: 'knock' }
  | { readonly kind: 'tokens' }
  | { readonly kind: 'signIn'; readonly rules: readonly string[] }
  | { readonly kind: 'agents' }
  | {
      readonly kind: 'password';
      /** `undefined` if it was not set here or this app no longer knows it: the relay never reveals it */
      readonly password: string | undefined;
    }
  | { readonly kind: 'addresses'; readonly allow: readonly string[] }
  /** what the form does not offer, set by a project, the command or another program */
  | {
      readonly kind: 'other';
      readonly parts: readonly AccessPart[];
      /** `undefined` if there is none or this app does not know it */
      readonly password: string | undefined;
    };

/** A link that gives its visitors access. Its address is shown once, on creation. */
export interface LinkView {
  readonly id: string;
  /** the user's note; may be empty */
  readonly note: string;
  /** wall-clock ms */
  readonly expiresAt: number;
  /** a link for the first device that opens it: when that was, wall-clock ms */
  readonly once?: { readonly usedAt: number | undefined };
}

/** A new link, with the address that is shown only now. */
export interface NewLinkView extends LinkView {
  readonly url: string;
}

/** A token that programs send to get access. */
export interface TokenView {
  readonly name: string;
  /** wall-clock ms, to within a minute; `undefined`: never */
  readonly usedAt: number | undefined;
  /** whether it was made here and not copied yet: the relay never reveals it again */
  readonly canCopy: boolean;
}

/** An agent that was admitted by OAuth. */
export interface AgentView extends Pick<Agent, 'id' | 'name' | 'host' | 'user'> {
  readonly returnsTo: string;
  /** wall-clock ms */
  readonly since: number;
  /** wall-clock ms, to within a minute; `undefined`: never */
  readonly usedAt: number | undefined;
}

/** A visitor's approval request. */
export interface ApprovalRequestView {
  readonly id: string;
  /** IP address */
  readonly address: string;
  /** `User-Agent` as sent; may be empty */
  readonly agent: string;
  /** the agent (MCP client) that the visitor asks for; `undefined` for a visitor */
  readonly client?: KnockClient | undefined;
}

/** A visitor who was approved. */
export interface ApprovedView extends ApprovalRequestView {
  /** wall-clock ms */
  readonly endsAt: number;
}

/** A name that the account keeps. */
export interface KeptNameView {
  /** the name */
  readonly key: string;
  /** whether a tunnel has it now */
  readonly isLive: boolean;
  /** what visitors read; `undefined` if they are only told that it is offline */
  readonly away: string | undefined;
  /** when the owner expects to be back, wall-clock ms */
  readonly until: number | undefined;
}

/* The tunnels of a `culvert.yml`, as the window offers them. */

/** A project that was opened, about which the user has not decided. */
export type ProjectView = {
  /** another one has another */
  readonly id: string;
  /** of its folder */
  readonly name: string;
} & (
  | { readonly state: 'open'; readonly tunnels: readonly ProjectTunnelView[] }
  | {
      readonly state: 'refused';
      /** in lines, for people */
      readonly why: string;
      /** origin of the relay of the project, if that is why */
      readonly relay?: string | undefined;
    }
);

export interface ProjectTunnelView {
  /** its name in the file */
  readonly label: string;
  /** the name or domain that it asks for; `undefined` for a random name */
  readonly address: string | undefined;
  /** a local address such as `http://localhost:3000`, or the folder as the file names it */
  readonly leadsTo: string;
  /** the access policy; `undefined` if it is unknown */
  readonly lock: TunnelAccessView | undefined;
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

/** Global shortcuts for the window in Electron's notation, in the order in which they are offered. */
export const GLOBAL_SHORTCUTS = [
  'CommandOrControl+Alt+Shift+C',
  'CommandOrControl+Shift+Space',
  'CommandOrControl+Alt+Space',
  'Alt+Shift+C',
  'off',
] as const;

export type GlobalShortcutKeys = (typeof GLOBAL_SHORTCUTS)[number];

/** A tunnel of a project. */
export interface ProjectRef {
  /** name of the project's folder */
  readonly name: string;
  /** name of the tunnel in its file */
  readonly label: string;
}
