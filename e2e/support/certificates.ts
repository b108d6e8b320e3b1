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

/** A certificate authority nobody trusts but the test; needs Debian's package `openssl`. */
export class Authority {
  readonly #folder: string;
  readonly #environment: Environment;
  #issued = 0;

  /** @param environment that openssl gets besides, such as another clock */
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
   * Makes a certificate for `localhost` with a key of its own.
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

/** Puts certificate and key in the place of others. */
export function replaceFiles(target: CertificateFiles, source: CertificateFiles): void {
  copyFileSync(source.cert, target.cert);
  copyFileSync(source.key, target.key);
}

/* A visitor that comes back with a TLS session of before: `openssl s_client`, of Debian's package `openssl`. */

export type TlsVersion = 'tls1_2' | 'tls1_3';

export interface Handshake {
  readonly port: number;
  /** path of the authority's certificate */
  readonly authority: string;
  readonly version: TlsVersion;
  /** file in which the session is kept */
  readonly session: string;
}

export interface Shaken {
  readonly reused: boolean;
  /** s for which a session may be resumed, as the server says it */
  readonly lifetime: number;
}

const REQUEST = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';

/** Makes a request, and keeps the session that the server gives. */
export function begin(handshake: Handshake): Shaken {
  return shake(handshake, '-sess_out', handshake.session);
}

/** Makes a request with the session that was kept. */
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
