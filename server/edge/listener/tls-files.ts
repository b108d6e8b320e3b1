/** The certificate and key the relay serves TLS with, read from the operator's files. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';

/** Where a file is, and which setting said so. */
export interface TlsFile {
  readonly path: string;
  /** what the operator wrote: variable or flag */
  readonly setting: string;
}

export interface TlsFiles {
  /** PEM, with the intermediate certificates after the relay's own */
  readonly cert: TlsFile;
  /** PEM, without a passphrase */
  readonly key: TlsFile;
}

/** A certificate and its matching key. */
export interface KeyPair {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** as the certificate says it */
  readonly validTo: string;
}

/** A file is missing or does not contain what it should; the text names its setting and what that accepts. */
export class TlsFileError extends Error {
  constructor(file: TlsFile, takes: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`${file.setting} takes ${takes}: ${file.path}: ${why}`);
    this.name = 'TlsFileError';
  }
}

/** @throws TlsFileError */
export async function readKeyPair(files: TlsFiles): Promise<KeyPair> {
  const takesCert = 'the path of a certificate, as PEM with its intermediate certificates';
  const takesKey = `the path of the private key for ${files.cert.setting}, as PEM without a passphrase`;
  const cert = await read(files.cert, takesCert);
  const key = await read(files.key, takesKey);
  const parsed = attempt(files.cert, takesCert, () => new X509Certificate(cert));
  const privateKey = attempt(files.key, takesKey, () => createPrivateKey(key));
  attempt(files.key, takesKey, () => mustFit(parsed, privateKey));
  attempt(files.cert, takesCert, () => createSecureContext({ cert, key }));
  return { cert, key, validTo: parsed.validTo };
}

/**
 * Certificates with which others are checked.
 *
 * @returns each in PEM
 * @throws TlsFileError
 */
export async function readAuthorities(file: TlsFile): Promise<readonly string[]> {
  const takes = 'the path of a file with certificates of authorities, as PEM';
  const text = (await read(file, takes)).toString('latin1');
  const list = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return attempt(file, takes, () => {
    if (list.length === 0) throw new Error('there is none in it');
    return list.map((pem) => new X509Certificate(pem).toString());
  });
}

async function read(file: TlsFile, takes: string): Promise<Buffer> {
  try {
    return await readFile(file.path);
  } catch (error) {
    throw new TlsFileError(file, takes, error);
  }
}

function attempt<T>(file: TlsFile, takes: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new TlsFileError(file, takes, error);
  }
}

function mustFit(cert: X509Certificate, key: KeyObject): void {
  if (!cert.checkPrivateKey(key)) throw new Error('it is the key of another certificate');
}
