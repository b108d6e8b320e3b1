/**
 * Client ID Metadata Documents (draft-ietf-oauth-client-id-metadata-document): the id of a client is the https address
 * of a document about it. Anybody can make the relay fetch one, so it connects to addresses of the internet alone.
 */
import { lookup, type LookupAddress } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import * as tls from 'node:tls';
import { AGENT_NAME_MAX_LENGTH } from '../../shared/agents.ts';
import { replaceUnprintable } from '../../shared/unprintable.ts';
import type { Clock } from '../clock.ts';
import { TenantCache } from '../tenant-cache.ts';
import { Turnstile } from '../turnstile.ts';
import { isPublicAddress } from './public-addresses.ts';
import { isRedirectUri } from './redirect-uris.ts';

/** How long the document of a client may take to arrive, the look-up of its host included. */
export const DOCUMENT_TIMEOUT_MS = 5000;
/** Maximum size of a client's document. */
export const DOCUMENT_MAX_BYTES = 16 * 1024;
/** How long a client's document is kept at most, whatever it says. */
export const DOCUMENT_KEPT_MAX_SECONDS = 24 * 3600;
/** Maximum number of documents that are kept; hosts have equal shares. */
export const DOCUMENTS_MAX = 500;
/** Maximum number of documents that are fetched at the same time. */
export const DOCUMENT_FETCHES_MAX = 16;
/** Maximum number of documents that are fetched at the same time for one visitor address. */
export const ADDRESS_DOCUMENT_FETCHES_MAX = 2;
/** Maximum number of documents that may wait for that; 503 beyond it. */
export const DOCUMENT_FETCHES_WAITING_MAX = 64;
/** Maximum number of addresses that a client may return to. */
export const REDIRECT_URIS_MAX = 16;
const ID_MAX_LENGTH = 1024;

/** What a client says about itself. */
export interface ClientMetadata {
  readonly name: string;
  readonly redirectUris: readonly string[];
}

/** A document that was fetched. */
export interface Fetched {
  readonly text: string;
  /** `Cache-Control`; empty if there is none */
  readonly cacheControl: string;
}

/** Fetches a document. @returns `undefined` if it cannot be had */
export type FetchDocument = (url: URL) => Promise<Fetched | undefined>;

/** Whether a client's id is the address of its document. */
export function isDocumentId(id: string): boolean {
  if (id.length > ID_MAX_LENGTH || !id.startsWith('https://') || !URL.canParse(id)) return false;
  const { href, username, password, hash, pathname } = new URL(id);
  // Written as parsers write it, so that it names one thing to all of them.
  return href === id && `${username}${password}${hash}` === '' && !id.includes('#') && pathname !== '/';
}

export class ClientDocuments {
  readonly #fetch: FetchDocument;
  readonly #clock: Clock;
  readonly #kept = new TenantCache<{ readonly client: ClientMetadata; readonly until: number }>(
    DOCUMENTS_MAX,
  );
  readonly #turns = new Turnstile({
    atOnce: { all: DOCUMENT_FETCHES_MAX, group: ADDRESS_DOCUMENT_FETCHES_MAX },
    waiting: { all: DOCUMENT_FETCHES_WAITING_MAX },
  });

  constructor(clock: Clock, fetch: FetchDocument = fetchDocument) {
    this.#clock = clock;
    this.#fetch = fetch;
  }

  /**
   * @param id see {@link isDocumentId}
   * @param network of the visitor, who has a share of the fetches
   * @returns `undefined` if there is no such document, or it is not about that client
   * @throws BusyError
   */
  async find(id: string, network: string): Promise<ClientMetadata | undefined> {
    const kept = this.#kept.get(id);
    if (kept !== undefined && kept.until > this.#clock.monotonic()) return kept.client;
    const url = new URL(id);
    const fetched = await this.#turns.run(network, () => this.#fetch(url));
    const client = fetched && readDocument(id, fetched.text);
    if (fetched === undefined || client === undefined) return undefined;
    const seconds = Math.min(secondsIn(fetched.cacheControl), DOCUMENT_KEPT_MAX_SECONDS);
    if (seconds > 0)
      this.#kept.set(url.hostname, id, { client, until: this.#clock.monotonic() + seconds * 1000 });
    return client;
  }
}

function readDocument(id: string, text: string): ClientMetadata | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  const document = isRecord(parsed) ? parsed : {};
  const method = document['token_endpoint_auth_method'];
  // A secret cannot be in a document that everybody reads.
  if (document['client_id'] !== id || (typeof method === 'string' && method.startsWith('client_secret')))
    return undefined;
  return readMetadata(document);
}

/**
 * What a client says about itself, in its document or when it registers (RFC 7591 section 2).
 *
 * @returns `undefined` unless it names at least one address that an authorization may return to, and no others
 */
export function readMetadata(given: Readonly<Record<string, unknown>>): ClientMetadata | undefined {
  const { redirect_uris: uris, client_name: name = '' } = given;
  const isGood =
    Array.isArray(uris) && uris.length > 0 && uris.length <= REDIRECT_URIS_MAX && uris.every(isRedirectUri);
  if (!isGood || typeof name !== 'string') return undefined;
  return { name: shownName(name), redirectUris: [...new Set<string>(uris)] };
}

/** Controls would hide or reverse what people decide by. */
function shownName(name: string): string {
  const text = replaceUnprintable(name.toWellFormed(), ' ').replaceAll(/\s+/g, ' ').trim();
  return Array.from(text).slice(0, AGENT_NAME_MAX_LENGTH).join('');
}

export function isRecord(given: unknown): given is Readonly<Record<string, unknown>> {
  return typeof given === 'object' && given !== null && !Array.isArray(given);
}

/** RFC 9111 section 5.2.2: what forbids to keep it has precedence. */
function secondsIn(cacheControl: string): number {
  const directives = cacheControl
    .toLowerCase()
    .split(',')
    .map((part) => part.trim());
  if (directives.some((directive) => /^(?:no-store|no-cache)\b/.test(directive))) return 0;
  const ages = directives.flatMap((directive) => /^max-age="?(\d{1,10})"?$/.exec(directive)?.[1] ?? []);
  return ages.length === 0 ? 0 : Math.min(...ages.map(Number));
}

/** See {@link FetchDocument}. It says nothing of why it fails: that would tell of the relay's network. */
export async function fetchDocument(url: URL): Promise<Fetched | undefined> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), DOCUMENT_TIMEOUT_MS);
  const isLate = new Promise<undefined>((resolve) => {
    late.signal.addEventListener('abort', () => resolve(undefined));
  });
  try {
    const addresses = await Promise.race([publicAddresses(url), isLate]);
    return addresses && (await receive(url, addresses, late.signal));
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
    late.abort();
  }
}

/** @returns the addresses of a host, all of the internet; `undefined` if one is not */
async function publicAddresses({ hostname }: URL): Promise<readonly LookupAddress[] | undefined> {
  const name = hostname.replaceAll(/[[\]]/g, '');
  const family = isIP(name);
  const addresses = family === 0 ? await resolveName(name) : [{ address: name, family }];
  return addresses.length > 0 && addresses.every(({ address }) => isPublicAddress(address))
    ? addresses
    : undefined;
}

/** By the system, as any other program of this machine. */
function resolveName(name: string): Promise<readonly LookupAddress[]> {
  return new Promise((settle, reject) => {
    lookup(name, { all: true }, (error, addresses) => {
      if (error === null) settle(addresses);
      else reject(error);
    });
  });
}

/** Connects to one of these addresses, whatever the name's are by now. */
function receive(
  url: URL,
  addresses: readonly LookupAddress[],
  signal: AbortSignal,
): Promise<Fetched | undefined> {
  const [first] = addresses;
  const known: LookupFunction = (_name, { all }, callback) => {
    if (all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };
  return new Promise((settle, reject) => {
    const headers = { Accept: 'application/json', 'Accept-Encoding': 'identity', 'User-Agent': 'Culvert' };
    agent ??= newAgent();
    const asked = request(url, { agent, lookup: known, headers, signal });
    asked.on('error', reject);
    asked.on('response', (response) => {
      readBody(response).then(settle, reject);
    });
    asked.end();
  });
}

async function readBody(response: IncomingMessage): Promise<Fetched | undefined> {
  const { statusCode, headers } = response;
  const isDocument =
    statusCode === 200 &&
    /^application\/(?:[\w.+-]+\+)?json *(?:;|$)/i.test(headers['content-type'] ?? '') &&
    ['', 'identity'].includes(headers['content-encoding'] ?? '');
  const pieces: Buffer[] = [];
  let length = 0;
  if (isDocument)
    for await (const piece of response as AsyncIterable<Buffer>) {
      pieces.push(piece);
      length += piece.length;
      if (length > DOCUMENT_MAX_BYTES) break;
    }
  response.destroy();
  if (!isDocument || length > DOCUMENT_MAX_BYTES) return undefined;
  return { text: Buffer.concat(pieces).toString(), cacheControl: headers['cache-control'] ?? '' };
}

/** Made for the first document: reading the authorities again for each would hold up everybody else. */
let agent: Agent | undefined;

/**
 * Trusts the authorities of Node, of `NODE_EXTRA_CA_CERTS`, and of the system if this Node can tell those. Keeps no
 * connection, whose address may be another one by the next document.
 */
function newAgent(): Agent {
  const { getCACertificates } = tls as Partial<typeof tls>;
  const ca = getCACertificates && [
    ...new Set([...getCACertificates('default'), ...getCACertificates('system')]),
  ];
  const secureContext = tls.createSecureContext(ca && { ca });
  return new Agent({ keepAlive: false, maxCachedSessions: 0, secureContext });
}
