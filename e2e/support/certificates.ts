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
