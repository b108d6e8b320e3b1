/** The test authority of Let's Encrypt, and a DNS server that resolves every name to 127.0.0.1. */
import { writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { join } from 'node:path';
import { Authority } from './certificates.ts';
import { Child } from './child.ts';
import { type Environment, temporaryDirectory } from './programs.ts';
import { eventually } from './deadline.ts';
import type { Scope } from './scope.ts';
import { closedPort } from './services/listen.ts';

/** Debian's package `pebble`; `e2e/support/setup.sh` installs it. */
const PEBBLE = '/usr/bin/pebble';
const DNS = '/usr/bin/pebble-challtestsrv';

export interface PebbleOptions {
  /** where it connects for http-01 and tls-alpn-01; free ports by default */
  readonly httpPort?: number;
  readonly tlsPort?: number;
  /** seconds that certificates are valid; 5 years by default */
  readonly validity?: number;
  /** percentage of valid nonces that it refuses */
  readonly nonceReject?: number;
  /** percentage of authorizations that it reuses */
  readonly authzReuse?: number;
  /** the DNS server it uses; by default every name resolves to 127.0.0.1 */
  readonly dns?: string;
  /** issuer of its HTTPS certificate; a new authority by default */
  readonly authority?: Authority;
}

export class Pebble {
  readonly #start: () => Child;
  #child: Child;
  readonly #authority: Authority;
  readonly #management: number;
  readonly port: number;
  readonly httpPort: number;
  readonly tlsPort: number;

  private constructor(
    start: () => Child,
    authority: Authority,
    ports: readonly [number, number, number, number],
  ) {
    this.#start = start;
    this.#child = start();
    this.#authority = authority;
    [this.port, this.#management, this.httpPort, this.tlsPort] = ports;
  }

  static async start(scope: Scope, options: PebbleOptions = {}): Promise<Pebble> {
    const authority = options.authority ?? new Authority(scope);
    const { cert, key } = authority.issue();
    const port = await closedPort();
    const management = await closedPort();
    const httpPort = options.httpPort ?? (await closedPort());
    const tlsPort = options.tlsPort ?? (await closedPort());
    const config = {
      listenAddress: `127.0.0.1:${port}`,
      managementListenAddress: `127.0.0.1:${management}`,
      certificate: cert,
      privateKey: key,
      httpPort,
      tlsPort,
      ...(options.validity !== undefined && { certificateValidityPeriod: options.validity }),
    };
    const file = join(temporaryDirectory(scope), 'pebble.json');
    writeFileSync(file, JSON.stringify({ pebble: config }));
    const dns = options.dns ?? (await startDns(scope));
    const environment = {
      ...process.env,
      PEBBLE_VA_NOSLEEP: '1',
      PEBBLE_WFE_NONCEREJECT: String(options.nonceReject ?? 5),
      PEBBLE_AUTHZREUSE: String(options.authzReuse ?? 0),
    };
    const args = ['-config', file, '-strict', '-dnsserver', dns];
    const start = (): Child => new Child(PEBBLE, args, { environment });
    const pebble = new Pebble(start, authority, [port, management, httpPort, tlsPort]);
    scope.defer(() => pebble.#child.stop('SIGKILL'));
    await eventually(60_000, () => pebble.root());
    return pebble;
  }

  /** Settings of a relay that orders here and can be validated by pebble. */
  get settings(): Environment {
    return {
      CULVERT_ACME_EMAIL: 'operator@relay.test',
      CULVERT_ACME_DIRECTORY: this.directory,
      CULVERT_ACME_CA: this.#authority.path,
      CULVERT_HTTP_PORT: String(this.httpPort),
      CULVERT_PORT: String(this.tlsPort),
    };
  }

  get directory(): string {
    return `https://localhost:${this.port}/dir`;
  }

  /** The authority that issued the certificate of its HTTPS endpoint. */
  get authority(): Authority {
    return this.#authority;
  }

  /** Makes it forget everything: accounts, orders and its signing key. */
  async restart(): Promise<void> {
    await this.#child.stop('SIGKILL');
    this.#child = this.#start();
    await eventually(60_000, () => this.root());
  }

  /** How many orders it has received since it was started. */
  get orders(): number {
    return this.#child.lines.filter((line) => line.includes('Added order ')).length;
  }

  /** Everything it has printed since it was started. */
  get lines(): readonly string[] {
    return this.#child.lines;
  }

  /** The root certificate in PEM. Each start generates a new one. */
  async root(): Promise<string> {
    return await this.#ask('/roots/0');
  }

  #ask(path: string): Promise<string> {
    const url = `https://localhost:${this.#management}${path}`;
    return new Promise((resolve, reject) => {
      const request = get(url, { ca: this.#authority.pem, timeout: 10_000 }, (response) => {
        let text = '';
        response.on('data', (part) => (text += String(part)));
        response.on('end', () => resolve(text));
        response.on('error', reject);
      });
      request.on('error', reject);
    });
  }
}

/** @returns its address */
async function startDns(scope: Scope): Promise<string> {
  const port = await closedPort();
  const none = ['-http01', '', '-https01', '', '-tlsalpn01', '', '-defaultIPv6', ''];
  const management = `127.0.0.1:${await closedPort()}`;
  const dns = new Child(DNS, ['-dns01', `127.0.0.1:${port}`, '-management', management, ...none]);
  scope.defer(() => dns.stop('SIGKILL'));
  return `127.0.0.1:${port}`;
}
