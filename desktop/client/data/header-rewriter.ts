import { CloseCode } from '../../../shared/control.ts';
import { type HeaderChanges, NO_HEADER_CHANGES, readHeader } from '../../../shared/header-changes.ts';
import {
  BodyError,
  type BodyTracker,
  requestFraming,
  responseFraming,
  trackBody,
  trackServiceBody,
} from '../../../shared/http1/body.ts';
import { type Field, fieldValue, mapTags } from '../../../shared/http1/fields.ts';
import { HeadReader, HeadWriter, parseRequestHead, parseServiceHead } from '../../../shared/http1/head.ts';
import type { DataSocket } from './data-dialer.ts';
import { StreamFilter, NO_LIMITS, REQUEST_HEAD_MAX_BYTES, RESPONSE_HEAD_MAX_BYTES } from './stream-filter.ts';

/**
 * Maximum number of bytes that are buffered after an upgrade request until the local service responds. Reading
 * stops at this limit.
 */
export const UPGRADE_EARLY_MAX_BYTES = 64 * 1024;
/**
 * Maximum number of requests on one stream whose responses are outstanding, if headers are changed: relays send
 * the next request after the response to the previous one.
 */
export const UNANSWERED_REQUESTS_MAX = 64;

/** What to change in the heads of a tunnel. */
export class HeadChanges {
  readonly #request: FieldChanges;
  readonly #response: FieldChanges;

  /**
   * @param host the Host that the local service receives; `undefined` for the visitor's
   * @param origin replaces the tunnel's own in fields with addresses, as in {@link localAddresses}; `undefined` to keep it
   */
  constructor(host: string | undefined, changes: HeaderChanges = NO_HEADER_CHANGES, origin?: string) {
    this.#request = new FieldChanges(changes.requestHeader, changes.removeRequestHeader, host, origin);
    this.#response = new FieldChanges(changes.responseHeader, changes.removeResponseHeader);
  }

  get isEmpty(): boolean {
    return this.#request.isEmpty && this.#response.isEmpty;
  }

  get request(): FieldChanges {
    return this.#request;
  }

  get response(): FieldChanges {
    return this.#response;
  }
}

class FieldChanges {
  readonly #host: string | undefined;
  readonly #origin: string | undefined;
  /** in lower case */
  readonly #dropped: ReadonlySet<string>;
  /** complete lines */
  readonly #added: string;

  constructor(lines: readonly string[], removed: readonly string[], host?: string, origin?: string) {
    const headers = lines.map((line) => readHeader(line)).filter((header) => header !== undefined);
    this.#host = host;
    this.#origin = origin;
    this.#dropped = new Set(
      [...removed, ...headers.map(({ name }) => name)].map((name) => name.toLowerCase()),
    );
    this.#added = headers.map(({ name, value }) => `${name}: ${value}\r\n`).join('');
  }

  get isEmpty(): boolean {
    return this.#host === undefined && this.#origin === undefined && this.#dropped.size === 0;
  }

  apply(head: { readonly bytes: Buffer; readonly fields: readonly Field[] }): Buffer {
    if (this.isEmpty) return head.bytes;
    const writer = new HeadWriter(head.bytes, (this.#host?.length ?? 0) + this.#added.length);
    const addresses = this.#origin === undefined ? undefined : localAddresses(head.fields, this.#origin);
    let from = 0;
    for (const field of head.fields) {
      const isDropped = this.#dropped.size > 0 && this.#dropped.has(field.lower);
      const value = this.#host !== undefined && field.is('host') ? this.#host : addresses?.get(field);
      if (!isDropped && value === undefined) continue;
      writer.keep(from, field.start);
      if (!isDropped) writer.text(`${field.name}: ${value}\r\n`);
      from = field.end;
    }
    writer.keep(from, head.bytes.length - 2);
    writer.text(`${this.#added}\r\n`);
    return writer.end();
  }
}

/**
 * Changes the heads of every request and response on a data socket, and leaves the rest unchanged. It parses each
 * message to find the start of the next. A message that cannot be parsed breaks the connection, because nothing after
 * it can be parsed either. Responses are parsed only if they are changed, or to learn whether an upgrade is accepted.
 */
export class HeaderRewriter extends StreamFilter {
  readonly #changes: HeadChanges;
  readonly #requests = new HeadReader(REQUEST_HEAD_MAX_BYTES);
  /** of the current request; `undefined` between two */
  #body: BodyTracker | undefined;
  /** the methods of the requests without a response */
  readonly #methods: string[] = [];
  /** responses that came before their requests, as that of this client for a port that refuses */
  #early = 0;
  /** reads the heads of responses; `undefined` while nothing depends on them */
  #responses: HeadReader | undefined;
  /** of the current response; `undefined` between two */
  #responseBody: BodyTracker | undefined;
  /** whether the last request offers an upgrade that has no response yet */
  #isOffering = false;
  /** bytes after the offer of an upgrade, until its response is known */
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** whether the handler has paused the stream */
  #isPaused = false;
  /** whether bytes pass through unparsed: after an upgrade, or after the end */
  #isThrough = false;

  constructor(inner: DataSocket, changes: HeadChanges) {
    super(inner);
    this.#changes = changes;
    if (!changes.response.isEmpty) this.#responses = new HeadReader(RESPONSE_HEAD_MAX_BYTES, 'lenient');
  }

  override onStreamData(piece: Buffer): void {
    if (this.#isThrough) super.onStreamData(piece);
    else this.#follow(piece);
  }

  override pause(): void {
    this.#isPaused = true;
    super.pause();
  }

  override resume(): void {
    this.#isPaused = false;
    if (this.#heldBytes <= UPGRADE_EARLY_MAX_BYTES) super.resume();
  }

  /** Bounded, because the other side decides how much it sends, and the local service how long it takes to respond. */
  #hold(piece: Buffer): void {
    this.#held.push(piece);
    this.#heldBytes += piece.length;
    if (this.#heldBytes > UPGRADE_EARLY_MAX_BYTES) super.pause();
  }

  /* Requests. */

  #follow(piece: Buffer): void {
    let rest = piece;
    while (rest.length > 0 && !this.#isThrough) {
      // The body belongs to the request that offers the upgrade.
      if (this.#isOffering && this.#body === undefined) return this.#hold(rest);
      rest = this.#body === undefined ? this.#followHead(rest) : this.#followBody(this.#body, rest);
    }
  }

  /** @returns the bytes after the head */
  #followHead(bytes: Buffer): Buffer {
    const end = this.#requests.push(bytes);
    if (end === undefined) return bytes.subarray(bytes.length);
    const head = typeof end === 'string' ? end : parseRequestHead(end.head, NO_LIMITS);
    const framing = typeof head === 'string' ? head : requestFraming(head);
    if (typeof end === 'string' || typeof head === 'string' || typeof framing === 'string')
      return this.#break(bytes);
    // Each Host is replaced by a longer one, so a head with many would grow without a limit.
    if (head.fields.filter((field) => field.is('host')).length > 1) return this.#break(bytes);
    const body = trackBody(framing);
    if (!body.done) this.#body = body;
    if (fieldValue(head.fields, 'upgrade') !== undefined) {
      this.#isOffering = true;
      this.#responses ??= new HeadReader(RESPONSE_HEAD_MAX_BYTES, 'lenient');
    }
    if (!this.#expect(head.method)) return this.#break(bytes);
    super.onStreamData(this.#changes.request.apply(head));
    return end.rest;
  }

  /** @returns whether there is room for one more response */
  #expect(method: string): boolean {
    if (this.#responses === undefined) return true;
    if (this.#early > 0) this.#early -= 1;
    else this.#methods.push(method);
    return this.#methods.length <= UNANSWERED_REQUESTS_MAX;
  }

  #followBody(body: BodyTracker, bytes: Buffer): Buffer {
    const end = this.#advance(body, bytes);
    if (end === undefined) return bytes.subarray(bytes.length);
    if (body.done) this.#body = undefined;
    super.onStreamData(end === bytes.length ? bytes : bytes.subarray(0, end));
    return bytes.subarray(end);
  }

  /* Responses. */

  override write(chunk: Buffer): boolean {
    let hasRoom = true;
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#responses === undefined || this.#isThrough) return super.write(rest);
      const [passed, next] =
        this.#responseBody === undefined
          ? this.#followResponse(this.#responses, rest)
          : this.#followResponseBody(this.#responseBody, rest);
      if (passed.length > 0) hasRoom = super.write(passed);
      rest = next;
    }
    return hasRoom;
  }

  /** @returns what to send, and the bytes that follow */
  #followResponse(reader: HeadReader, bytes: Buffer): readonly [Buffer, Buffer] {
    const end = reader.push(bytes);
    const nothing = bytes.subarray(bytes.length);
    if (end === undefined) return [nothing, nothing];
    if (end === 'too-large') return [this.#break(bytes), nothing];
    if (end === 'malformed') return [this.#passRefused(Buffer.from(reader.text, 'latin1')), nothing];
    const head = parseServiceHead(end.head);
    if (head === undefined) return [this.#passRefused(end.head), nothing];
    if (head.status < 200 && head.status !== 101) return [end.head, end.rest];
    const changed = this.#changes.response.apply(head);
    const isUpgraded = head.status === 101;
    const framing = isUpgraded ? undefined : responseFraming(head, this.#methods[0] ?? 'GET');
    if (!isUpgraded && framing === undefined) return [this.#passRefused(end.head), nothing];
    if (this.#methods.shift() === undefined) this.#early += 1;
    if (framing !== undefined) {
      const body = trackServiceBody(framing, {});
      if (!body.done) this.#responseBody = body;
    }
    // What waits for this response reaches the local service first, as if there were no filter.
    if (this.#isOffering && this.#methods.length === 0) this.#settle(isUpgraded);
    return [changed, end.rest];
  }

  /** @returns what to send, and the bytes that follow */
  #followResponseBody(body: BodyTracker, bytes: Buffer): readonly [Buffer, Buffer] {
    const end = this.#advance(body, bytes);
    if (end === undefined) return [bytes.subarray(bytes.length), bytes.subarray(bytes.length)];
    if (body.done) this.#responseBody = undefined;
    if (body.done && !this.#isOffering) this.#leaveResponses();
    return [bytes.subarray(0, end), bytes.subarray(end)];
  }

  /** The response to the offered upgrade is known. */
  #settle(isUpgraded: boolean): void {
    this.#isOffering = false;
    this.#isThrough = isUpgraded;
    if (this.#responseBody === undefined) this.#leaveResponses();
    const wasFull = this.#heldBytes > UPGRADE_EARLY_MAX_BYTES;
    this.#heldBytes = 0;
    for (const piece of this.#held.splice(0)) this.onStreamData(piece);
    if (wasFull && !this.#isPaused && this.#heldBytes <= UPGRADE_EARLY_MAX_BYTES) super.resume();
  }

  /** Nothing depends on the next responses, unless they are changed. */
  #leaveResponses(): void {
    if (!this.#changes.response.isEmpty) return;
    this.#responses = undefined;
    this.#methods.length = 0;
    this.#early = 0;
  }

  /** @returns how much of the bytes belongs to the body; `undefined` if the connection had to be broken */
  #advance(body: BodyTracker, bytes: Buffer): number | undefined {
    try {
      return body.advance(bytes, 0);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      this.#break(bytes);
      return undefined;
    }
  }

  /** The relay refuses it, by the same rules, and tells the owner why. */
  #passRefused(head: Buffer): Buffer {
    this.#isThrough = true;
    return head;
  }

  #break(bytes: Buffer): Buffer {
    this.#isThrough = true;
    this.#isOffering = false;
    this.#held = [];
    this.#heldBytes = 0;
    this.destroy();
    super.onStreamClose(CloseCode.abnormal);
    return bytes.subarray(bytes.length);
  }
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: ':80', https: ':443' };

/**
 * Finds the addresses of the tunnel in the fields of a request: an `Origin`, or the beginning of a `Referer`, that
 * equals the scheme and host that the visitor used (RFC 6454 section 5), and where WebDAV names its resources. They keep
 * their meaning when they are replaced together with `Host`: a request that comes from the same origin at the public
 * address still does, and one from another site still does not.
 *
 * The relay sets the forwarded fields, so a visitor cannot choose what counts as the tunnel's address. In the path form,
 * the tunnels of a relay share an origin, so a page there may be another tunnel's. A repeated field is ambiguous.
 *
 * @param local origin of the local service
 * @returns the new values of the fields that change; `undefined` if there are none
 */
export function localAddresses(
  fields: readonly Field[],
  local: string,
): ReadonlyMap<Field, string> | undefined {
  const found = fields.filter((field) => ADDRESSES.some((name) => field.is(name)));
  const site = found.length === 0 ? undefined : publicOrigin(fields);
  if (site === undefined) return undefined;
  const isShared = fields.some((field) => field.is('x-forwarded-prefix'));
  const changed = new Map<Field, string>();
  for (const field of found) {
    const { value } = field;
    const isPage = field.is('origin') || field.is('referer');
    if ((isPage && isShared) || onlyField(found, field.lower) === undefined) continue;
    const toLocal = (address: string): string => localAddress(address, site, local);
    const moved = field.is('origin')
      ? value === site
        ? local
        : value
      : field.is('if')
        ? mapTags(value, toLocal)
        : toLocal(value);
    if (moved !== value) changed.set(field, moved);
  }
  return changed.size === 0 ? undefined : changed;
}

/** The last two are WebDAV's (RFC 4918 sections 10.3 and 10.4): servers refuse what they take for another server. */
const ADDRESSES = ['origin', 'referer', 'destination', 'if'];

function localAddress(address: string, site: string, local: string): string {
  const rest = address.slice(site.length);
  // Any other character would continue the name or the port, or make a user name of it.
  return address.startsWith(site) && /^(?:[/?#]|$)/.test(rest) ? local + rest : address;
}

/** @returns the origin of the tunnel's pages for this visitor, as browsers write it (RFC 6454 section 6.2) */
function publicOrigin(fields: readonly Field[]): string | undefined {
  const host = onlyField(fields, 'x-forwarded-host')?.value.toLowerCase() ?? '';
  const scheme = onlyField(fields, 'x-forwarded-proto')?.value ?? '';
  const port = DEFAULT_PORTS[scheme];
  if (host === '' || port === undefined) return undefined;
  return `${scheme}://${host.endsWith(port) ? host.slice(0, -port.length) : host}`;
}

/** @returns `undefined` if there are several */
function onlyField(fields: readonly Field[], lower: string): Field | undefined {
  let found: Field | undefined;
  for (const field of fields) {
    if (!field.is(lower)) continue;
    if (found !== undefined) return undefined;
    found = field;
  }
  return found;
}
