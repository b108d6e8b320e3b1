/** What page and main say to each other besides the channels of main/handlers/channels.ts: values, answers, and what main pushes. */
import type { HostHeader } from '../../../shared/value-rules.ts';
import type { DecodedBody, RecordedMessage, RequestDetail } from '../../client/inspector/records.ts';
import type { LocalTarget } from '../../client/local/local-dialer.ts';
import type { Snapshot } from './snapshot.ts';
import type { TunnelAccess } from './tunnel-views.ts';

/** What main pushes to the page: one row for each, with the type of its value. */
export const PUSHES = {
  'snapshot:changed': push<Snapshot>(),
  /** a `culvert://` link, or the tray's "New tunnel": shows the create form, filled in */
  'form:open': push<Partial<TunnelForm>>(),
  /** a notification was clicked: shows the card of a tunnel */
  'tunnel:show': push<TunnelRef>(),
  /** the global shortcut was pressed: shows the address of a tunnel, which is copied if that is asked for */
  'address:show': push<TunnelRef & { copies: boolean }>(),
};

/** Push → its value. */
export type Pushes = { [P in keyof typeof PUSHES]: ReturnType<(typeof PUSHES)[P]> };

/** A row has the type of its value; nobody calls it. */
function push<T>() {
  return (value: T): T => value;
}

/** How many of the paths that are dropped at once main gets: it shares one, and has to know of a second to refuse them. */
export const DROPPED_PATHS_MAX = 2;

export interface TunnelRef {
  key: string;
}

export interface RequestRef extends TunnelRef {
  id: number;
}

export interface ShownRequest extends RequestRef {
  /** whether the values of secrets are shown */
  reveal: boolean;
}

/** A message, with its body also as it is without its content codings, where it has any. */
export interface MessageView extends RecordedMessage {
  readonly decoded?: DecodedBody | undefined;
}

export interface DetailView extends RequestDetail {
  readonly request: MessageView;
  readonly response: MessageView | undefined;
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
}

/** What is remembered of it. */
export interface KeptForm extends TunnelForm {
  /** path of the folder that is served in place of a local port; the page cannot name one */
  folder?: string | undefined;
  /** how the port is reached, if a project says so; the page cannot */
  local?: Omit<LocalTarget, 'port'> | undefined;
}

export interface CreateForm extends TunnelForm {
  lock: TunnelAccess;
}

export interface About {
  version: string;
  versions: readonly { name: string; version: string }[];
  licences: readonly { name: string; licence: string }[];
}

/** The result of every call: an error is data, so that nothing about it is lost on the way. */
export type Answer<T> = { ok: true; value: T } | { ok: false; error: CallError };

export interface CallError {
  /** stable, such as `name-taken` */
  code: string;
  /** the field of the form that it belongs to */
  field?: string;
  /** for people */
  text: string;
}
