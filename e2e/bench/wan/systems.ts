/** The systems that `npm run bench:wan` compares, in the namespaces of a lab. */
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Authority } from '../../support/certificates.ts';
import { CULVERT_SCRIPT, newApiKey, RELAY_SCRIPT, temporaryDirectory } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import { FORWARDS_ONLY } from '../peers.ts';
import { SSHD, sshFiles } from '../../support/ssh.ts';
import { CLIENT_ADDRESS, type Lab, RELAY_ADDRESS } from './lab.ts';

export interface System {
  /** description for readers of the results */
  readonly title: string;
  /** of the relay's machine; also serves HTTP/1.1 */
  readonly port: number;
  readonly usesHttp2: boolean;
}

const DIRECT_PORT = 9443;
const SSH_PORT = 9445;
const RELAY_PORT = 8443;

/** The one that the others are compared with comes last. */
export const SYSTEMS: Readonly<Record<string, System>> = {
  culvert: { title: 'Culvert with its own TLS, HTTP/2', port: RELAY_PORT, usesHttp2: true },
  'culvert h1': { title: 'the same over HTTP/1.1', port: RELAY_PORT, usesHttp2: false },
  ssh: { title: '`ssh -R` (OpenSSH) behind nginx with HTTP/2', port: SSH_PORT, usesHttp2: true },
  direct: {
    title: 'nginx with HTTP/2 on the machine of the relay, straight to the service: no tunnel',
    port: DIRECT_PORT,
    usesHttp2: true,
  },
};
export const REFERENCE = 'direct';

const DOMAIN = 'tunnels.test';
export const HOST = `shop.${DOMAIN}`;
/** The host of a second tunnel whose client compresses. The other systems have the same service there. */
export const COMPRESSED_HOST = `packed.${DOMAIN}`;
export const NAMES = [DOMAIN, HOST, COMPRESSED_HOST];

const SERVICE_PORT = 3000;
/** The end of the tunnel of ssh at the relay. */
const FORWARDED_PORT = 7000;
const SSHD_PORT = 2222;
const START_MS = 60_000;

/** Starts the service and every system. They end with the scope. */
export async function startSystems(scope: Scope, lab: Lab, authority: Authority): Promise<void> {
  const folder = temporaryDirectory(scope);
  const { cert, key } = authority.issue(DOMAIN, `*.${DOMAIN}`);
  // With the whole chain, as public certificates have it: Chromium looks for the key of the authority in there.
  appendFileSync(cert, authority.pem);
  const service = lab.run('client', process.execPath, [
    join(import.meta.dirname, 'service.ts'),
    String(SERVICE_PORT),
  ]);
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, nginxSettings(folder, cert, key));
  lab.run('relay', 'nginx', ['-p', folder, '-c', file, '-e', join(folder, 'error.log')]);
  const apiKey = newApiKey();
  const url = `https://${DOMAIN}:${RELAY_PORT}`;
  const relay = lab.run('relay', process.execPath, [RELAY_SCRIPT, 'serve'], {
    CULVERT_HOST: '0.0.0.0',
    CULVERT_PORT: String(RELAY_PORT),
    CULVERT_PUBLIC_URL: url,
    CULVERT_TUNNEL_DOMAIN: DOMAIN,
    CULVERT_TLS_CERT: cert,
    CULVERT_TLS_KEY: key,
    CULVERT_DATA_DIR: join(folder, 'data'),
    CULVERT_BOOTSTRAP_KEY: apiKey,
    CULVERT_LOG_LEVEL: 'warn',
  });
  await Promise.all([service.printed(/^ready$/m, START_MS), relay.printed(/^listening on /m, START_MS)]);
  const environment = {
    HOME: folder,
    CULVERT_RELAY: url,
    CULVERT_API_KEY: apiKey,
    CULVERT_CA: authority.path,
  };
  const tunnels = [
    ['--name', 'shop'],
    ['--name', 'packed', '--compress', 'on'],
  ].map((args) =>
    lab.run(
      'client',
      process.execPath,
      [CULVERT_SCRIPT, 'http', String(SERVICE_PORT), '--ttl', '24h', '--json', ...args],
      environment,
    ),
  );
  await Promise.all(tunnels.map((client) => client.printed(/"event":"online"/, START_MS)));
  await startSsh(scope, lab);
}

/** An sshd of its own, and a client that starts again whenever it loses the connection. */
async function startSsh(scope: Scope, lab: Lab): Promise<void> {
  const alive = 'ClientAliveInterval 15\nClientAliveCountMax 3\n';
  const { settings, options } = sshFiles(scope, RELAY_ADDRESS.client, SSHD_PORT, alive);
  lab.run('relay', SSHD, ['-D', '-e', '-f', settings]);
  const patience = ['ServerAliveInterval=15', 'ServerAliveCountMax=3', 'ConnectTimeout=10'].flatMap(
    (option) => ['-o', option],
  );
  const remote = `127.0.0.1:${FORWARDED_PORT}:127.0.0.1:${SERVICE_PORT}`;
  const args = [...options, ...FORWARDS_ONLY, '-p', String(SSHD_PORT), ...patience, '-R', remote];
  const ending = new AbortController();
  scope.defer(() => ending.abort());
  const keepRunning = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      await lab.run('client', 'ssh', [...args, `root@${RELAY_ADDRESS.client}`]).exited;
      await delay(1000);
    }
  };
  // Without a client, the measures of ssh fail, and the results show that.
  keepRunning().catch(() => {});
}

function nginxServer(port: number, upstream: string): string {
  return `server { listen ${port} ssl http2;
    location / { proxy_pass http://${upstream}; proxy_http_version 1.1; proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;
      proxy_request_buffering off; proxy_read_timeout 600s; } }`;
}

function nginxSettings(folder: string, cert: string, key: string): string {
  const bodies = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  return `daemon off; master_process off; pid ${folder}/nginx.pid;
events { worker_connections 4096; }
http {
  ${bodies.join(' ')}
  access_log off; client_max_body_size 0; keepalive_timeout 300s; keepalive_requests 100000;
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  ssl_certificate ${cert}; ssl_certificate_key ${key}; ssl_protocols TLSv1.3;
  upstream service { server ${CLIENT_ADDRESS}:${SERVICE_PORT}; keepalive 64; }
  upstream ssh { server 127.0.0.1:${FORWARDED_PORT}; keepalive 64; }
  ${nginxServer(DIRECT_PORT, 'service')}
  ${nginxServer(SSH_PORT, 'ssh')}
}
`;
}
