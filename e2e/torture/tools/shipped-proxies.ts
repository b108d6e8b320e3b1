/** nginx, HAProxy and Caddy with the files of `server/deploy`, in which only addresses and the certificate are replaced. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CertificateFiles } from '../../support/certificates.ts';
import { runNginx, runServer } from '../../support/native-server.ts';
import { temporaryDirectory } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import { closedPort } from '../../support/services/listen.ts';

/** The names that the files have, and the settings that they ask of a relay. */
export const SHIPPED = {
  relayHost: 'relay.example.com',
  tunnelDomain: 'tunnels.example.com',
  settings: {
    CULVERT_PUBLIC_URL: 'https://relay.example.com',
    CULVERT_TUNNEL_DOMAIN: 'tunnels.example.com',
    CULVERT_TRUST_PROXY: '127.0.0.1',
  },
} as const;

/** Starts a proxy in front of a relay; it takes connections with TLS on `port`. */
export type StartProxy = (
  scope: Scope,
  port: number,
  relayPort: number,
  files: CertificateFiles,
) => Promise<void>;

export const SHIPPED_PROXIES: Readonly<Record<string, StartProxy>> = {
  async nginx(scope, port, relayPort, { cert, key }) {
    const site = shipped('nginx.conf')
      .replaceAll(/^ *listen \[::\].*$/gm, '')
      .replaceAll('listen 80;', `listen 127.0.0.1:${await closedPort()};`)
      .replaceAll('listen 443 ', `listen 127.0.0.1:${port} `)
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${relayPort}`)
      .replaceAll('/etc/culvert/fullchain.pem', cert)
      .replaceAll('/etc/culvert/privkey.pem', key);
    await runNginx(scope, port, site);
  },

  async caddy(scope, port, relayPort, { cert, key }) {
    const folder = temporaryDirectory(scope);
    const file = join(folder, 'Caddyfile');
    const options = `{\n\tadmin off\n\tauto_https disable_redirects\n\thttps_port ${port}\n\tdefault_bind 127.0.0.1\n}\n`;
    const site = shipped('Caddyfile')
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${relayPort}`)
      .replaceAll('/etc/culvert/fullchain.pem', cert)
      .replaceAll('/etc/culvert/privkey.pem', key);
    writeFileSync(file, options + site);
    const home = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    await runServer(scope, port, 'caddy', ['run', '--config', file, '--adapter', 'caddyfile'], home);
  },
};

function shipped(name: string): string {
  return readFileSync(new URL(`../../../server/deploy/${name}`, import.meta.url), 'utf8');
}
