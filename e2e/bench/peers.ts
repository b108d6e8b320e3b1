/** A subject of the comparison: a way from a visitor to a local service. */
import { closeSync, ftruncateSync, openSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Authority, CertificateFiles } from '../support/certificates.ts';
import { startProgram } from '../support/child.ts';
import { SSHD, sshFiles } from '../support/ssh.ts';
import { type NativeServer, runNginx, runServer } from '../support/native-server.ts';
import { Culvert, type Environment, Relay, temporaryDirectory } from '../support/programs.ts';
import type { Scope } from '../support/scope.ts';
import { closedPort } from '../support/services/listen.ts';
import { familyOf } from '../support/processes.ts';

export type PeerName = 'direct' | 'nginx' | 'ssh' | 'floor' | 'culvert';

export interface Peer {
  readonly name: PeerName;
  /** description for readers of the results */
  readonly title: string;
  /**
   * Starts it in front of a local port; it ends with the scope.
   *
   * @param servicePort the port of the local service on 127.0.0.1
   * @param authority issues a certificate for TLS between visitors and the public end; only Culvert and nginx use it
   */
  start(scope: Scope, servicePort: number, authority?: Authority): Promise<RunningPeer>;
}

export interface RunningPeer {
  /** where visitors connect, on 127.0.0.1 */
  readonly port: number;
  /** value of the Host field of their requests */
  readonly host: string;
  /** processes of the public end; read again at each measurement, because they can change */
  relayPids(): readonly number[];
  /** processes of the end beside the local service */
  clientPids(): readonly number[];
}

/** Culvert and the named peers, without those that are not measured in this run. */
export function culvertAnd(peers: readonly Peer[], ...others: readonly PeerName[]): Peer[] {
  return peers.filter(({ name }) => name === 'culvert' || others.includes(name));
}

/** Starts peers one after the other in front of the same local port. */
export async function startPeers(
  scope: Scope,
  peers: readonly Peer[],
  servicePort: number,
  authority?: Authority,
): Promise<{ name: PeerName; peer: RunningPeer }[]> {
  const running = [];
  for (const each of peers)
    running.push({ name: each.name, peer: await each.start(scope, servicePort, authority) });
  return running;
}

/** The programs as built by `npm run build`. */
export const culvert: Peer = {
  name: 'culvert',
  title: 'Culvert',
  async start(scope, servicePort, authority) {
    const relay = await Relay.start(scope, authority && tlsSettings(authority));
    const name = ['--name', 'bench'];
    const trust = authority && { CULVERT_CA: authority.path };
    const client = await Culvert.start(scope, relay, relay.bootstrapKey, servicePort, name, trust);
    return {
      port: relay.port,
      host: 'bench.localhost',
      relayPids: () => [relay.child.pid],
      clientPids: () => [client.child.pid],
    };
  },
};

/** Settings for a relay with TLS. */
export function tlsSettings(authority: Authority): Environment {
  const { cert, key } = authority.issue('*.localhost');
  return { CULVERT_TLS_CERT: cert, CULVERT_TLS_KEY: key };
}

/** No tunnel and no proxy: the visitor connects to the local service. */
export const direct: Peer = {
  name: 'direct',
  title: 'the local service, without a tunnel',
  start: (_scope, servicePort) =>
    Promise.resolve({
      port: servicePort,
      host: '127.0.0.1',
      relayPids: () => [],
      clientPids: () => [],
    }),
};

const FLOOR = fileURLToPath(new URL('programs/floor.ts', import.meta.url));

/** Culvert's message flow over bare TCP in the same Node. */
export const floor: Peer = {
  name: 'floor',
  title: "Culvert's message flow over bare TCP, without HTTP, accounts or limits: a yardstick, not a tunnel",
  async start(scope, servicePort) {
    const relay = startProgram(scope, process.execPath, [FLOOR, 'relay']);
    const [, visitors, clients = ''] = await relay.printed(/^listening (\d+) (\d+)$/m);
    const client = startProgram(scope, process.execPath, [FLOOR, 'client', clients, String(servicePort)]);
    await client.printed(/^online$/m);
    return {
      port: Number(visitors),
      host: '127.0.0.1',
      relayPids: () => [relay.pid],
      clientPids: () => [client.pid],
    };
  },
};

/** A reverse proxy on one machine that keeps connections to the service open: no tunnel at all. */
export const nginx: Peer = {
  name: 'nginx',
  title: 'nginx in front of the local service, without a tunnel',
  async start(scope, servicePort, authority) {
    const port = await closedPort();
    const upstream = `upstream service {
  server 127.0.0.1:${servicePort}; keepalive 128; keepalive_requests 1000000000; }`;
    const location = `proxy_pass http://service; proxy_http_version 1.1; proxy_set_header Connection "";
  proxy_request_buffering off; proxy_max_temp_file_size 0;`;
    const { pid } = await startNginx(scope, port, upstream, location, authority?.issue());
    return { port, host: '127.0.0.1', relayPids: () => [pid], clientPids: () => [] };
  },
};

/**
 * Starts nginx without a log, on connections that visitors may keep.
 *
 * @param port of 127.0.0.1 that it listens on
 * @param http directives of the `http` block
 * @param location directives of `location /`
 * @param certificate for TLS; plain HTTP without it
 */
export async function startNginx(
  scope: Scope,
  port: number,
  http: string,
  location: string,
  certificate?: CertificateFiles,
): Promise<NativeServer> {
  // Like Node: Debian's nginx has no TLS 1.3 by default.
  const tls =
    certificate &&
    `ssl_protocols TLSv1.3; ssl_session_tickets off;
     ssl_certificate ${certificate.cert}; ssl_certificate_key ${certificate.key};`;
  return await runNginx(
    scope,
    port,
    `${http}
     server {
       listen 127.0.0.1:${port} backlog=4096${tls ? ' ssl http2' : ''}; ${tls ?? ''}
       access_log off; keepalive_requests 1000000000; keepalive_timeout 600s; client_max_body_size 0;
       location / { ${location} }
     }`,
  );
}

/**
 * Starts nginx with files; it ends with the scope.
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

/** Options of a client of ssh that only forwards ports. */
export const FORWARDS_ONLY = ['-N', '-o', 'ExitOnForwardFailure=yes'];

/** `ssh -R` to a dedicated sshd, with keys generated for this run. */
export const ssh: Peer = {
  name: 'ssh',
  title: 'ssh -R (OpenSSH)',
  async start(scope, servicePort) {
    const [sshPort, port] = [await closedPort(), await closedPort()];
    const { settings, options } = sshFiles(scope, '127.0.0.1', sshPort);
    const server = await runServer(scope, sshPort, SSHD, ['-D', '-e', '-f', settings]);
    const remote = `127.0.0.1:${port}:127.0.0.1:${servicePort}`;
    const to = `${userInfo().username}@127.0.0.1`;
    const client = await runServer(scope, port, 'ssh', [
      ...options,
      ...FORWARDS_ONLY,
      '-p',
      String(sshPort),
      '-R',
      remote,
      to,
    ]);
    return {
      port,
      host: '127.0.0.1',
      relayPids: () => familyOf(server.pid),
      clientPids: () => [client.pid],
    };
  },
};
