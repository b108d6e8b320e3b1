import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Environment, temporaryDirectory } from './programs.ts';
import type { Scope } from './scope.ts';

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
    this.#openssl(
      'req',
      '-x509',
      ...EC_KEY,
      '-keyout',
      'ca.key',
      '-out',
      'ca.pem',
      '-days',
      '2',
      '-subj',
      '/CN=Test',
    );
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
  /** file that stores the session */
  readonly session: string;
}

export interface Shaken {
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

function shake({ port, authority, version }: Handshake, ...sessions: string[]): Shaken {
  const args = ['s_client', '-connect', `127.0.0.1:${port}`, '-servername', 'localhost', `-${version}`];
  const trust = ['-CAfile', authority, '-verify_return_error', '-ign_eof'];
  const text = execFileSync('openssl', [...args, ...trust, ...sessions], {
    input: REQUEST,
    encoding: 'utf8',
    timeout: 30_000,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  if (!text.includes('HTTP/1.1 200')) throw new Error(`there is no response: ${text}`);
  return {
    reused: /^Reused, TLSv1\.[23],/m.test(text),
    lifetime: Number(/ticket lifetime hint: (\d+)/.exec(text)?.[1]),
  };
}
