import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Child } from './child.ts';
import { eventually } from './deadline.ts';
import { type Environment, temporaryDirectory } from './programs.ts';
import type { Scope } from './scope.ts';
import { closedPort } from './services/listen.ts';

const EC_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** Paths of a certificate and its key, in PEM. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority that only the test trusts. Needs Debian's package `openssl`. */
export class Authority {
  readonly #folder: string;
  readonly #environment: Environment;
  #issued = 0;

  /** @param environment additional environment for openssl, such as another clock */
  constructor(scope: Scope, environment: Environment = {}) {
    this.#folder = temporaryDirectory(scope);
    this.#environment = environment;
    const outputs = ['-keyout', 'ca.key', '-out', 'ca.pem'];
    this.#openssl('req', '-x509', ...EC_KEY, ...outputs, '-days', '2', '-subj', '/CN=Test');
  }

  /** Path of its own certificate. */
  get path(): string {
    return join(this.#folder, 'ca.pem');
  }

  /** Its own certificate, in PEM. */
  get pem(): Buffer {
    return readFileSync(this.path);
  }

  /**
   * Issues a certificate for `localhost` with its own key.
   *
   * @param hosts further names that it is valid for
   */
  issue(...hosts: string[]): CertificateFiles {
    this.#issued += 1;
    const names = ['DNS:localhost', 'IP:127.0.0.1', ...hosts.map((host) => `DNS:${host}`)];
    writeFileSync(join(this.#folder, 'names'), `subjectAltName=${names.join()}`);
    const [request, cert, key] = [`${this.#issued}.csr`, `${this.#issued}.pem`, `${this.#issued}.key`];
    this.#openssl('req', ...EC_KEY, '-keyout', key, '-out', request, '-subj', `/CN=number ${this.#issued}`);
    const by = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names'];
    this.#openssl('x509', '-req', '-in', request, '-out', cert, '-days', '2', ...by);
    return { cert: join(this.#folder, cert), key: join(this.#folder, key) };
  }

  #openssl(...args: string[]): void {
    const env = { ...process.env, ...this.#environment };
    execFileSync('openssl', args, { cwd: this.#folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
  }
}

/** Overwrites certificate and key of `target` with others. */
export function replaceFiles(target: CertificateFiles, source: CertificateFiles): void {
  copyFileSync(source.cert, target.cert);
  copyFileSync(source.key, target.key);
}

export type TlsVersion = 'tls1_2' | 'tls1_3';

export interface Handshake {
  readonly port: number;
  /** path of the authority's certificate */
  readonly authority: string;
  readonly version: TlsVersion;
  /** the name that it asks for; `localhost` by default */
  readonly host?: string;
  /** certificate of the client */
  readonly client?: CertificateFiles;
  /** file that stores the session */
  readonly session: string;
}

interface Shaken {
  readonly reused: boolean;
  /** lifetime of the session in s, as the server announces it */
  readonly lifetime: number;
}

const REQUEST = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';

/** Makes a request, and stores the session that the server issues. */
export function begin(handshake: Handshake): Shaken {
  return shake(handshake, '-sess_out', handshake.session);
}

/** Makes a request with the stored session. */
export function resume(handshake: Handshake): Shaken {
  return shake(handshake, '-sess_in', handshake.session);
}

function shake(
  { port, authority, version, host = 'localhost', client }: Handshake,
  ...sessions: string[]
): Shaken {
  const args = ['s_client', '-connect', `127.0.0.1:${port}`, '-servername', host, `-${version}`];
  const own = client === undefined ? [] : ['-cert', client.cert, '-key', client.key];
  const trust = ['-CAfile', authority, '-verify_return_error', '-ign_eof'];
  const output = execFileSync('openssl', [...args, ...trust, ...own, ...sessions], {
    input: REQUEST,
    encoding: 'utf8',
    timeout: 30_000,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  if (!output.includes('HTTP/1.1 200')) throw new Error(`there is no response: ${output}`);
  return {
    reused: /^Reused, TLSv1\.[23],/m.test(output),
    lifetime: Number(/ticket lifetime hint: (\d+)/.exec(output)?.[1]),
  };
}

/* The test authority of Let's Encrypt, and a DNS server that resolves every name to 127.0.0.1. */

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
  /** issued the certificate of its HTTPS endpoint */
  readonly authority: Authority;
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
    this.authority = authority;
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
      CULVERT_ACME_CA: this.authority.path,
      CULVERT_HTTP_PORT: String(this.httpPort),
      CULVERT_PORT: String(this.tlsPort),
    };
  }

  get directory(): string {
    return `https://localhost:${this.port}/dir`;
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
    const url = `https://localhost:${this.#management}/roots/0`;
    const request = get(url, { ca: this.authority.pem, timeout: 10_000 });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return await text(response);
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
