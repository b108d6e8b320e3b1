/** HTTP/2 visitors: one with Node's client, and one that writes its own frames, well-formed or not (RFC 9113). */
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { connect, type TLSSocket } from 'node:tls';
import { within } from './deadline.ts';
import type { Scope } from './scope.ts';

export type Http2Response = Awaited<ReturnType<typeof request>>;

export interface Http2Target {
  readonly port: number;
  /** of the certificate, PEM */
  readonly ca: Buffer | string;
  /** the host that the visitor names in its handshake */
  readonly servername: string;
  /** the source address */
  readonly localAddress?: string;
}

/** Opens a connection with Node's client. */
export async function openHttp2(
  scope: Scope,
  { port, ca, servername, localAddress }: Http2Target,
): Promise<ClientHttp2Session> {
  const session = connectHttp2(`https://${servername}:${port}`, {
    ca,
    servername,
    ...(localAddress !== undefined && { localAddress }),
    lookup,
    maxSessionMemory: 100,
  } as never);
  session.on('error', () => {});
  scope.defer(() => session.destroy());
  await within(20_000, 'connection', once(session, 'connect'));
  return session;
}

function lookup(_host: string, options: { all?: boolean }, done: (...values: unknown[]) => void): void {
  if (options.all === true) done(null, [{ address: '127.0.0.1', family: 4 }]);
  else done(null, '127.0.0.1', 4);
}

/** Makes a request and reads its response. Rejects if the stream ends with an error. */
export async function request(
  session: ClientHttp2Session,
  headers: Record<string, string | string[]>,
  body?: Buffer | string,
) {
  const stream = session.request(headers, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  let trailers: IncomingHttpHeaders | undefined;
  stream.once('trailers', (fields: IncomingHttpHeaders) => (trailers = fields));
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  const ended = once(stream, 'end');
  ended.catch(() => {});
  const [head] = (await within(30_000, 'response', once(stream, 'response'))) as [IncomingHttpHeaders];
  await within(60_000, 'end of the response', ended);
  return {
    status: Number(head[':status']),
    headers: head,
    text: Buffer.concat(chunks).toString(),
    trailers,
  };
}

export const FRAMES = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const END_STREAM = 1;
export const END_HEADERS = 4;

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

/** Encodes fields as literals without Huffman coding (RFC 7541 section 6.2.2). */
export function block(fields: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const length: number[] = [127];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest >>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}

export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** What has arrived for a stream. */
export interface StreamResult {
  /** of its final response */
  status: number | undefined;
  /** whether its response was complete */
  ended: boolean;
  /** the code of RST_STREAM */
  reset: number | undefined;
  body: string;
}

/** A connection that writes frames as it is told. */
export class FrameConnection {
  readonly socket: TLSSocket;
  readonly streams = new Map<number, StreamResult>();
  /** the code of GOAWAY */
  goaway: number | undefined;
  closed = false;
  #input = Buffer.alloc(0);
  #waiters: (() => void)[] = [];

  private constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.on('data', (bytes: Buffer) => this.#receive(bytes));
    socket.on('error', () => {});
    socket.once('close', () => {
      this.closed = true;
      this.#changed();
    });
  }

  static async open(scope: Scope, { port, ca, servername }: Http2Target): Promise<FrameConnection> {
    const socket = connect({ host: '127.0.0.1', port, servername, ca, ALPNProtocols: ['h2'] });
    scope.defer(() => socket.destroy());
    const connection = new FrameConnection(socket);
    await within(20_000, 'handshake', once(socket, 'secureConnect'));
    connection.write(Buffer.from(PREFACE), frame(FRAMES.settings, 0, 0));
    return connection;
  }

  write(...frames: readonly Buffer[]): void {
    if (!this.socket.destroyed) this.socket.write(Buffer.concat(frames));
  }

  /** Waits until the stream, or the connection, has an end. */
  async outcome(stream: number): Promise<StreamResult | 'goaway' | 'closed'> {
    for (;;) {
      const result = this.streams.get(stream);
      if (result?.reset !== undefined || result?.ended === true) return result;
      if (this.goaway !== undefined) return 'goaway';
      if (this.closed) return 'closed';
      await this.change();
    }
  }

  /** Waits until something has arrived. */
  async change(): Promise<void> {
    await within(30_000, 'a frame', new Promise<void>((resolve) => this.#waiters.push(resolve)));
  }

  #changed(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const resolve of waiters) resolve();
  }

  #receive(bytes: Buffer): void {
    this.#input = Buffer.concat([this.#input, bytes]);
    while (this.#input.length >= 9) {
      const end = 9 + this.#input.readUIntBE(0, 3);
      if (this.#input.length < end) break;
      const [type = 0, flags = 0] = this.#input.subarray(3, 5);
      this.#onFrame(type, flags, this.#input.readUInt32BE(5), this.#input.subarray(9, end));
      this.#input = this.#input.subarray(end);
    }
    this.#changed();
  }

  #onFrame(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === FRAMES.goaway) this.goaway = payload.readUInt32BE(4);
    if (type === FRAMES.settings && (flags & 1) === 0) this.write(frame(FRAMES.settings, 1, 0));
    if (stream === 0) return;
    const result = this.streams.get(stream) ?? {
      status: undefined,
      ended: false,
      reset: undefined,
      body: '',
    };
    this.streams.set(stream, result);
    if (type === FRAMES.headers) result.status ??= finalStatus(payload);
    if (type === FRAMES.data) result.body += payload.toString('latin1');
    if (type === FRAMES.reset) result.reset = payload.readUInt32BE(0);
    if (type === FRAMES.headers || type === FRAMES.data) result.ended ||= (flags & END_STREAM) !== 0;
  }
}

/** The static table's entries for `:status`, from index 8 (RFC 7541 appendix A). */
const STATUSES = [200, 204, 206, 304, 400, 404, 500];
const DIGITS = '0123456789';

/** Reads the status that begins a response's header block; `undefined` for an informational one. */
function finalStatus(payload: Buffer): number | undefined {
  const [first = 0, length = 0] = payload;
  const known = (first & 0x80) === 0 ? undefined : STATUSES[(first & 0x7f) - 8];
  if (known !== undefined) return known;
  const value = payload.subarray(2, 2 + (length & 0x7f));
  const status = Number((length & 0x80) === 0 ? value.toString('latin1') : huffmanDigits(value));
  return status < 200 ? undefined : status;
}

/** Decodes three digits (RFC 7541 appendix B: 0 to 2 have five bits, 3 to 9 six). */
function huffmanDigits(bytes: Buffer): string {
  let bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  let digits = '';
  while (digits.length < 3) {
    const short = Number.parseInt(bits.slice(0, 5), 2);
    const isShort = short < 3;
    digits += DIGITS[isShort ? short : Number.parseInt(bits.slice(0, 6), 2) - 25 + 3] ?? '?';
    bits = bits.slice(isShort ? 5 : 6);
  }
  return digits;
}
