/** The local service behind every system, as a program: a page of 300 modules, bodies of any size, SSE and WebSockets. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { WebSocketServer } from 'ws';
import { ROOT } from '../../../release/repository.ts';

const PIECE = Buffer.alloc(64 * 1024);
let state = 12_345;
/** The same numbers in each run, from 0 to 1. */
function random(): number {
  state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
  return state / 2 ** 31;
}

interface File {
  readonly type: string;
  readonly body: Buffer;
  readonly tag: string;
}
const files = new Map<string, File>();

function add(path: string, type: string, body: string | Buffer): void {
  const tag = `"${createHash('sha1').update(body).digest('hex').slice(0, 16)}"`;
  files.set(path, { type, body: Buffer.from(body), tag });
}

/** A module with imports, 1 to 8 KiB that hardly compress. */
function addModule(path: string, imports: readonly string[]): void {
  let text = imports.map((each) => `import '${each}';\n`).join('');
  const length = text.length + 1024 + 7168 * random() ** 2;
  for (let line = 0; text.length < length; line += 1) {
    const filler = createHash('sha1').update(`${path} ${line}`).digest('base64url');
    text += `export const k${line} = '${filler}';\n`;
  }
  add(path, 'text/javascript', text);
}

// The entry, 20 features, 80 components and 199 parts: three levels of imports, as a development server serves them.
const paths = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, number) => `/src/${name}${number}.js`);
const every = (all: readonly string[], nth: number, of: number): string[] =>
  all.filter((_, index) => index % of === nth);
const [features, components, parts] = [paths('feature', 20), paths('component', 80), paths('part', 199)];
add('/', 'text/html', '<!doctype html><title>page</title><script type=module src=/src/main.js></script>');
addModule('/src/main.js', features);
for (const [nth, path] of features.entries()) addModule(path, every(components, nth, features.length));
for (const [nth, path] of components.entries()) addModule(path, every(parts, nth, components.length));
for (const path of parts) addModule(path, []);

// Three scripts of 1 MB each, cut from real source text. Only their loading matters: they need not run.
const SCRIPTS = ['axe-core/axe.js', 'prettier/index.mjs', 'prettier/plugins/typescript.mjs'];
const source = Buffer.concat(SCRIPTS.map((file) => readFileSync(`${ROOT}/node_modules/${file}`)));
const texts = [0, 1, 2].map((nth) => `/text/${nth}.js`);
for (const [nth, path] of texts.entries()) {
  add(path, 'text/javascript', source.subarray(nth * 1e6, (nth + 1) * 1e6));
}
add(
  '/text/',
  'text/html',
  `<!doctype html><title>text</title>${texts.map((path) => `<script defer src=${path}></script>`).join('')}`,
);

for (let at = 0; at < PIECE.length; at += 1) PIECE[at] = Math.floor(random() * 256);

function sendBytes(response: ServerResponse, bytes: number): void {
  let left = bytes;
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': bytes });
  const more = (): void => {
    while (left > 0) {
      const piece = PIECE.subarray(0, left);
      left -= piece.length;
      if (!response.write(piece)) {
        response.once('drain', more);
        return;
      }
    }
    response.end();
  };
  more();
}

function sendEvents(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
  response.flushHeaders();
  const timer = setInterval(
    () => response.write(`data: ${performance.timeOrigin + performance.now()}\n\n`),
    100,
  );
  response.on('close', () => clearInterval(timer));
}

/** Bytes of the latest upload so far: only one runs at a time. */
let uploaded = 0;

const server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const file = files.get(pathname);
  response.on('error', () => response.destroy());
  if (file !== undefined) {
    const isKnown = request.headers['if-none-match'] === file.tag;
    const fields = { 'content-type': file.type, etag: file.tag, 'cache-control': 'no-cache' };
    if (isKnown) response.writeHead(304, fields).end();
    else response.writeHead(200, { ...fields, 'content-length': file.body.length }).end(file.body);
  } else if (pathname === '/bytes') sendBytes(response, Number(searchParams.get('n')));
  else if (pathname === '/sse') sendEvents(response);
  else if (pathname === '/uploaded') response.end(String(uploaded));
  else if (pathname === '/upload') {
    uploaded = 0;
    request.on('data', (piece: Buffer) => (uploaded += piece.length));
    request.on('end', () => response.end(String(uploaded)));
    request.on('error', () => response.destroy());
  } else response.writeHead(404).end();
});
new WebSocketServer({ server }).on('connection', (socket) => {
  socket.on('error', () => socket.terminate());
  socket.on('message', (message: Buffer) => socket.send(message));
});
server.listen(Number(process.argv[2]), '0.0.0.0', () => console.log('ready'));
