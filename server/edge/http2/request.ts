/** The head of an HTTP/2 request as one of HTTP/1.1, which the parser of all requests then reads (RFC 9113 section 8.3.1). */
import { randomBytes } from 'node:crypto';
import { REQUEST_FIELDS_MAX, REQUEST_HEAD_MAX_BYTES } from '../request-head.ts';
import { isHost, namesHost } from '../route.ts';
import type { FieldKind, HeaderField } from './hpack.ts';
import { PRIORITY_MAX_LENGTH, urgencyOf } from './priority.ts';

const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TARGET = /^[!-~\x80-\xff]+$/;
/** Plain digits that every parser reads as the same number. */
const LENGTH = /^\d{1,15}$/;

export interface WrittenHead {
  readonly bytes: Buffer;
  /** How the body follows: not at all, as it is, or chunked; `websocket`: as it is, but not as a part of the request. */
  readonly body: 'none' | 'length' | 'chunked' | 'websocket';
  /** bytes of a body whose length was announced */
  readonly length: number;
  /** how soon the visitor wants the response: from 0, which comes first, to 7 */
  readonly urgency: number;
}

/** Collects the fields of a request. What is beyond the limits of a head is not kept. */
export class RequestFields {
  #method: string | undefined;
  #scheme: string | undefined;
  #authority: string | undefined;
  #path: string | undefined;
  #protocol: string | undefined;
  #hasKey = false;
  #host: string | undefined;
  #length: string | undefined;
  #accept = '';
  #priority = '';
  #lines = '';
  readonly #cookies: string[] = [];
  #count = 0;
  #isMalformed = false;

  readonly add = (field: HeaderField): void => {
    if (field.kind === 'plain') {
      this.#addLine(field.line);
      return;
    }
    const { kind, value } = field;
    if (field.name.startsWith(':') && kind !== 'malformed') return this.#setPseudo(kind, value);
    this.#count += 1;
    if (kind === 'malformed') this.#isMalformed = true;
    else if (kind === 'host') this.#host = this.#once(this.#host, value);
    else if (kind === 'cookie') this.#addCookie(value);
    else {
      if (kind === 'accept') this.#accept ||= value;
      else if (kind === 'priority') this.#addPriority(value);
      else if (kind === 'websocket-key') this.#hasKey = true;
      else this.#length ??= value;
      this.#count -= 1;
      this.#addLine(field.line);
    }
  };

  #addLine(line: string): void {
    this.#count += 1;
    // One more than the limit, so that the parser refuses the head.
    if (this.#count <= REQUEST_FIELDS_MAX + 1 && this.#lines.length <= REQUEST_HEAD_MAX_BYTES)
      this.#lines += line;
  }

  /** Several lines are one list. */
  #addPriority(value: string): void {
    if (this.#priority.length <= PRIORITY_MAX_LENGTH) this.#priority += `,${value}`;
  }

  #addCookie(value: string): void {
    if (this.#cookies.length <= REQUEST_FIELDS_MAX) this.#cookies.push(value);
  }

  #once(before: string | undefined, value: string): string {
    if (before !== undefined) this.#isMalformed = true;
    return value;
  }

  #setPseudo(kind: FieldKind, value: string): void {
    // They come first (RFC 9113 section 8.3).
    if (this.#count > 0) this.#isMalformed = true;
    if (kind === 'method') this.#method = this.#once(this.#method, value);
    else if (kind === 'scheme') this.#scheme = this.#once(this.#scheme, value);
    else if (kind === 'authority') this.#authority = this.#once(this.#authority, value);
    else if (kind === 'protocol') this.#protocol = this.#once(this.#protocol, value);
    else this.#path = this.#once(this.#path, value);
  }

  /**
   * @param isComplete whether the message ends with its head
   * @returns a head that the parser of HTTP/1.1 refuses, if the message is malformed
   */
  write(isComplete: boolean): WrittenHead {
    const host = this.#isMalformed ? undefined : this.#namedHost();
    const method = this.#method ?? '';
    const target = this.#target();
    if (host === undefined || target === undefined || !METHOD.test(method)) return this.#refusable();
    if (this.#protocol !== undefined) return this.#writeWebSocket(host, target, isComplete);
    const body = this.#length !== undefined ? 'length' : isComplete ? 'none' : 'chunked';
    const coding = body === 'chunked' ? 'Transfer-Encoding: chunked\r\n' : '';
    // The stream ends with the response; in HTTP/1.1, this field announces that.
    const head = this.#head(method, target, host, `${coding}Connection: close`);
    const length = LENGTH.test(this.#length ?? '') ? Number(this.#length) : 0;
    return {
      bytes: head,
      body,
      length,
      urgency: urgencyOf(this.#priority),
    };
  }

  /**
   * A WebSocket (RFC 8441). The key of its handshake has no equivalent in HTTP/2, and should the service refuse the
   * WebSocket, nothing that follows is another request.
   */
  #writeWebSocket(host: string, target: string, isComplete: boolean): WrittenHead {
    const isPossible = this.#method === 'CONNECT' && this.#protocol === 'websocket' && !isComplete;
    if (!isPossible || this.#length !== undefined || this.#hasKey) return this.#refusable();
    const key = randomBytes(16).toString('base64');
    const more = `Upgrade: websocket\r\nSec-WebSocket-Key: ${key}\r\nConnection: Upgrade, close`;
    const bytes = this.#head('GET', target, host, more);
    return { bytes, body: 'websocket', length: 0, urgency: urgencyOf(this.#priority) };
  }

  #head(method: string, target: string, host: string, more: string): Buffer {
    const lines = this.#lines + this.#cookieLines() + more;
    const head = `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n${lines}\r\n\r\n`;
    // A few bytes of a visitor can name large fields, so of a head that the parser refuses for its size no more is kept.
    return Buffer.from(head.slice(0, REQUEST_HEAD_MAX_BYTES + 1), 'latin1');
  }

  #namedHost(): string | undefined {
    const named = this.#authority ?? this.#host;
    if (named === undefined || !isHost(named)) return undefined;
    return this.#host !== undefined && !namesHost(named, 'https', this.#host) ? undefined : named;
  }

  #target(): string | undefined {
    const path = this.#path;
    if (this.#scheme !== 'https' || path === undefined || !TARGET.test(path)) return undefined;
    return path.startsWith('/') || path === '*' ? path : undefined;
  }

  /**
   * A cookie may be split into several fields, which HTTP/1.1 has as one (RFC 9113 section 8.2.3). Each counts as a
   * field though, so if there are too many, the parser gets to see all of them.
   */
  #cookieLines(): string {
    if (this.#cookies.length === 0) return '';
    const values = this.#count > REQUEST_FIELDS_MAX ? this.#cookies : [this.#cookies.join('; ')];
    return values.map((value) => `cookie: ${value}\r\n`).join('');
  }

  /** A head with a malformed first line, and the field that decides on the form of the response. */
  #refusable(): WrittenHead {
    const accept = this.#accept.replaceAll(/[^ -~]/g, '').slice(0, REQUEST_HEAD_MAX_BYTES / 2);
    const bytes = Buffer.from(`HTTP/2\r\nAccept: ${accept}\r\n\r\n`, 'latin1');
    return { bytes, body: 'none', length: 0, urgency: urgencyOf('') };
  }
}

/** Collects the trailers of a request, and writes them as the end of a chunked body. */
export class TrailerFields {
  #lines = '';
  #isMalformed = false;

  readonly add = ({ line }: HeaderField): void => {
    if (line === '') this.#isMalformed = true;
    else if (this.#lines.length <= REQUEST_HEAD_MAX_BYTES) this.#lines += line;
  };

  /** @returns `undefined` for malformed fields: no pseudo-field is allowed */
  write(): Buffer | undefined {
    return this.#isMalformed ? undefined : Buffer.from(`0\r\n${this.#lines}\r\n`, 'latin1');
  }
}
