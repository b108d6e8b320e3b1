/** nginx with a custom configuration, as a single process that touches no system files. */
import { once } from 'node:events';
import { closeSync, ftruncateSync, openSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { CertificateFiles } from '../support/certificates.ts';
import { type Child, startProgram } from '../support/child.ts';
import { temporaryDirectory } from '../support/programs.ts';
import type { Scope } from '../support/scope.ts';
import { closedPort } from '../support/services/listen.ts';

const BODIES = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/**
 * Starts nginx and waits until it accepts connections.
 *
 * @param port of 127.0.0.1 that it listens on
 * @param upstreams directives of the `http` block
 * @param location directives of `location /`
 * @param certificate for TLS; plain HTTP without it
 */
export async function startNginx(
  scope: Scope,
  port: number,
  upstreams: string,
  location: string,
  certificate?: CertificateFiles,
): Promise<Child> {
  const directory = temporaryDirectory(scope);
  const paths = BODIES.map((name) => `${name}_temp_path ${directory}/${name};`).join('\n');
  // Like Node: Debian's nginx has no TLS 1.3 by default.
  const tls =
    certificate === undefined
      ? ''
      : `ssl_protocols TLSv1.3; ssl_session_tickets off;
ssl_certificate ${certificate.cert}; ssl_certificate_key ${certificate.key};`;
  const file = join(directory, 'nginx.conf');
  writeFileSync(
    file,
    `daemon off; master_process off; pid ${directory}/pid; error_log ${directory}/error.log;
events { worker_connections 8192; }
http {
${paths}
access_log off; keepalive_requests 1000000000; keepalive_timeout 600s; client_max_body_size 0;
${upstreams}
server { listen 127.0.0.1:${port} backlog=4096${tls === '' ? '' : ' ssl http2'}; ${tls} location / { ${location} } }
}
`,
  );
  const program = startProgram(scope, 'nginx', ['-p', directory, '-c', file]);
  await accepting(port);
  return program;
}

/**
 * Starts it; it ends with the scope.
 *
 * @param sizes bytes of each file; `/BYTES` is its path
 * @returns its port
 */
export async function startFiles(scope: Scope, sizes: readonly number[]): Promise<number> {
  const folder = temporaryDirectory(scope);
  for (const bytes of sizes) {
    const file = openSync(join(folder, String(bytes)), 'w');
    // A sparse file: the disk is not measured.
    ftruncateSync(file, bytes);
    closeSync(file);
  }
  const port = await closedPort();
  await startNginx(scope, port, 'sendfile on; tcp_nopush on; open_file_cache max=16;', `root ${folder};`);
  return port;
}

/**
 * Waits until a port accepts connections.
 *
 * @throws Error after 10 s
 */
export async function accepting(port: number): Promise<void> {
  const end = performance.now() + 10_000;
  for (;;) {
    const socket = connect({ port, host: '127.0.0.1' });
    try {
      await once(socket, 'connect');
      return;
    } catch (error) {
      if (performance.now() > end) throw error;
      await delay(50);
    } finally {
      socket.destroy();
    }
  }
}
