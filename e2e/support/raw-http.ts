import { connect, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions, TLSSocket } from 'node:tls';
import { within } from './deadline.ts';
import { Scope } from './scope.ts';

export type Field = readonly [name: string, value: string];

/** Asks for a WebSocket (RFC 6455 section 4.1). */
export const WEBSOCKET: readonly Field[] = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
];

/** A response head exactly as received. */
export class ResponseHead {
  readonly version: string;
  readonly status: number;
  readonly reason: string;
  /** Fields in their order and case, including duplicates. */
  readonly fields: readonly Field[];

  constructor(bytes: Buffer) {
    const [start = '', ...lines] = bytes.toString('latin1').slice(0, -4).split('\r\n');
    const [, version = '', status = '', reason = ''] = /^(HTTP\/\d\.\d) (\d{3}) ?(.*)$/.exec(start) ?? [];
    if (version === '') throw new Error(`not a status line: ${JSON.stringify(start)}`);
    this.version = version;
    this.status = Number(status);
    this.reason = reason;
    this.fields = lines.map(readField);
  }

  /** Every value of a field, whatever the case of its name. */
  all(name: string): string[] {
    return this.fields.filter(([key]) => key.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
  }

  /** The values of a field as one list, or `undefined` without any. */
  field(name: string): string | undefined {
    const values = this.all(name);
    return values.length > 0 ? values.join(', ') : undefined;
  }
}

function readField(line: string): Field {
  const [, name, value] = /^([^:\s]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new Error(`not a field: ${JSON.stringify(line)}`);
  return [name, value];
}

/** A complete response. */
export interface Response {
  readonly head: ResponseHead;
  readonly status: number;
  readonly body: Buffer;
  /** The body as UTF-8 text. */
  readonly text: string;
  /** Fields after a chunked body. */
  readonly trailers: readonly Field[];
}

/** The parts of a request made by {@link formatRequest}. */
export interface Request {
  readonly method?: string;
  readonly target?: string;
  /** `Host` field; left out when empty. */
  readonly host: string;
  readonly version?: string;
  readonly headers?: readonly Field[];
  /** Sent with `Content-Length`. */
  readonly body?: string | Buffer;
}

/** The bytes of a request. */
export function formatRequest(request: Request): Buffer {
  const { method = 'GET', target = '/', host, version = 'HTTP/1.1', headers = [], body } = request;
  const fields: Field[] = host === '' ? [...headers] : [['Host', host], ...headers];
  const content = body === undefined ? Buffer.alloc(0) : Buffer.from(body);
  if (body !== undefined) fields.push(['Content-Length', String(content.length)]);
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.concat([Buffer.from(`${method} ${target} ${version}\r\n${lines}\r\n`, 'latin1'), content]);
}

/** A visitor's connection: it writes bytes as given and reads responses strictly (RFC 9112). */
export class RawConnection {
  readonly socket: Socket;
  readonly reader: SocketReader;
  /** How the other end closed the connection. */
  readonly ending: Promise<Ending>;
  #trailers: readonly Field[] = [];

  private constructor(socket: Socket, timeoutMs: number | undefined) {
    this.socket = socket;
    this.reader = new SocketReader(socket, timeoutMs);
    this.ending = this.reader.ending;
  }

  /**
   * Connects to a port of this machine; destroyed with the scope.
   *
   * @param timeoutMs longest wait for the next bytes, in ms
   * @param localAddress the source address
   * @param host another address of this machine
   */
  static async open(
    scope: Scope,
    port: number,
    timeoutMs?: number,
    localAddress = '127.0.0.1',
    host = '127.0.0.1',
  ): Promise<RawConnection> {
    return await RawConnection.#opened(scope, connect({ port, host, localAddress }), timeoutMs);
  }

  /** Connects with TLS, to this machine by default; destroyed with the scope. */
  static async openTls(scope: Scope, options: ConnectionOptions, timeoutMs?: number): Promise<RawConnection> {
    return await RawConnection.#opened(scope, connectTls({ host: '127.0.0.1', ...options }), timeoutMs);
  }

  static async #opened(scope: Scope, socket: Socket, timeoutMs?: number): Promise<RawConnection> {
    scope.defer(() => socket.destroy());
    const connection = new RawConnection(socket.setNoDelay(), timeoutMs);
    const connected = Promise.withResolvers<void>();
    socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', connected.resolve);
    socket.once('error', connected.reject);
    await within(60_000, 'connection', connected.promise);
    socket.off('error', connected.reject);
    return connection;
  }

  /** Uses a connected socket, which the caller closes. */
  static over(socket: Socket, timeoutMs?: number): RawConnection {
    return new RawConnection(socket, timeoutMs);
  }

  /** Writes bytes; settles when more may be written. */
  async write(bytes: string | Buffer): Promise<void> {
    const content = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    if (this.socket.write(content) || this.socket.destroyed) return;
    const drained = Promise.withResolvers<void>();
    const settle = (): void => drained.resolve();
    this.socket.once('drain', settle).once('close', settle);
    await within(30_000, 'room to write', drained.promise);
    this.socket.off('drain', settle).off('close', settle);
  }

  /** Writes a request and reads its final response. */
  async request(request: Request): Promise<Response> {
    await this.write(formatRequest(request));
    return await this.response(request.method);
  }

  /** Half-closes: nothing more is written, responses are still read. */
  halfClose(): void {
    this.socket.end();
  }

  /** Leaves with a reset. */
  reset(): void {
    this.socket.resetAndDestroy();
  }

  /** Reads one response head, including informational ones (1xx). */
  async head(): Promise<ResponseHead> {
    return new ResponseHead(await this.reader.through('\r\n\r\n'));
  }

  /** Reads heads up to the final one. A 101 is final. */
  async finalHead(): Promise<ResponseHead> {
    for (;;) {
      const head = await this.head();
      if (head.status >= 200 || head.status === 101) return head;
    }
  }

  /**
   * Reads one whole response, skipping informational ones.
   *
   * @param method of its request, which determines whether there is a body
   */
  async response(method = 'GET'): Promise<Response> {
    return await this.rest(await this.finalHead(), method);
  }

  /** Reads the rest of a response whose head was read. Throws like {@link body}. */
  async rest(head: ResponseHead, method = 'GET'): Promise<Response> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.body(head, method)) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    return { head, status: head.status, body, text: body.toString(), trailers: this.#trailers };
  }

  /**
   * The body that follows a head (RFC 9112 section 6.3), as it arrives.
   *
   * @throws Error when the connection ends before the body does; a body delimited by the close is incomplete after a
   * reset
   */
  async *body(head: ResponseHead, method = 'GET'): AsyncGenerator<Buffer> {
    this.#trailers = [];
    if (method === 'HEAD' || head.status < 200 || head.status === 204 || head.status === 304) return;
    const coding = head.field('transfer-encoding');
    const length = head.field('content-length');
    if (coding !== undefined) {
      if (coding.toLowerCase() !== 'chunked') throw new Error(`transfer coding ${coding}`);
      yield* this.#chunkedBody();
    } else if (length !== undefined) {
      if (!/^\d+$/.test(length)) throw new Error(`content length ${length}`);
      yield* this.#exactBody(Number(length));
    } else {
      yield* this.#bodyUntilClose();
    }
  }

  async *#exactBody(length: number): AsyncGenerator<Buffer> {
    let missing = length;
    while (missing > 0) {
      const available = Math.min(missing, Math.max(1, this.reader.buffered));
      const chunk = await this.reader.exactly(available);
      missing -= chunk.length;
      yield chunk;
    }
  }

  async *#chunkedBody(): AsyncGenerator<Buffer> {
    for (;;) {
      const line = (await this.reader.through('\r\n')).toString('latin1');
      const size = /^([0-9a-f]+)(?:;.*)?\r\n$/i.exec(line)?.[1];
      if (size === undefined) throw new Error(`chunk size ${JSON.stringify(line)}`);
      if (Number.parseInt(size, 16) === 0) break;
      yield* this.#exactBody(Number.parseInt(size, 16));
      const end = (await this.reader.exactly(2)).toString('latin1');
      if (end !== '\r\n') throw new Error(`chunk ends with ${JSON.stringify(end)}`);
    }
    const trailers: Field[] = [];
    for (;;) {
      const line = (await this.reader.through('\r\n')).toString('latin1');
      if (line === '\r\n') break;
      trailers.push(readField(line.slice(0, -2)));
    }
    this.#trailers = trailers;
  }

  async *#bodyUntilClose(): AsyncGenerator<Buffer> {
    for (let chunk = await this.reader.some(); chunk !== undefined; chunk = await this.reader.some())
      yield chunk;
    const ending = await this.ending;
    if (ending !== 'end') throw new Error(`the body ended by ${ending}`);
  }
}

/**
 * Makes one request on a new connection, and closes it.
 *
 * @param to a port of this machine, or where to connect with TLS, by default with the host of the request
 */
export async function visit(to: number | ConnectionOptions, request: Request): Promise<Response> {
  const scope = new Scope();
  try {
    const connection =
      typeof to === 'number'
        ? await RawConnection.open(scope, to)
        : await RawConnection.openTls(scope, { servername: request.host, ...to });
    return await connection.request(request);
  } finally {
    await scope.end();
  }
}

/**
 * How the other end closed the connection: `end` for FIN, `reset` for RST or another failure, `destroyed` if this end
 * closed it.
 */
type Ending = 'end' | 'reset' | 'destroyed';

const HIGH_WATER_BYTES = 1024 * 1024;

/** Reads a socket by pulling, and pauses it in between. Every read has a deadline. */
export class SocketReader {
  /** Settles when the other end has finished, even if not everything was read. */
  readonly ending: Promise<Ending>;
  readonly #socket: Socket;
  readonly #timeoutMs: number;
  #chunks: Buffer[] = [];
  #size = 0;
  #ended = false;
  #wake: (() => void) | undefined;

  /** @param timeoutMs longest wait for the next bytes, in ms */
  constructor(socket: Socket, timeoutMs = 60_000) {
    this.#socket = socket;
    this.#timeoutMs = timeoutMs;
    const ending = Promise.withResolvers<Ending>();
    this.ending = ending.promise;
    const finish = (how: Ending): void => {
      this.#ended = true;
      ending.resolve(how);
      this.#wake?.();
    };
    socket.on('data', this.#onData);
    socket.once('end', () => finish('end'));
    socket.once('error', () => finish('reset'));
    socket.once('close', () => finish('destroyed'));
  }

  /** Bytes received and not yet read. */
  get buffered(): number {
    return this.#size;
  }

  /** The next bytes, however many; `undefined` at the end of the stream. */
  async some(): Promise<Buffer | undefined> {
    if (this.#size === 0 && !(await this.#more())) return undefined;
    const chunk = this.#chunks.shift();
    this.#size -= chunk?.length ?? 0;
    return chunk;
  }

  /** @throws Error when the stream ends before `length` bytes */
  async exactly(length: number): Promise<Buffer> {
    while (this.#size < length) {
      if (!(await this.#more())) throw new Error(`the stream ended ${length - this.#size} bytes early`);
    }
    return this.#take(length);
  }

  /**
   * Reads up to and including a delimiter.
   *
   * @throws Error when the stream ends before it
   */
  async through(delimiter: string): Promise<Buffer> {
    for (;;) {
      const all = Buffer.concat(this.#chunks);
      this.#chunks = [all];
      const at = all.indexOf(delimiter);
      if (at >= 0) return this.#take(at + delimiter.length);
      if (!(await this.#more()))
        throw new Error(`the stream ended within ${JSON.stringify(all.toString('latin1'))}`);
    }
  }

  /** Everything up to the end of the stream. */
  async rest(): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for (let chunk = await this.some(); chunk !== undefined; chunk = await this.some()) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /** Stops reading and returns the unread bytes, so that another reader can take over the socket. */
  detach(): Buffer {
    this.#socket.off('data', this.#onData);
    this.#socket.pause();
    return this.#take(this.#size);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size > HIGH_WATER_BYTES) this.#socket.pause();
    this.#wake?.();
  };

  /** Waits for more bytes; false at the end of the stream. */
  async #more(): Promise<boolean> {
    if (this.#ended) return false;
    const before = this.#size;
    const arrived = Promise.withResolvers<void>();
    this.#wake = arrived.resolve;
    this.#socket.resume();
    await within(this.#timeoutMs, 'bytes', arrived.promise);
    return this.#size > before;
  }

  #take(length: number): Buffer {
    const all =
      this.#chunks.length === 1 ? (this.#chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#chunks);
    const rest = all.subarray(length);
    this.#chunks = rest.length > 0 ? [rest] : [];
    this.#size = rest.length;
    return all.subarray(0, length);
  }
}
