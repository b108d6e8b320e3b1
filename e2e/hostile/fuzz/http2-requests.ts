/** Mutated requests over HTTP/2: fields and frames, well-formed at first and then damaged (RFC 9113). */
import { setTimeout as delay } from 'node:timers/promises';
import {
  block,
  END_HEADERS,
  END_STREAM,
  frame,
  FrameConnection,
  FRAMES,
  type Http2Target,
} from '../../support/http2.ts';
import type { Random } from '../../support/random.ts';
import { Scope } from '../../support/scope.ts';

/** ms without a frame after which a stream without an end is given up: its request was left incomplete. */
const QUIET_MS = 200;

export type Field = readonly [name: string, value: string];
type Texts = readonly [string, ...string[]];

interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** Insertions that the HTTP/1.1 request behind the relay could be split or reframed by. */
const INSERTIONS: Texts = [
  '\r',
  '\n',
  '\r\n',
  '\r\n\r\n',
  '\r\nTransfer-Encoding: chunked',
  '\r\nContent-Length: 60',
  '\nHost: other',
  ' HTTP/1.1\r\nX: y',
  '\0',
  ' ',
  '\t',
  ':',
  ',',
  '#',
  '?',
  '\x7f',
  '\x85',
  '\xff',
  'A',
];
const FIELDS: readonly [Field, ...Field[]] = [
  ['content-length', '0'],
  ['content-length', '5'],
  ['content-length', '+5'],
  ['content-length', '5, 5'],
  ['content-length', '0x5'],
  ['content-length', '18446744073709551617'],
  ['transfer-encoding', 'chunked'],
  ['transfer-encoding', 'trailers'],
  ['connection', 'close'],
  ['connection', 'content-length'],
  ['keep-alive', '5'],
  ['proxy-connection', 'keep-alive'],
  ['upgrade', 'websocket'],
  ['upgrade', 'h2c'],
  ['expect', '100-continue'],
  ['te', 'trailers'],
  ['te', 'gzip'],
  ['trailer', 'content-length'],
  ['host', 'other'],
  ['host', 'localhost'],
  ['cookie', 'a=b'],
  ['Content-Length', '5'],
  [' transfer-encoding', 'chunked'],
  ['transfer-encoding\r\nx', 'chunked'],
  ['', 'nameless'],
  [':path', '/smuggled'],
  [':method', 'CONNECT'],
  [':protocol', 'websocket'],
  [':scheme', 'http'],
  [':status', '200'],
  [':authority', 'localhost'],
];
const DATA: Texts = [
  '',
  'hello',
  '0\r\n\r\n',
  '5\r\nhello\r\n0\r\n\r\n',
  'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n',
];

/** One request before it is damaged: its fields, its body in pieces, and its trailers. */
interface Message {
  readonly fields: readonly Field[];
  readonly body: readonly string[];
  readonly trailers: readonly Field[];
}

function messages(host: string): readonly [Message, ...Message[]] {
  const head = (method: string, path: string): Field[] => [
    [':method', method],
    [':scheme', 'https'],
    [':authority', host],
    [':path', path],
  ];
  const smuggled = `GET /smuggled HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  const length = ['content-length', String(smuggled.length)] as const;
  return [
    { fields: head('GET', '/a'), body: [], trailers: [] },
    { fields: [...head('GET', '/a?b'), ['cookie', 'a=1'], ['cookie', 'b=2']], body: [], trailers: [] },
    { fields: head('HEAD', '/a'), body: [], trailers: [] },
    { fields: head('POST', '/b'), body: ['hello'], trailers: [] },
    { fields: [...head('POST', '/b'), ['content-length', '5']], body: ['he', 'llo'], trailers: [] },
    { fields: [...head('POST', '/b'), length], body: [smuggled], trailers: [] },
    { fields: head('POST', '/b'), body: [smuggled, smuggled], trailers: [] },
    { fields: [...head('POST', '/b'), ['te', 'trailers']], body: ['hello'], trailers: [['x', 'y']] },
    { fields: [...head('PUT', '/c'), ['expect', '100-continue']], body: [smuggled], trailers: [] },
  ];
}

/** The fields of a well-formed request. */
export function plainFields(random: Random): readonly Field[] {
  return random.pick(messages('localhost')).fields;
}

function splice(value: string, random: Random, inserted: string): string {
  const at = random.below(value.length + 1);
  return value.slice(0, at) + inserted + value.slice(at + random.below(2));
}

/** Fields with one change. */
export function mutatedFields(fields: readonly Field[], random: Random): Field[] {
  const changed = [...fields];
  const at = random.below(changed.length);
  const [name, value] = changed[at] ?? ['', ''];
  switch (random.below(6)) {
    case 0:
      changed[at] = [name, splice(value, random, random.pick(INSERTIONS))];
      break;
    case 1:
      changed[at] = [splice(name, random, random.pick(INSERTIONS)), value];
      break;
    case 2:
      changed.splice(at, 1);
      break;
    case 3:
      changed.splice(at, 0, [name, value]);
      break;
    case 4:
      changed.splice(random.below(changed.length + 1), 0, random.pick(FIELDS));
      break;
    default:
      changed.push(random.pick(FIELDS));
  }
  return changed;
}

function framesOf({ fields, body, trailers }: Message, stream: number): Frame[] {
  const parts: Frame[] = [
    { type: FRAMES.headers, flags: END_HEADERS, stream, payload: block(fields) },
    ...body.map((text) => ({ type: FRAMES.data, flags: 0, stream, payload: Buffer.from(text, 'latin1') })),
  ];
  if (trailers.length > 0)
    parts.push({ type: FRAMES.headers, flags: END_HEADERS, stream, payload: block(trailers) });
  const last = parts.pop();
  return last === undefined ? [] : [...parts, { ...last, flags: last.flags | END_STREAM }];
}

function mutatedFrames(frames: readonly Frame[], random: Random): Frame[] {
  const changed = [...frames];
  const at = random.below(changed.length);
  const each = changed[at];
  if (each === undefined) return changed;
  const { payload } = each;
  switch (random.below(8)) {
    case 0: {
      const bytes = Buffer.from(payload);
      const byte = random.below(bytes.length);
      if (bytes.length > 0) bytes[byte] = (bytes[byte] ?? 0) ^ (1 << random.below(8));
      changed[at] = { ...each, payload: bytes };
      break;
    }
    case 1:
      changed[at] = { ...each, flags: each.flags ^ (1 << random.below(6)) };
      break;
    case 2:
      changed[at] = { ...each, stream: random.below(6) };
      break;
    case 3:
      changed.splice(at, 1);
      break;
    case 4:
      changed.splice(at, 0, each);
      break;
    case 5: {
      const cut = random.below(payload.length + 1);
      const rest = { ...each, type: FRAMES.continuation, payload: payload.subarray(cut), flags: END_HEADERS };
      changed.splice(
        at,
        1,
        { ...each, flags: each.flags & ~END_HEADERS, payload: payload.subarray(0, cut) },
        rest,
      );
      break;
    }
    case 6: {
      const text = Buffer.from(random.pick(DATA), 'latin1');
      const data = { type: FRAMES.data, flags: random.below(2), stream: each.stream, payload: text };
      changed.splice(random.below(changed.length + 1), 0, data);
      break;
    }
    default: {
      const type = random.below(11);
      const noise = Buffer.from(Array.from({ length: random.below(10) }, () => random.below(256)));
      changed.splice(random.below(changed.length + 1), 0, { ...each, type, flags: 0, payload: noise });
    }
  }
  return changed;
}

/** The frames of up to two requests, the first of them damaged. */
export function mutatedFrameSequence(random: Random, host: string): Frame[] {
  let message = random.pick(messages(host));
  let left = 1 + random.below(3);
  for (; left > 0 && random.below(2) === 0; left -= 1)
    message = { ...message, fields: mutatedFields(message.fields, random) };
  let frames = framesOf(message, 1);
  for (; left > 0; left -= 1) frames = mutatedFrames(frames, random);
  return random.below(4) === 0 ? [...frames, ...framesOf(random.pick(messages(host)), 3)] : frames;
}

/**
 * Sends mutated requests on a new connection, and waits for the ends of their streams.
 *
 * @returns whether the connection opened in time
 */
export async function visitOverHttp2(target: Http2Target, random: Random, host: string): Promise<boolean> {
  const scope = new Scope();
  try {
    const frames = mutatedFrameSequence(random, host);
    const connection = await FrameConnection.open(scope, target);
    connection.write(
      ...frames.map(({ type, flags, stream, payload }) => frame(type, flags, stream, payload)),
    );
    const opened = new Set(frames.filter(({ type }) => type === FRAMES.headers).map(({ stream }) => stream));
    const ends = Promise.all([...opened].map((stream) => connection.outcome(stream)));
    ends.catch(() => {});
    await Promise.race([ends, quiet(connection)]);
    return true;
  } catch {
    return false;
  } finally {
    await scope.end();
  }
}

/** Resolves once nothing has arrived for a while. */
async function quiet(connection: FrameConnection): Promise<void> {
  for (let isQuiet = false; !isQuiet && !connection.closed;) {
    const change = connection.change().then(
      () => false,
      () => true,
    );
    isQuiet = await Promise.race([delay(QUIET_MS, true), change]);
  }
}
