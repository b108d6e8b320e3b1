/** The sample local site of the demo: a page, a clock by server-sent events, an echo WebSocket and an upload. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Scope } from '../support/scope.ts';
import { digest } from '../support/services/echo.ts';
import { type HttpService, startHttpService } from '../support/services/listen.ts';

const TICK_MS = 1000;
const ECHO_MAX_BYTES = 1024 * 1024;

/** Starts the site on a free port of 127.0.0.1; ends with the scope. */
export async function startSite(scope: Scope): Promise<HttpService> {
  const service = await startHttpService(scope, (request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  const sockets = new WebSocketServer({ server: service.server, path: '/echo', maxPayload: ECHO_MAX_BYTES });
  sockets.on('connection', echo);
  return service;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url?.split('?', 1)[0];
  switch (`${request.method} ${path}`) {
    case 'GET /':
    case 'HEAD /':
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.end(page(request.headers));
      break;
    case 'GET /clock':
      tick(response);
      break;
    case 'POST /upload':
      await receive(request, response);
      break;
    default:
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' });
      response.end('The sample site has no such page.\n');
  }
}

/** Sends the time of this machine once a second, as server-sent events. */
function tick(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  const send = (): void => void response.write(`data: ${new Date().toISOString()}\n\n`);
  send();
  const timer = setInterval(send, TICK_MS);
  response.on('close', () => clearInterval(timer));
}

/** Reads a body of any size in constant memory and responds with what arrived. */
async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { sha256, length: bytes } = await digest(request);
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.end(`${JSON.stringify({ bytes, sha256 })}\n`);
}

function echo(socket: WebSocket): void {
  socket.on('error', () => socket.terminate());
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
}

/** A path prefix that the relay adds before the site (protocol.md section 4.4). Anything else is not trusted. */
const PREFIX = /^\/t\/[A-Za-z0-9-]+$/;

/**
 * @param headers of the request: they contain the address and path under which the visitor sees the page
 */
export function page(headers: IncomingHttpHeaders): string {
  const { host = '' } = headers;
  const seenAs = String(headers['x-forwarded-host'] ?? host);
  const prefix = String(headers['x-forwarded-prefix'] ?? '');
  const base = PREFIX.test(prefix) ? `${prefix}/` : '/';
  const visitor = String(headers['x-forwarded-for'] ?? 'this machine, without a tunnel');
  return TEMPLATE.replace('{base}', base)
    .replace('{address}', () => escapeHtml(seenAs + (base === '/' ? '' : prefix)))
    .replace('{visitor}', () => escapeHtml(visitor));
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const TEMPLATE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<base href="{base}">
<link rel="icon" href="data:,">
<title>Through the culvert</title>
<style>
:root {
  color-scheme: light dark;
  --ink: light-dark(#16302b, #e3efe9); --paper: light-dark(#f3f6f1, #0f1c1a);
  --card: light-dark(#fff, #17292a); --line: light-dark(#d4ded5, #2b4241); --flow: light-dark(#0e7c6b, #48d1b5);
  font: 1rem/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
}
body { max-width: 46rem; margin: 0 auto; padding: 3rem 1.25rem; }
h1 { font-size: clamp(1.8rem, 6vw, 2.8rem); line-height: 1.1; margin: 0 0 .5rem; letter-spacing: -.02em; }
h2 { font-size: 1rem; margin: 0 0 .75rem; }
code, output, time { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
.path { display: flex; align-items: center; gap: .5rem; margin: 2rem 0; font-size: .9rem; }
.path i { flex: 1; height: 3px; border-radius: 3px; background:
  repeating-linear-gradient(90deg, var(--flow) 0 12px, transparent 12px 24px); animation: flow 1s linear infinite; }
@keyframes flow { to { background-position: 24px 0; } }
@media (prefers-reduced-motion: reduce) { .path i { animation: none; } }
section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1.1rem 1.25rem; margin: 1rem 0; }
time { font-size: 1.4rem; color: var(--flow); }
form { display: flex; flex-wrap: wrap; gap: .5rem; }
input { flex: 1 1 12rem; min-width: 0; }
input, button { font: inherit; padding: .45rem .7rem; border-radius: 8px; border: 1px solid var(--line); }
button { background: var(--flow); color: var(--paper); border-color: transparent; cursor: pointer; }
output { display: block; margin-top: .75rem; min-height: 1.5em; font-size: .9rem; }
footer { opacity: .7; font-size: .9rem; margin-top: 2rem; }
</style>
<h1>It works: this page came through the tunnel.</h1>
<p>It is served by a program on your machine and reached at <code>{address}</code>.</p>
<p class="path"><span>visitor</span><i></i><span>relay</span><i></i><span>your port</span></p>
<section><h2>Server-sent events: the clock of the local service</h2><time id="clock">…</time></section>
<section><h2>WebSocket: says back what you say</h2>
<form id="talk"><input name="text" value="Hello through the tunnel" aria-label="Message" autocomplete="off"><button>Send</button></form>
<output id="heard"></output></section>
<section><h2>Upload: counted and hashed on the other side</h2>
<form id="upload"><input type="file" name="file" aria-label="File" required><button>Upload</button></form>
<output id="received"></output></section>
<footer>You are seen as {visitor}.</footer>
<script>
const byId = (id) => document.getElementById(id);
const clock = byId('clock'), heard = byId('heard'), received = byId('received');

const events = new EventSource('clock');
events.onmessage = (event) => { clock.textContent = new Date(event.data).toLocaleTimeString(); };
events.onerror = () => { clock.textContent = 'waiting for the tunnel…'; };

let socket, sentAt = 0;
function talk(text) {
  if (socket?.readyState !== WebSocket.OPEN) {
    socket = new WebSocket(new URL('echo', document.baseURI.replace(/^http/, 'ws')));
    socket.onmessage = ({ data }) => { heard.textContent = data + '  (' + (performance.now() - sentAt).toFixed(1) + ' ms)'; };
    socket.onclose = () => { heard.textContent = 'The connection is closed.'; };
    socket.onopen = () => talk(text);
    return;
  }
  sentAt = performance.now();
  socket.send(text);
}
byId('talk').onsubmit = (event) => { event.preventDefault(); talk(event.target.text.value); };

byId('upload').onsubmit = async (event) => {
  event.preventDefault();
  received.textContent = 'Uploading…';
  try {
    const answer = await (await fetch('upload', { method: 'POST', body: event.target.file.files[0] })).json();
    received.textContent = answer.bytes.toLocaleString() + ' bytes, SHA-256 ' + answer.sha256;
  } catch (error) {
    received.textContent = 'The upload did not arrive: ' + error.message;
  }
};
</script>
</html>
`;
