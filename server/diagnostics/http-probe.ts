/** Requests of `culvert-relay doctor`, each on its own connection, with limits. */
import {
  type ClientRequest,
  type ClientRequestArgs,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as overPlain,
} from 'node:http';
import { request as overTls } from 'node:https';
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';

/** How long a check of `culvert-relay doctor` waits for a response. */
export const DIAGNOSIS_ANSWER_MS = 10_000;
/**
 * Maximum number of characters that a check of `culvert-relay doctor` reads from a response; the description of
 * the API has about 150,000.
 */
const DIAGNOSIS_ANSWER_MAX_BYTES = 1024 * 1024;

export interface Question {
  /** scheme, host and port */
  readonly to: URL;
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** of the request; none by default */
  readonly body?: string;
  /** called with the status of each informational response */
  readonly onInformation?: (status: number) => void;
  /** ms for the whole request; {@link DIAGNOSIS_ANSWER_MS} by default */
  readonly limitMs?: number;
  /** address to connect to instead of that of `to` */
  readonly address?: string;
  /** bytes to send first on the connection, before TLS too */
  readonly preamble?: string;
  /** Whether any certificate is accepted: on this machine, its trust is not what is checked. */
  readonly anyCertificate?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Sends a request. @throws Error if there is no complete answer in time */
export async function ask(question: Question): Promise<Answer> {
  return await send(question, (request, answer) => {
    request.on('response', (response) => void read(response).then(answer.resolve, answer.reject));
    request.end(question.body);
  });
}

/**
 * Sends a request, and reads the response piece by piece.
 *
 * @param onPiece called as each piece arrives
 * @returns the whole body
 * @throws Error if there is no complete response in time
 */
export async function askPieces(question: Question, onPiece: () => void): Promise<string> {
  return await send(question, (request, answer) => {
    request.on('response', (response) => {
      response.on('data', onPiece);
      void read(response).then(({ text }) => answer.resolve(text), answer.reject);
    });
    request.end();
  });
}

/**
 * Sends only the head of a request with a body.
 *
 * @param event the event to wait for: the head of a response, or the request to continue (100)
 * @throws Error if that does not arrive in time
 */
export async function askAhead(question: Question, event: 'response' | 'continue'): Promise<void> {
  await send<void>(question, (request, answer) => {
    request.on(event, () => answer.resolve());
    if (event === 'continue')
      request.on('response', ({ statusCode }) =>
        answer.reject(new Error(`status ${statusCode} immediately`)),
      );
    request.flushHeaders();
  });
}

async function send<T>(
  {
    to,
    method = 'GET',
    path,
    headers = {},
    address,
    preamble,
    anyCertificate = false,
    onInformation,
    limitMs = DIAGNOSIS_ANSWER_MS,
  }: Question,
  begin: (request: ClientRequest, answer: PromiseWithResolvers<T>) => void,
): Promise<T> {
  const host = to.hostname.replace(/^\[|\]$/g, '');
  const options = {
    method,
    path,
    host: address ?? host,
    port: to.port === '' ? undefined : to.port,
    headers: { host: to.host, ...headers },
    // Node asks its agent for a connection even if there is another way to get one.
    ...(preamble === undefined
      ? { agent: false }
      : { createConnection: connectionAfter(preamble, to.protocol) }),
    signal: AbortSignal.timeout(limitMs),
  } as const;
  const answer = Promise.withResolvers<T>();
  const servername = /^[\d.]+$|:/.test(host) ? '' : host;
  const request =
    to.protocol === 'https:'
      ? overTls({ ...options, servername, rejectUnauthorized: !anyCertificate })
      : overPlain(options);
  request.on('error', (error) => answer.reject(inWords(error, limitMs)));
  request.on('information', ({ statusCode }) => onInformation?.(statusCode));
  // A response that a handler ignores, and an unexpected upgrade, end with the request.
  request.on('upgrade', (_response, socket) => {
    socket.destroy();
    answer.reject(new Error('the connection was upgraded'));
  });
  try {
    begin(request, answer);
    return await answer.promise;
  } finally {
    request.destroy();
  }
}

function connectionAfter(preamble: string, protocol: string) {
  return (options: ClientRequestArgs): Socket => {
    const socket = connect({ host: options.host ?? '', port: Number(options.port) });
    socket.write(preamble);
    return protocol === 'https:' ? connectTls({ ...(options as ConnectionOptions), socket }) : socket;
  };
}

async function read(response: IncomingMessage): Promise<Answer> {
  let text = '';
  response.setEncoding('utf8');
  for await (const piece of response) {
    text += String(piece);
    if (text.length > DIAGNOSIS_ANSWER_MAX_BYTES) throw new Error('the response is too long');
  }
  return { status: response.statusCode ?? 0, headers: response.headers, text };
}

function inWords(error: Error, limitMs: number): Error {
  const code = 'code' in error ? error.code : undefined;
  if (error.name === 'AbortError' || code === 'ABORT_ERR')
    return new Error(`no response within ${limitMs / 1000} s`);
  if (code === 'ECONNREFUSED') return new Error('nothing is listening there');
  return error;
}
