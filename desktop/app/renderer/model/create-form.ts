/** The create form as typed, the suggestions of its port field, and its validation. */
import { HEADER_NAME_RULE, HEADER_RULE, HEADERS_MAX } from '../../../../shared/header-changes.ts';
import {
  type CompressMode,
  HOST_HEADER_RULE,
  LOCAL_PORT_MAX,
  LOCAL_PORT_MIN,
  NAME_MAX_LENGTH,
  NAME_MIN_LENGTH,
  NAME_RULE,
  parsePort,
  type Upstream,
} from '../../../../shared/value-rules.ts';
import { isWildcardDomain } from '../../../../shared/wildcard-hosts.ts';
import type { CreateForm, TunnelForm } from '../../ipc/ipc.ts';
import type { AccountView, PortView, TunnelView } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import { type AccessDraft, OPEN_DRAFT, readAccessDraft } from './access.ts';
import { type DomainDraft, NO_DOMAIN, readDomainDraft } from './address.ts';
import { readLifetime } from './time-left.ts';
import { isLive } from './tunnel-state.ts';

/** The value for a lifetime that is typed. */
export const CUSTOM = 'custom';

export interface FormDraft {
  /** `undefined` until the user edits it; until then the likeliest port is shown */
  readonly port: string | undefined;
  readonly name: string;
  /** duration string, {@link CUSTOM}, or `undefined` for as long as the app runs */
  readonly ttl: string | undefined;
  readonly customTtl: string;
  readonly idle: boolean;
  readonly host: 'keep' | 'local' | typeof CUSTOM;
  readonly customHost: string;
  readonly compress: CompressMode;
  readonly upstream: Upstream;
  /** a change a line: `Name: value` sets a header, `-Name` removes it */
  readonly requestHeaders: string;
  readonly responseHeaders: string;
  readonly lock: AccessDraft;
  readonly domain: DomainDraft;
  readonly wildcard: boolean;
}

/** `lockDetail` is the field of the chosen access policy; `headers` are those of requests. */
export type FormField = keyof CreateForm | 'lockDetail' | 'responseHeaders';
export type FormProblems = Partial<Record<FormField, string>>;

/** What the form is validated against. */
export interface FormContext {
  readonly account: AccountView;
  readonly ports: readonly PortView[];
  readonly tunnels: readonly TunnelView[];
}

export const EMPTY_DRAFT: FormDraft = {
  port: undefined,
  name: '',
  ttl: undefined,
  customTtl: '',
  idle: false,
  host: 'keep',
  customHost: '',
  compress: 'auto',
  upstream: 'http1',
  requestHeaders: '',
  responseHeaders: '',
  lock: OPEN_DRAFT,
  domain: NO_DOMAIN,
  wildcard: false,
};

/** The text of the port field: as typed, or the likeliest port until something is typed. */
export function draftPort(draft: FormDraft, { ports, tunnels }: FormContext): string {
  return draft.port ?? String(freePorts(ports, tunnels)[0]?.port ?? '');
}

/** The problem of the name while it is typed. */
export function draftNameProblem(draft: FormDraft, { tunnels }: FormContext): string | undefined {
  return nameProblem(draft.name, new Set(tunnels.filter(isLive).map(({ slug }) => slug)));
}

/** @returns the request for main, or the problem of each invalid field */
export function readDraft(
  draft: FormDraft,
  context: FormContext,
): { form: CreateForm } | { problems: FormProblems } {
  const { account } = context;
  const port = readPort(draftPort(draft, context));
  const name = account.allowsNames ? draft.name : '';
  const nameIssue = draftNameProblem({ ...draft, name }, context);
  const ttl = draftTtl(draft, account);
  const lock = readAccessDraft(draft.lock);
  const domain = readDomainDraft(draft.domain);
  const request = readHeaderDraft(draft.requestHeaders);
  const response = readHeaderDraft(draft.responseHeaders);
  const hostHeader = draft.host === CUSTOM ? draft.customHost.trim() : draft.host;
  const problems: FormProblems = {
    ...(typeof port === 'string' ? { port } : {}),
    ...(nameIssue === undefined ? {} : { name: nameIssue }),
    ...('problem' in lock ? { lockDetail: lock.problem } : {}),
    ...('problem' in domain ? { domain: domain.problem } : {}),
    ...('problem' in ttl ? { ttl: ttl.problem } : {}),
    ...('problem' in request ? { headers: request.problem } : {}),
    ...('problem' in response ? { responseHeaders: response.problem } : {}),
    ...(HOST_HEADER_RULE.accepts(hostHeader) ? {} : { hostHeader: t('options.giveHost') }),
  };
  if (typeof port === 'string' || 'problem' in ttl || 'problem' in lock) return { problems };
  if ('problem' in request || 'problem' in response) return { problems };
  if ('problem' in domain || Object.keys(problems).length > 0) return { problems };
  const headers = {
    requestHeader: request.set,
    removeRequestHeader: request.remove,
    responseHeader: response.set,
    removeResponseHeader: response.remove,
  };
  const own = {
    ...(domain.domain === '' ? {} : { domain: domain.domain }),
    ...(account.allowsNames && isWildcardDraft(draft) ? { wildcard: true } : {}),
    ...(draft.compress === 'auto' ? {} : { compress: draft.compress }),
    ...(draft.upstream === 'http1' ? {} : { upstream: draft.upstream }),
    ...(Object.values(headers).every((list) => list.length === 0) ? {} : { headers }),
  };
  return { form: { port, name, ttl: ttl.ttl, idle: draft.idle, hostHeader, lock: lock.lock, ...own } };
}

interface DraftHeaders {
  readonly set: readonly string[];
  readonly remove: readonly string[];
}

/** @returns the changes of a text, or what is wrong with its first invalid line */
function readHeaderDraft(text: string): DraftHeaders | { readonly problem: string } {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const remove = lines.filter((line) => line.startsWith('-')).map((line) => line.slice(1).trim());
  const set = lines.filter((line) => !line.startsWith('-'));
  const wrong =
    set.find((line) => !HEADER_RULE.accepts(line)) ?? remove.find((name) => !HEADER_NAME_RULE.accepts(name));
  if (wrong !== undefined) return { problem: t('options.headerProblem', { line: wrong }) };
  if (set.length > HEADERS_MAX || remove.length > HEADERS_MAX)
    return { problem: t('options.tooManyHeaders', { max: HEADERS_MAX }) };
  return { set, remove };
}

/** The draft for a request of a link or the tray. */
export function draftFrom(form: Partial<TunnelForm>): FormDraft {
  const { port, name, ttl, idle, hostHeader, upstream, wildcard } = form;
  return {
    ...EMPTY_DRAFT,
    ...(port === undefined ? {} : { port: String(port) }),
    ...(name === undefined ? {} : { name }),
    ...(ttl === undefined || ttl === '' ? {} : { ttl: CUSTOM, customTtl: ttl }),
    ...(idle === undefined ? {} : { idle }),
    ...(wildcard === undefined ? {} : { wildcard }),
    ...(hostHeader === undefined ? {} : hostDraft(hostHeader)),
    ...(upstream === undefined ? {} : { upstream }),
  };
}

/** Whether a draft sets any of the options. */
export function hasOptions(draft: FormDraft): boolean {
  return (
    draft.name !== '' ||
    (draft.ttl ?? '') !== '' ||
    draft.idle ||
    draft.wildcard ||
    draft.host !== 'keep' ||
    draft.compress !== 'auto' ||
    draft.upstream !== 'http1' ||
    draft.requestHeaders !== '' ||
    draft.responseHeaders !== '' ||
    draft.lock.kind !== 'anyone' ||
    draft.domain.choice !== ''
  );
}

/** A domain such as `*.example.com` is one of all hosts. */
export function isWildcardDraft({ wildcard, domain }: FormDraft): boolean {
  return wildcard || isWildcardDomain(domain.choice);
}

function draftTtl(draft: FormDraft, account: AccountView): { ttl: string } | { problem: string } {
  if (draft.ttl === CUSTOM) return readLifetime(draft.customTtl, account.maxTtl);
  return { ttl: draft.ttl ?? '' };
}

function hostDraft(hostHeader: string): Pick<FormDraft, 'host' | 'customHost'> {
  return hostHeader === 'keep' || hostHeader === 'local'
    ? { host: hostHeader, customHost: '' }
    : { host: CUSTOM, customHost: hostHeader };
}

/* Validates a tunnel's name while it is typed, with the constants of the relay. */

/** For the hint of the field. */
export const NAME_LENGTHS = { min: NAME_MIN_LENGTH, max: NAME_MAX_LENGTH };

/**
 * Checks a name that may be incomplete.
 *
 * @param name as typed
 * @param taken slugs of the user's own live tunnels
 * @returns what to change, or `undefined` for a valid name (an empty name means a random one)
 */
export function nameProblem(name: string, taken: ReadonlySet<string> = new Set()): string | undefined {
  if (name === '') return undefined;
  const foreign = /[^a-z0-9-]/u.exec(name)?.[0];
  if (foreign !== undefined) {
    const shown = foreign.trim() === '' ? t('name.aSpace') : t('name.quoted', { character: foreign });
    return t('name.cannotHave', { shown });
  }
  if (name.startsWith('-')) return t('name.startWith');
  if (name.startsWith('xn--')) return t('name.noXn');
  if (name.length < NAME_MIN_LENGTH) return t('name.atLeast', { min: NAME_MIN_LENGTH });
  if (name.length > NAME_MAX_LENGTH) {
    return t('name.atMost', { max: NAME_MAX_LENGTH, length: name.length });
  }
  if (name.endsWith('-')) return t('name.endWith');
  // In case the relay's rule has further requirements.
  if (!NAME_RULE.accepts(name)) return t('name.use', NAME_LENGTHS);
  return taken.has(name) ? t('name.taken') : undefined;
}

/**
 * Corrects obvious mistakes in a typed name: lower case, and hyphens instead of spaces or underscores between words.
 */
export function tidyName(text: string): string {
  return text.toLowerCase().replace(/[\s_]+/g, '-');
}

/** Nobody reads more. */
const MOST_SUGGESTIONS = 8;

/** @returns the port, or what to change */
export function readPort(text: string): number | string {
  const trimmed = text.trim();
  if (trimmed === '') return t('port.type');
  return parsePort(trimmed) ?? t('port.accepted', { min: LOCAL_PORT_MIN, max: LOCAL_PORT_MAX });
}

/** Ports with a listener and without a live tunnel, likeliest first. */
export function freePorts(ports: readonly PortView[], tunnels: readonly TunnelView[]): readonly PortView[] {
  const used = new Set(
    tunnels
      .filter((tunnel) => isLive(tunnel) && tunnel.folder === undefined)
      .map(({ localPort }) => localPort),
  );
  return ports.filter(({ port }) => !used.has(port));
}

/**
 * Ports whose number, program or framework contains the typed text. A text that equals one of them does not narrow the
 * list: that port comes first, followed by all others.
 */
export function suggestedPorts(ports: readonly PortView[], typed: string): readonly PortView[] {
  const text = typed.trim().toLowerCase();
  const typedOne = ports.find(({ port }) => String(port) === text);
  const found =
    typedOne === undefined
      ? ports.filter((view) => words(view).some((word) => word.includes(text)))
      : [typedOne, ...ports.filter((view) => view !== typedOne)];
  return found.slice(0, MOST_SUGGESTIONS);
}

/** The common name of the program that listens; `undefined` if unknown. */
export function programName({ framework, process }: PortView): string | undefined {
  return framework ?? process;
}

/** The hint beside the typed port: `Astro is here`, `nothing here yet`, or nothing while it is not a port. */
export function portHint(typed: string, ports: readonly PortView[]): string | undefined {
  const port = readPort(typed);
  if (typeof port === 'string') return undefined;
  const found = ports.find((view) => view.port === port);
  if (found === undefined) return t('port.nothingYet');
  return programName(found) ?? t('port.aProgramIsHere');
}

function words(view: PortView): readonly string[] {
  return [String(view.port), view.process ?? '', view.framework ?? ''].map((word) => word.toLowerCase());
}
