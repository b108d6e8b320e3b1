/** nginx with its own configuration, as one process that touches nothing of the system's. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/programs.ts';
import type { Scope } from '../support/scope.ts';
import { accepting } from './ports.ts';
import type { CertificateFiles } from '../support/certificates.ts';
import { type Child, startProgram } from '../support/child.ts';

const BODIES = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/**
 * Starts nginx and waits until it accepts connections.
 *
 * @param port where it listens, on 127.0.0.1
 * @param upstreams directives of the `http` block
 * @param location directives of `location /`
 * @param certificate with which it takes TLS; without one it takes plain HTTP
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
  // As Node does it: nginx of Debian has no TLS 1.3 unless told.
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
server { listen 127.0.0.1:${port} backlog=4096${tls === '' ? '' : ' ssl'}; ${tls} location / { ${location} } }
}
`,
  );
  const program = startProgram(scope, 'nginx', ['-p', directory, '-c', file]);
  await accepting(port);
  return program;
}
