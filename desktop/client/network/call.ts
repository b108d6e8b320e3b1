/** One HTTP request to a relay and its response. */
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { MessageError, toMessage } from '../messages.ts';
import type { Endpoint, Network } from './network.ts';

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** bytes of the largest response accepted */
  readonly maxBytes: number;
  /** ms for everything: name look-up, connection, TLS, response */
  readonly timeoutMs: number;
}

export interface CallResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** @throws the errors of the network, a `TimeoutError`, or an Error for a response that is too large */
export async function call(network: Network, relay: Endpoint, wanted: Call): Promise<CallResponse> {
  const signal = AbortSignal.timeout(wanted.timeoutMs);
  const socket = await connect(network, relay, signal);
  try {
    const response = await send(socket, relay, wanted, signal);
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      text: await readBody(response, wanted.maxBytes),
    };
  } finally {
    socket.destroy();
  }
}

function connect(network: Network, relay: Endpoint, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      attempt.cancel();
      reject(signal.reason as Error);
    };
    const settle =
      <T>(outcome: (value: T) => void) =>
      (value: T): void => {
        signal.removeEventListener('abort', onAbort);
        outcome(value);
      };
    const attempt = network.connect(relay, {}, { connected: settle(resolve), failed: settle(reject) });
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

function send(
  socket: Socket,
  relay: Endpoint,
  { method, path, headers, body }: Call,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request({
      createConnection: () => socket,
      method,
      path,
      headers: { host: relay.host, ...headers },
      signal,
    });
    sent.once('response', resolve);
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Reads a body of bounded size; the request's own deadline covers it. */
async function readBody(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new MessageError(toMessage('network.tooLarge'));
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
