/** The one table of what the page may ask main to do. Main registers it, the preload exposes it, the page calls it. */
import type { HostHeader } from '../../../shared/value-rules.ts';
import type { DecodedBody, RecordedMessage, RequestDetail } from '../../client/inspector/records.ts';
import type { LocalTarget } from '../../client/local/local-dialer.ts';
import type {
  EditForm,
  EditView,
  ExportedRequests,
  Imported,
  SavedRequestRef,
  LogPoint,
  LogUpdate,
  LogView,
  NewSecret,
  SendResult,
  CollectionsView,
  SignatureCheck,
  WrittenHar,
} from './request-views.ts';
import type { KeyKept, Settings, Snapshot } from './snapshot.ts';
import type {
  ApprovedView,
  CheckedDomainView,
  DomainView,
  LinkView,
  TunnelAccess,
  StartedTunnels,
} from './tunnel-views.ts';

/** Channel → what is sent and what comes back. */
export interface Channels {
  'snapshot:get': { payload: undefined; result: Snapshot };
  'session:sign-in': { payload: { relay: string; key: string; keep: KeyKept }; result: undefined };
  /** gives up signing in */
  'session:cancel': { payload: undefined; result: undefined };
  'session:sign-out': { payload: undefined; result: undefined };
  /** shows an invitation that was pasted; nothing is taken */
  'invitation:open': { payload: { address: string }; result: undefined };
  /** takes the one that is shown, and signs in */
  'invitation:accept': { payload: { id: string; keep: KeyKept }; result: undefined };
  'invitation:dismiss': { payload: { id: string }; result: undefined };
  'tunnel:create': { payload: CreateForm; result: { key: string } };
  /** something was dropped on the window: shows what it is; nothing is shared. The preload alone sends this */
  'folder:drop': { payload: { paths: readonly string[] }; result: undefined };
  /** shares the folder that is shown */
  'folder:share': { payload: { id: string }; result: { key: string } };
  'folder:dismiss': { payload: { id: string }; result: undefined };
  /** asks the user for a folder, and shows it as if it was dropped */
  'folder:choose': { payload: undefined; result: undefined };
  /** asks the user for the folder of a project, and shows what its `culvert.yml` has; nothing is started */
  'project:choose': { payload: undefined; result: undefined };
  /** the same for the folder that is shown, in its place */
  'project:open': { payload: { id: string }; result: undefined };
  /** the same for one of the projects that were opened last */
  'project:reopen': { payload: { folder: string }; result: undefined };
  /** starts tunnels of the project that is shown, by their names in the file */
  'project:start': { payload: { id: string; labels: readonly string[] }; result: StartedTunnels };
  'project:dismiss': { payload: { id: string }; result: undefined };
  'tunnel:stop': { payload: TunnelRef; result: undefined };
  'tunnel:start': { payload: TunnelRef; result: undefined };
  'tunnel:forget': { payload: TunnelRef; result: undefined };
  'tunnel:extend': { payload: TunnelRef & { ttl: string }; result: undefined };
  'tunnel:copy-url': { payload: TunnelRef; result: undefined };
  'tunnel:open-url': { payload: TunnelRef; result: undefined };
  /** copies one sentence with the address and the password */
  'tunnel:copy-share': { payload: TunnelRef; result: undefined };
  'lock:invent': { payload: undefined; result: { password: string } };
  'lock:set': { payload: TunnelRef & { lock: TunnelAccess }; result: undefined };
  /** makes a link and copies it */
  'link:create': { payload: TunnelRef & { note: string; ttl: string }; result: LinkView };
  'link:list': { payload: TunnelRef; result: readonly LinkView[] };
  'link:revoke': { payload: TunnelRef & { id: string }; result: undefined };
  /** domains of the account */
  'domain:list': { payload: undefined; result: readonly DomainView[] };
  'domain:add': { payload: { domain: string }; result: DomainView };
  'domain:remove': { payload: { id: string }; result: undefined };
  /** has the relay look at the records of a domain */
  'domain:check': { payload: { id: string }; result: CheckedDomainView };
  /** visitors who were let in and still are */
  'knock:admitted': { payload: TunnelRef; result: readonly ApprovedView[] };
  /** lets a visitor in for a duration string, or refuses */
  'knock:admit': { payload: TunnelRef & { id: string; ttl: string }; result: undefined };
  /** of one who is in: sends out */
  'knock:refuse': { payload: TunnelRef & { id: string }; result: undefined };
  /** copies what the window shows */
  'text:copy': { payload: { text: string }; result: undefined };
  /** what has changed in a log, in parts of a limited size */
  'log:changes': { payload: TunnelRef & { since: LogPoint }; result: LogUpdate };
  /** remembers what of a log the user wants to see */
  'log:view': { payload: TunnelRef & LogView; result: undefined };
  'log:detail': { payload: ShownRequest; result: DetailView };
  'log:copy-curl': { payload: ShownRequest; result: { hidesSecrets: boolean } };
  /** writes requests as a HAR to a file that the user names; nothing if the user does not */
  'log:export': { payload: ExportedRequests; result: WrittenHar | undefined };
  /** brings what a HAR or a `curl` command has into the log; nothing is sent */
  'import:text': { payload: TunnelRef & { text: string }; result: Imported };
  /** the same with a HAR that the user chooses; nothing if the user does not */
  'import:file': { payload: TunnelRef; result: Imported | undefined };
  'log:replay': { payload: RequestRef; result: { id: number } };
  /** a request as it can be edited, without its secrets */
  'bench:open': { payload: RequestRef; result: EditView };
  /** sends it as it was edited */
  'bench:send': { payload: RequestRef & { edit: EditForm }; result: SendResult };
  'set:list': { payload: undefined; result: CollectionsView };
  /** keeps a request of a log in a new set */
  'set:create': { payload: RequestRef & { name: string }; result: { set: string } };
  /** keeps a request of a log at the end of a set */
  'set:add': { payload: RequestRef & { set: string }; result: undefined };
  'set:rename': { payload: { set: string; name: string }; result: undefined };
  'set:remove': { payload: { set: string }; result: undefined };
  'set:remove-request': { payload: SavedRequestRef; result: undefined };
  /** brings a kept request into a log, to be edited and sent */
  'set:open': { payload: TunnelRef & SavedRequestRef; result: { id: number } };
  /** sends a kept request to the local service of a tunnel, signed anew where the secret of its service is set */
  'set:send': { payload: TunnelRef & SavedRequestRef; result: Extract<SendResult, { sent: unknown }> };
  'log:clear': { payload: TunnelRef; result: undefined };
  /** what the signature of a request says; nothing for what is no webhook */
  'signature:look': { payload: RequestRef; result: SignatureCheck | undefined };
  'signature:add-secret': { payload: TunnelRef & NewSecret; result: undefined };
  'signature:remove-secret': { payload: TunnelRef & { id: string }; result: undefined };
  /** makes a request once more, signed anew */
  'signature:replay': { payload: RequestRef; result: { id: number } };
  /** connects now what waits for its next attempt */
  'relay:try': { payload: undefined; result: undefined };
  /** checks the way to the relay and back; with the key of a tunnel, as far as its local port */
  'checkup:start': { payload: { key?: string | undefined }; result: undefined };
  'checkup:stop': { payload: undefined; result: undefined };
  /** takes back what the user has just done */
  'undo:take': { payload: { id: string }; result: undefined };
  'settings:change': { payload: Partial<Settings>; result: undefined };
  'app:about': { payload: undefined; result: About };
  'app:open-link': { payload: { link: 'documentation' | 'source' | 'releases' }; result: undefined };
  /** restarts into the version that was downloaded */
  'app:update': { payload: undefined; result: undefined };
  'app:quit': { payload: undefined; result: undefined };
}

/** What main pushes to the page. */
export interface Pushes {
  'snapshot:changed': Snapshot;
  /** a `culvert://` link, or the tray's "New tunnel": shows the create form, filled in */
  'form:open': Partial<TunnelForm>;
  /** a notification was clicked: shows the card of a tunnel */
  'tunnel:show': TunnelRef;
  /** the window was summoned: to the address of a tunnel, which is copied if that is asked for */
  'address:show': TunnelRef & { copies: boolean };
}

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
