import type { CertificateFiles } from '../../support/certificates.ts';
import { closedPort } from '../../support/services/listen.ts';
import type { Scope } from '../../support/scope.ts';
import { startNginx } from '../nginx-program.ts';
import type { Peer, RunningPeer } from './peer.ts';

/** A reverse proxy on one machine, with connections to the service kept open: no tunnel at all. */
export const nginx: Peer = {
  name: 'nginx',
  title: 'nginx straight to the local service, no tunnel',
  start: (scope, servicePort) => start(scope, servicePort),
  startTls: (scope, servicePort, authority) => start(scope, servicePort, authority.issue()),
};

async function start(
  scope: Scope,
  servicePort: number,
  certificate?: CertificateFiles,
): Promise<RunningPeer> {
  const port = await closedPort();
  const upstream = `upstream service {
  server 127.0.0.1:${servicePort}; keepalive 128; keepalive_requests 1000000000; }`;
  const location = `proxy_pass http://service; proxy_http_version 1.1; proxy_set_header Connection "";
  proxy_request_buffering off; proxy_max_temp_file_size 0;`;
  const program = await startNginx(scope, port, upstream, location, certificate);
  return { port, host: '127.0.0.1', relayPids: () => [program.pid], clientPids: () => [] };
}
