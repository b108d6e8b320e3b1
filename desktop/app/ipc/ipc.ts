/** Types that page and main share: forms, views, and what main pushes. The channels are in main/handlers/channels.ts. */
import type { HeaderChanges } from '../../../shared/header-changes.ts';
import type { CompressMode, HostHeader, Upstream } from '../../../shared/value-rules.ts';
import type { Snapshot } from './snapshot.ts';
import type { TunnelAccess } from './tunnel-views.ts';

export type { Answer, CallError } from '../../client/methods/peer.ts';

/** The table of pushes from main to the page: name and type of the value. */
export const PUSHES = {
  'snapshot:changed': push<Snapshot>(),
  /** a `culvert://` link, or the tray's "New tunnel": shows the create form, filled in */
  'form:open': push<Partial<TunnelForm>>(),
  /** a notification was clicked: shows the card of a tunnel */
  'tunnel:show': push<TunnelRef>(),
  /** the tray's "Message": shows the form with what visitors of a kept name read */
  'message:show': push<TunnelRef>(),
  /** the global shortcut was pressed: shows the address of a tunnel, and copies it if asked to */
  'address:show': push<TunnelRef & { copies: boolean }>(),
};

/** Push → its value. */
export type Pushes = { [P in keyof typeof PUSHES]: ReturnType<(typeof PUSHES)[P]> };

/** Only carries the type of the value. */
function push<T>() {
  return (value: T): T => value;
}

/** Paths of one drop that main gets: it shares one, and needs a second to refuse several. */
export const DROPPED_PATHS_MAX = 2;

interface TunnelRef {
  key: string;
}

export interface TunnelForm {
  port: number;
  /** empty for a random one */
  name: string;
  /** duration string; empty for the relay's default */
  ttl: string;
  idle: boolean;
  hostHeader: HostHeader;
  /** a domain of the account; none without it */
  domain?: string | undefined;
  /** whether the tunnel answers at every host `{any}--{slug}` */
  wildcard?: boolean | undefined;
  /** whether responses are compressed; `auto` without it */
  compress?: CompressMode | undefined;
  /** the protocol of the port's service; `http1` without it */
  upstream?: Upstream | undefined;
  /** headers to set and remove; none without it */
  headers?: HeaderChanges | undefined;
}

export interface CreateForm extends TunnelForm {
  lock: TunnelAccess;
}

export interface About {
  version: string;
  versions: readonly { name: string; version: string }[];
  licences: readonly { name: string; licence: string }[];
}

/** The people of the account, as its owners see them in the window. Times are wall-clock ms. */
export interface TeamView {
  /** valid keys, oldest first */
  readonly members: readonly MemberView[];
  /** open invitations, oldest first */
  readonly invitations: readonly OpenInvitationView[];
  /** the latest entries of the audit log, newest first */
  readonly acts: readonly TeamActView[];
  /** whether the relay has listed more than the window shows */
  readonly hasMore: boolean;
}

export interface MemberView {
  readonly id: string;
  /** name of the person; empty if the key has none */
  readonly label: string;
  /** the first characters of the key */
  readonly hint: string;
  /** `owner`, `all`, or the name of the only tunnel that the key can be used for */
  readonly scope: string;
  readonly createdAt: number;
  /** accurate to one minute; `undefined` if it was never used */
  readonly usedAt: number | undefined;
  readonly expiresAt: number | undefined;
  /** whether this app is signed in with the key */
  readonly isOwn: boolean;
}

export interface OpenInvitationView {
  readonly id: string;
  readonly label: string;
  readonly expiresAt: number;
}

/** An invitation that was just created: only then is its address known. */
export interface NewInvitationView extends OpenInvitationView {
  readonly url: string;
}

/** An entry of the audit log, in the relay's words. */
export interface TeamActView {
  readonly at: number;
  /** `key:ID`, `invite:ID`, or `operator` */
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly detail: string;
}
