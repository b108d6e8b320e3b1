/**
 * Whether a Linux desktop shows tray icons, which Electron does not report: asked at the StatusNotifierWatcher of the
 * session's D-Bus (D-Bus Specification, "Authentication Protocol" and "Message Protocol").
 */
import { connect } from 'node:net';
import { LongTimer } from '../../../../shared/timer.ts';

const WATCHER = 'org.kde.StatusNotifierWatcher';
const BUS = 'org.freedesktop.DBus';
/** Longest wait for the bus and the watcher; both are on this machine. */
const ANSWER_TIMEOUT_MS = 2000;
/** Bytes of the conversation that are read: the answers have some hundred. */
const ANSWERS_MAX_BYTES = 16 * 1024;

const RETURN = 2;
const ERROR = 3;
const NO_AUTO_START = 2;
/** The types of header fields, by their code. */
const FIELDS = { path: [1, 'o'], interface: [2, 's'], member: [3, 's'], to: [6, 's'] } as const;

/**
 * @returns `undefined` if it cannot be found out: there is no bus, or the desktop may have a tray of X11, which is
 *   older
 */
export async function showsTrayIcons(
  env: NodeJS.ProcessEnv,
  uid: number,
  timeoutMs = ANSWER_TIMEOUT_MS,
): Promise<boolean | undefined> {
  const path = busPath(env);
  const isHosted = path === undefined ? undefined : await askWatcher(path, uid, timeoutMs);
  const mayBeOfX11 = env['XDG_SESSION_TYPE'] === 'x11' && !/gnome/i.test(env['XDG_CURRENT_DESKTOP'] ?? '');
  return isHosted === false && mayBeOfX11 ? undefined : isHosted;
}

/** The socket of the session's bus; an abstract one begins with NUL. */
export function busPath(env: NodeJS.ProcessEnv): string | undefined {
  const runtime = env['XDG_RUNTIME_DIR'];
  const address =
    env['DBUS_SESSION_BUS_ADDRESS'] ?? (runtime === undefined ? '' : `unix:path=${encodeURI(runtime)}/bus`);
  const found = /(?:^|;)unix:(?:[^;]*,)?(path|abstract)=([^,;]+)/.exec(address);
  if (found === null) return undefined;
  const [, kind, escaped = ''] = found;
  // Bytes are escaped as in addresses of the web.
  const path = escaped.replace(/%[0-9a-f]{2}/gi, (byte) =>
    String.fromCharCode(Number.parseInt(byte.slice(1), 16)),
  );
  return kind === 'abstract' ? `\0${path}` : path;
}

function askWatcher(path: string, uid: number, timeoutMs: number): Promise<boolean | undefined> {
  const { promise, resolve } = Promise.withResolvers<boolean | undefined>();
  const socket = connect(path);
  const timer = new LongTimer(() => resolve(undefined), timeoutMs, false);
  let received = Buffer.alloc(0);
  socket.on('error', () => resolve(undefined));
  socket.on('close', () => resolve(undefined));
  socket.on('data', (bytes) => {
    received = Buffer.concat([received, bytes]);
    const answer = readAnswer(received);
    if (answer !== 'unknown') resolve(answer === 'yes');
    else if (received.length > ANSWERS_MAX_BYTES) resolve(undefined);
  });
  // The bus answers what follows a refused authentication with an end.
  socket.write(`\0AUTH EXTERNAL ${Buffer.from(String(uid)).toString('hex')}\r\nBEGIN\r\n`);
  socket.write(call(1, { path: '/org/freedesktop/DBus', interface: BUS, member: 'Hello', to: BUS }));
  const get = { path: '/StatusNotifierWatcher', interface: `${BUS}.Properties`, member: 'Get', to: WATCHER };
  socket.write(call(2, get, [WATCHER, 'IsStatusNotifierHostRegistered']));
  return promise.finally(() => {
    timer.cancel();
    socket.destroy();
  });
}

/** A call of a method. @param texts its arguments */
function call(
  serial: number,
  fields: Readonly<Record<keyof typeof FIELDS, string>>,
  texts: readonly string[] = [],
): Buffer {
  const header = Object.entries(FIELDS).map(([name, [code, type]]) =>
    Buffer.concat([Buffer.from([code, 1, type.charCodeAt(0), 0]), text(fields[name as keyof typeof FIELDS])]),
  );
  if (texts.length > 0) {
    const signature = Buffer.from('s'.repeat(texts.length));
    header.push(Buffer.from([8, 1, 'g'.charCodeAt(0), 0, signature.length, ...signature, 0]));
  }
  const fieldBytes = list(8, header);
  const body = list(4, texts.map(text));
  const sizes = [body.length, serial, fieldBytes.length].flatMap((size) => [...u32(size)]);
  return list(8, [Buffer.from([0x6c, 1, NO_AUTO_START, 1, ...sizes]), fieldBytes, body]);
}

function text(value: string): Buffer {
  return Buffer.from([...u32(Buffer.byteLength(value)), ...Buffer.from(value), 0]);
}

function u32(value: number): Uint8Array {
  return Uint8Array.of(value, value >> 8, value >> 16, value >> 24);
}

/** Each but the first begins at a multiple of some bytes. */
function list(alignment: number, parts: readonly Buffer[]): Buffer {
  return parts.reduce((before, part) => {
    const padding = -before.length & (alignment - 1);
    return Buffer.concat([before, Buffer.alloc(padding), part]);
  }, Buffer.alloc(0));
}

/**
 * The second answer, which is the watcher's: the first one is that of the bus to Hello.
 *
 * @param received everything so far: a line about the authentication, then messages
 */
function readAnswer(received: Buffer): 'yes' | 'no' | 'unknown' {
  const line = received.indexOf('\r\n');
  if (line === -1 || !received.toString('latin1', 0, line).startsWith('OK ')) return 'unknown';
  let answers = 0;
  for (let at = line + 2; received.length >= at + 16;) {
    const bodyLength = received.readUInt32LE(at + 4);
    const fieldsLength = received.readUInt32LE(at + 12);
    // Also keeps the sums below within 32 bits.
    if (fieldsLength > ANSWERS_MAX_BYTES) break;
    const headLength = (16 + fieldsLength + 7) & ~7;
    const body = received.subarray(at + headLength, at + headLength + bodyLength);
    if (body.length < bodyLength) break;
    const type = received[at + 1];
    if (type === RETURN || type === ERROR) answers += 1;
    // A variant: its signature, and a boolean of four bytes.
    if (answers === 2)
      return type === RETURN && body.toString('latin1') === '\x01b\0\0\x01\0\0\0' ? 'yes' : 'no';
    at += headLength + bodyLength;
  }
  return 'unknown';
}
