/** nginx, HAProxy and Caddy with the files of `server/deploy`, in which only the addresses and the certificate are replaced. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CertificateFiles } from './certificates.ts';
import { runNginx, runServer } from './native-server.ts';
import { temporaryDirectory } from './programs.ts';
import type { Scope } from './scope.ts';
import { closedPort } from './services/listen.ts';

/** The names that the files use, and the settings that they ask of a relay. */
export const SHIPPED = {
  relayHost: 'relay.example.com',
  tunnelDomain: 'tunnels.example.com',
  settings: {
    CULVERT_PUBLIC_URL: 'https://relay.example.com',
    CULVERT_TUNNEL_DOMAIN: 'tunnels.example.com',
    CULVERT_TRUST_PROXY: '127.0.0.1',
  },
} as const;

/**
 * Starts a proxy in front of a relay; it accepts connections with TLS on `port`.
 *
 * @returns `plain`: the port on which it accepts connections without TLS, to redirect them to the other
 */
export type StartProxy = (
  scope: Scope,
  port: number,
  relayPort: number,
  files: CertificateFiles,
) => Promise<{ readonly plain: number }>;

export const SHIPPED_PROXIES: Readonly<Record<string, StartProxy>> = {
  async nginx(scope, port, relayPort, { cert, key }) {
    const plain = await closedPort();
    const site = shipped('nginx.conf', relayPort)
      .replaceAll(/^ *listen \[::\].*$/gm, '')
      .replaceAll('listen 80;', `listen 127.0.0.1:${plain};`)
      .replaceAll('listen 443 ', `listen 127.0.0.1:${port} `)
      .replaceAll('/etc/culvert/fullchain.pem', cert)
      .replaceAll('/etc/culvert/privkey.pem', key);
    await runNginx(scope, port, site);
    return { plain };
  },

  async haproxy(scope, port, relayPort, { cert, key }) {
    const plain = await closedPort();
    const folder = temporaryDirectory(scope);
    const both = join(folder, 'culvert.pem');
    writeFileSync(both, readFileSync(cert, 'utf8') + readFileSync(key, 'utf8'));
    const file = join(folder, 'haproxy.cfg');
    const config = shipped('haproxy.cfg', relayPort)
      .replaceAll('bind :80\n', `bind 127.0.0.1:${plain}\n`)
      .replaceAll('bind :443 ', `bind 127.0.0.1:${port} `)
      .replaceAll('/etc/culvert/culvert.pem', both);
    writeFileSync(file, config);
    await runServer(scope, port, '/usr/sbin/haproxy', ['-db', '-f', file]);
    return { plain };
  },

  async caddy(scope, port, relayPort, { cert, key }) {
    const plain = await closedPort();
    const folder = temporaryDirectory(scope);
    const file = join(folder, 'Caddyfile');
    // Without the second option, its own authority would become one of this machine's.
    const options = `{\n\tadmin off\n\tskip_install_trust\n\thttp_port ${plain}\n\thttps_port ${port}\n\tdefault_bind 127.0.0.1\n}\n`;
    const site = shipped('Caddyfile', relayPort)
      // The name that test clients use for it.
      .replace('relay.example.com, ', 'relay.example.com, localhost, ')
      .replaceAll('/etc/culvert/fullchain.pem', cert)
      .replaceAll('/etc/culvert/privkey.pem', key);
    writeFileSync(file, options + site);
    const home = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    await runServer(scope, port, 'caddy', ['run', '--config', file, '--adapter', 'caddyfile'], home);
    return { plain };
  },
};

function shipped(name: string, relayPort: number): string {
  const text = readFileSync(new URL(`../../server/deploy/${name}`, import.meta.url), 'utf8');
  return text.replaceAll('127.0.0.1:8080', `127.0.0.1:${relayPort}`);
}

/** Describes the same suite once for each of them. */
export function behindEachProxy(name: string, suite: (start: StartProxy) => void): void {
  for (const [proxy, start] of Object.entries(SHIPPED_PROXIES))
    describe(`${name}, behind ${proxy}`, () => suite(start));
}
