/** The one table of what the page may ask main to do. Main registers it, the preload exposes it, the page calls it. */
import type { HostHeader } from '../../shared/value-rules.ts';
import type { RequestDetail, RequestSummary } from '../engine/inspector/records.ts';
import type { AdmittedView, LinkView, Lock } from './lock.ts';
import type { KeyKept, Settings, Snapshot } from './snapshot.ts';

/** Channel → what is sent and what comes back. */
export interface Channels {
  'snapshot:get': { payload: undefined; result: Snapshot };
  'session:sign-in': { payload: { relay: string; key: string; keep: KeyKept }; result: undefined };
  'session:sign-out': { payload: undefined; result: undefined };
  'tunnel:create': { payload: CreateForm; result: { key: string } };
  'tunnel:stop': { payload: TunnelRef; result: undefined };
  'tunnel:start': { payload: TunnelRef; result: undefined };
  'tunnel:forget': { payload: TunnelRef; result: undefined };
  'tunnel:extend': { payload: TunnelRef & { ttl: string }; result: undefined };
  'tunnel:copy-url': { payload: TunnelRef; result: undefined };
  'tunnel:open-url': { payload: TunnelRef; result: undefined };
  /** copies one sentence with the address and the password */
  'tunnel:copy-share': { payload: TunnelRef; result: undefined };
  'lock:invent': { payload: undefined; result: { password: string } };
  'lock:set': { payload: TunnelRef & { lock: Lock }; result: undefined };
  /** makes a link and copies it */
  'link:create': { payload: TunnelRef & { note: string; ttl: string }; result: LinkView };
  'link:list': { payload: TunnelRef; result: readonly LinkView[] };
  'link:revoke': { payload: TunnelRef & { id: string }; result: undefined };
  /** visitors who were let in and still are */
  'knock:admitted': { payload: TunnelRef; result: readonly AdmittedView[] };
  /** lets a visitor in for a duration string, or refuses */
  'knock:admit': { payload: TunnelRef & { id: string; ttl: string }; result: undefined };
  /** of one who is in: sends out */
  'knock:refuse': { payload: TunnelRef & { id: string }; result: undefined };
  'log:list': { payload: TunnelRef & { search: string }; result: readonly RequestSummary[] };
  'log:detail': { payload: RequestRef; result: RequestDetail };
  'log:copy-curl': { payload: RequestRef; result: undefined };
  'log:replay': { payload: RequestRef; result: { id: number } };
  'log:clear': { payload: TunnelRef; result: undefined };
  'settings:change': { payload: Partial<Settings>; result: undefined };
  'app:about': { payload: undefined; result: About };
  'app:open-link': { payload: { link: 'documentation' | 'source' | 'releases' }; result: undefined };
  'app:quit': { payload: undefined; result: undefined };
}

/** What main pushes to the page. */
export interface Pushes {
  'snapshot:changed': Snapshot;
  /** a `culvert://` link, or the tray's "New tunnel": shows the create form, filled in */
  'form:open': Partial<TunnelForm>;
  /** a notification was clicked: shows the card of a tunnel */
  'tunnel:show': TunnelRef;
}

export interface TunnelRef {
  key: string;
}

export interface RequestRef extends TunnelRef {
  id: number;
}

export interface TunnelForm {
  port: number;
  /** empty for a random one */
  name: string;
  /** duration string; empty for the relay's default */
  ttl: string;
  idle: boolean;
  hostHeader: HostHeader;
}

export interface CreateForm extends TunnelForm {
  lock: Lock;
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
