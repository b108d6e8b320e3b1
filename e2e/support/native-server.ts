/** Third-party web servers that run on free ports with all their files in a temporary directory. */
import { once } from 'node:events';
import { closeSync, fstatSync, openSync, readSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Child } from './child.ts';
import { eventually } from './deadline.ts';
import { temporaryDirectory } from './programs.ts';
import type { Scope } from './scope.ts';
import { closedPort } from './services/listen.ts';

/** Debian's packages `nginx` and `apache2-bin`; `e2e/support/setup.sh` installs them. */
const NGINX = '/usr/sbin/nginx';
/** From the package `libnginx-mod-stream`. */
const STREAM_MODULE = '/usr/lib/nginx/modules/ngx_stream_module.so';
/** The path at which {@link startBalancer}'s nginx reports which relay responded. */
export const WHICH_RELAY = '/balancer/which-relay';
const APACHE = '/usr/sbin/apache2';
const APACHE_MODULES = '/usr/lib/apache2/modules';
/** ms within which a server listens even on the busiest machine. */
const START_MS = 60_000;

export interface NativeServer {
  readonly port: number;
  readonly pid: number;
  /** Requests in its log so far, including refused ones. A line is written when its request has ended. */
  countRequests(): number;
}

/** nginx as a web server: it responds to any path, and reads bodies. */
export async function startNginxSite(scope: Scope): Promise<NativeServer> {
  const port = await closedPort();
  const location = 'location / { return 200 "nginx\\n"; }';
  const site = `server { listen 127.0.0.1:${port} backlog=4096; ${location} }`;
  return await runNginx(scope, port, site);
}

/** nginx in front of several relays, round robin, with pooled connections and WebSockets. */
export async function startBalancer(
  scope: Scope,
  port: number,
  relayPorts: readonly number[],
): Promise<NativeServer> {
  const servers = relayPorts
    .map((relay) => `server 127.0.0.1:${relay} max_fails=1 fail_timeout=1s;`)
    .join(' ');
  return await runNginx(
    scope,
    port,
    `upstream relays { ${servers} keepalive 16; }
     map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
     server {
       listen 127.0.0.1:${port} backlog=4096;
       location = ${WHICH_RELAY} { proxy_pass http://relays/healthz; add_header Upstream $upstream_addr; }
       location / {
         proxy_pass http://relays; proxy_http_version 1.1; proxy_set_header Host $http_host;
         proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;
         proxy_buffering off; proxy_read_timeout 3600s; client_max_body_size 0; proxy_request_buffering off;
       }
     }`,
  );
}

/**
 * Runs nginx with a given configuration.
 *
 * @param port it listens on
 * @param http contents of its `http` block
 * @param stream contents of its `stream` block
 */
export async function runNginx(scope: Scope, port: number, http: string, stream = ''): Promise<NativeServer> {
  const directory = temporaryDirectory(scope);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${join(directory, kind)};`,
  );
  const log = join(directory, 'access.log');
  const config = `${stream === '' ? '' : `load_module ${STREAM_MODULE};`} daemon off; master_process off; pid ${join(directory, 'pid')};
    error_log ${join(directory, 'error.log')};
    events { worker_connections 8192; }
    http {
      log_format line escape=json '$status $request'; access_log ${log} line;
      keepalive_requests 1000000; ${temporary.join(' ')} ${http}
    }
    ${stream === '' ? '' : `stream { ${stream} }`}`;
  const file = join(directory, 'nginx.conf');
  writeFileSync(file, config);
  const args = ['-c', file, '-p', directory, '-e', join(directory, 'error.log')];
  const { pid } = await runServer(scope, port, NGINX, args);
  return { port, pid, countRequests: lineCounter(log) };
}

/**
 * Apache as a web server. All its responses are 404, which is often enough.
 *
 * @param directives further lines of its configuration
 */
export async function startApacheSite(
  scope: Scope,
  directives: readonly string[] = [],
): Promise<NativeServer> {
  const directory = temporaryDirectory(scope);
  const port = await closedPort();
  const log = join(directory, 'access.log');
  const config = [
    `ServerRoot ${directory}`,
    `PidFile ${join(directory, 'pid')}`,
    `Listen 127.0.0.1:${port}`,
    'ServerName localhost',
    `LoadModule mpm_event_module ${APACHE_MODULES}/mod_mpm_event.so`,
    `LoadModule authz_core_module ${APACHE_MODULES}/mod_authz_core.so`,
    `ErrorLog ${join(directory, 'error.log')}`,
    `LogFormat "%>s %r" line`,
    `CustomLog ${log} line`,
    `DocumentRoot ${directory}`,
    'User nobody',
    'Group nogroup',
    'MaxKeepAliveRequests 0',
    'ListenBacklog 4096',
    // Accepts what a strict server would refuse, as development servers may.
    'HttpProtocolOptions Unsafe',
    ...directives,
  ].join('\n');
  const file = join(directory, 'apache.conf');
  writeFileSync(file, `${config}\n`);
  const { pid } = await runServer(scope, port, APACHE, ['-f', file, '-D', 'FOREGROUND']);
  return { port, pid, countRequests: lineCounter(log) };
}

/**
 * Runs a server until the scope ends, and waits until it accepts connections.
 *
 * @param port it listens on
 * @param environment added to this process's environment
 */
export async function runServer(
  scope: Scope,
  port: number,
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Child> {
  const child = new Child(program, args, { environment: { ...process.env, ...environment } });
  scope.defer(() => child.end(60_000));
  await eventually(START_MS, async () => {
    try {
      await canConnect(port);
    } catch (error) {
      throw new Error(`${program} does not listen: ${child.output}`, { cause: error });
    }
  });
  return child;
}

/** @throws Error if nothing accepts connections there */
export async function canConnect(port: number, host = '127.0.0.1'): Promise<void> {
  const socket = connect({ port, host });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(5000) });
  } finally {
    socket.destroy();
  }
}

/** Counts the lines of a file that grows, reading each byte of it once. */
function lineCounter(file: string): () => number {
  const LINE_FEED = 10;
  let lines = 0;
  let offset = 0;
  return () => {
    const descriptor = openSync(file, 'r');
    try {
      const piece = Buffer.alloc(Math.max(0, fstatSync(descriptor).size - offset));
      const read = readSync(descriptor, piece, 0, piece.length, offset);
      offset += read;
      for (const byte of piece.subarray(0, read)) if (byte === LINE_FEED) lines += 1;
    } finally {
      closeSync(descriptor);
    }
    return lines;
  };
}
