/** nginx, HAProxy and Caddy with the files of `server/deploy`. Only the addresses and the certificate are replaced. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CertificateFiles } from './certificates.ts';
import { runNginx, runServer } from './native-server.ts';
import { temporaryDirectory } from './programs.ts';
import type { Scope } from './scope.ts';
import { closedPort } from './services/listen.ts';

/** The names in the files, and the settings that they require of a relay. */
export const SHIPPED = {
  relayHost: 'relay.example.com',
  tunnelDomain: 'tunnels.example.com',
  /** a custom domain */
  domain: 'app.example.org',
  settings: {
    CULVERT_PUBLIC_URL: 'https://relay.example.com',
    CULVERT_TUNNEL_DOMAIN: 'tunnels.example.com',
    CULVERT_TRUST_PROXY: '127.0.0.1',
  },
} as const;

/**
 * Starts a proxy in front of a relay; it accepts connections with TLS on `port`.
 *
 * @param files a certificate for all names of {@link SHIPPED}
 * @param edit further changes to the file; none by default
 * @returns `plain`: the port on which it accepts connections without TLS, to redirect them to the other
 */
type StartProxy = (
  scope: Scope,
  port: number,
  relayPort: number,
  files: CertificateFiles,
  edit?: Edit,
) => Promise<{ readonly plain: number }>;

type Edit = (config: string) => string;

const asIs: Edit = (config) => config;

export const SHIPPED_PROXIES: Readonly<Record<string, StartProxy>> = {
  nginx: (scope, port, relayPort, files, edit) =>
    startNginx(scope, port, shipped('nginx.conf', relayPort), files, edit),

  async haproxy(scope, port, relayPort, { cert, key }, edit = asIs) {
    const plain = await closedPort();
    const folder = temporaryDirectory(scope);
    const both = join(folder, 'culvert.pem');
    writeFileSync(both, readFileSync(cert, 'utf8') + readFileSync(key, 'utf8'));
    const file = join(folder, 'haproxy.cfg');
    const config = shipped('haproxy.cfg', relayPort)
      .replaceAll('bind :80\n', `bind 127.0.0.1:${plain}\n`)
      .replaceAll('bind :443 ', `bind 127.0.0.1:${port} `)
      .replaceAll('/etc/culvert/culvert.pem', both);
    writeFileSync(file, edit(config));
    await runServer(scope, port, '/usr/sbin/haproxy', ['-db', '-f', file]);
    return { plain };
  },

  caddy: (scope, port, relayPort, files, edit) => startCaddy(scope, port, relayPort, files, [], edit),
};

/**
 * HAProxy as a TCP load balancer in front of a relay that serves TLS itself, with `haproxy-tcp.cfg`.
 *
 * @param httpPort of the relay, for plain HTTP
 * @param edit further changes to the file
 * @returns `plain`: the port on which it accepts connections for that
 */
export async function startTcpBalancer(
  scope: Scope,
  port: number,
  relayPort: number,
  httpPort: number,
  edit: Edit = asIs,
): Promise<{ readonly plain: number }> {
  const plain = await closedPort();
  const file = join(temporaryDirectory(scope), 'haproxy-tcp.cfg');
  const config = shipped('haproxy-tcp.cfg', httpPort)
    .replaceAll('127.0.0.1:8443', `127.0.0.1:${relayPort}`)
    .replaceAll('bind :80\n', `bind 127.0.0.1:${plain}\n`)
    .replaceAll('bind :443\n', `bind 127.0.0.1:${port}\n`);
  writeFileSync(file, edit(config));
  await runServer(scope, port, '/usr/sbin/haproxy', ['-db', '-f', file]);
  return { plain };
}

/** nginx in front of relays of a cluster, with `nginx-cluster.conf` in the place of the three in the file. */
export async function startClusterNginx(
  scope: Scope,
  port: number,
  relayPorts: readonly number[],
  files: CertificateFiles,
): Promise<void> {
  let site = shipped('nginx-cluster.conf', 0);
  for (const [index, relay] of relayPorts.entries())
    site = site.replace(`server 10.0.0.1${index + 1}:8080 `, `server 127.0.0.1:${relay} `);
  await startNginx(scope, port, site, files);
}

async function startNginx(
  scope: Scope,
  port: number,
  site: string,
  { cert, key }: CertificateFiles,
  edit: Edit = asIs,
): Promise<{ readonly plain: number }> {
  const plain = await closedPort();
  const here = site
    .replaceAll(/^ *listen \[::\].*$/gm, '')
    .replaceAll('.tunnels.example.com;', `.tunnels.example.com ${SHIPPED.domain};`)
    .replaceAll('listen 80;', `listen 127.0.0.1:${plain};`)
    .replaceAll('listen 443 ', `listen 127.0.0.1:${port} `)
    .replaceAll('/etc/culvert/fullchain.pem', cert)
    .replaceAll('/etc/culvert/privkey.pem', key);
  await runNginx(scope, port, edit(here));
  return { plain };
}

/**
 * @param files without them, Caddy's local authority issues certificates on demand, as a public one does in production
 * @param others ports of further relays of the same cluster
 */
export async function startCaddy(
  scope: Scope,
  port: number,
  relayPort: number,
  files?: CertificateFiles,
  others: readonly number[] = [],
  edit: Edit = asIs,
): Promise<{ readonly plain: number }> {
  const plain = await closedPort();
  const folder = temporaryDirectory(scope);
  const file = join(folder, 'Caddyfile');
  // Caddy's local authority issues the certificates, and is not installed in this machine's trust store.
  const options = [
    'admin off',
    'skip_install_trust',
    'local_certs',
    `http_port ${plain}`,
    `https_port ${port}`,
    'default_bind 127.0.0.1',
  ];
  const certificate = files === undefined ? 'tls {\n\t\ton_demand\n\t}' : `tls ${files.cert} ${files.key}`;
  const site = shipped('Caddyfile', relayPort)
    .replace('{\n\ton_demand_tls', `{\n\t${options.join('\n\t')}\n\ton_demand_tls`)
    .replace('tls {\n\t\ton_demand\n\t}', certificate)
    // The name that test clients use for the relay.
    .replace('relay.example.com, ', 'relay.example.com, localhost, ');
  writeFileSync(file, edit(site));
  const relays = [relayPort, ...others].map((each) => `127.0.0.1:${each}`).join(' ');
  const environment = {
    HOME: folder,
    XDG_DATA_HOME: folder,
    XDG_CONFIG_HOME: folder,
    ...(others.length > 0 && { RELAYS: relays }),
  };
  await runServer(scope, port, 'caddy', ['run', '--config', file, '--adapter', 'caddyfile'], environment);
  return { plain };
}

function shipped(name: string, relayPort: number): string {
  const text = readFileSync(new URL(`../../server/deploy/${name}`, import.meta.url), 'utf8');
  return text.replaceAll('127.0.0.1:8080', `127.0.0.1:${relayPort}`);
}

/** Describes the same suite once for each proxy. */
export function behindEachProxy(name: string, suite: (start: StartProxy) => void): void {
  for (const [proxy, start] of Object.entries(SHIPPED_PROXIES))
    describe(`${name}, behind ${proxy}`, () => suite(start));
}
