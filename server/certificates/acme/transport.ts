/** HTTPS to an authority, with limits for everything it may send and for how long. */
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import type { Clock } from '../../clock.ts';
import { ACME_ANSWER_MAX_BYTES, ACME_REQUEST_TIMEOUT_MS, ACME_RETRY_AFTER_MAX_MS } from '../../limits.ts';
import { AuthorityError } from './problem.ts';

export interface Answer {
  readonly status: number;
  /** names in lower case */
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  /** ms; `undefined` if it says nothing */
  readonly retryAfterMs: number | undefined;
}

export interface Transport {
  /**
   * @param body of a POST; a GET without one, or what `method` says
   * @throws AuthorityError
   */
  send(url: string, body?: string, method?: 'HEAD'): Promise<Answer>;
  /** Cuts everything; whatever is sent from now on fails. */
  close(): void;
}

/**
 * @param ca certificates of authorities that are trusted in place of those of the system, in PEM
 * @param userAgent RFC 8555 section 6.1
 */
export function httpsTransport(
  ca: readonly string[] | undefined,
  userAgent: string,
  clock: Clock,
): Transport {
  const agent = new Agent({ keepAlive: true, maxSockets: 8, maxFreeSockets: 2 });
  const trusted = ca && { ca: [...ca] };
  const closing = new AbortController();
  return {
    async send(url, body, method) {
      const headers = {
        'user-agent': userAgent,
        'accept-language': 'en',
        ...(body !== undefined && { 'content-type': 'application/jose+json' }),
      };
      const options = { agent, headers, ...trusted, method: method ?? (body === undefined ? 'GET' : 'POST') };
      const late = new AbortController();
      const timer = clock.setTimeout(() => late.abort(), ACME_REQUEST_TIMEOUT_MS);
      const signal = AbortSignal.any([late.signal, closing.signal]);
      try {
        return await answerTo(url, { ...options, signal }, body, () => clock.now());
      } catch (error) {
        if (error instanceof AuthorityError) throw error;
        const cause = late.signal.aborted
          ? new Error(`no answer within ${ACME_REQUEST_TIMEOUT_MS} ms`)
          : error;
        throw new AuthorityError('the authority cannot be reached', undefined, cause);
      } finally {
        timer.cancel();
      }
    },
    close() {
      closing.abort();
      agent.destroy();
    },
  };
}

function answerTo(
  url: string,
  options: Parameters<typeof request>[1],
  body: string | undefined,
  now: () => number,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, options);
    sent.on('error', reject);
    sent.on('response', (response) => {
      const parts: Buffer[] = [];
      let length = 0;
      response.on('error', reject);
      response.on('data', (part: Buffer) => {
        length += part.length;
        if (length > ACME_ANSWER_MAX_BYTES)
          sent.destroy(new AuthorityError(`the authority sent more than ${ACME_ANSWER_MAX_BYTES} bytes`));
        else parts.push(part);
      });
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(parts),
          retryAfterMs: retryAfter(response.headers['retry-after'], now()),
        }),
      );
    });
    sent.end(body);
  });
}

/** RFC 9110 section 10.2.3: seconds, or a date; at most {@link ACME_RETRY_AFTER_MAX_MS}. */
export function retryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), ACME_RETRY_AFTER_MAX_MS);
}
