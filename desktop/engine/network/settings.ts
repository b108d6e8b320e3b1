/** How the relay is reached: what the environment and the command line say about it. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Settings that are missing are not used. */
export interface NetworkSettings {
  /** proxy for relays at `https://`; a URL */
  readonly httpsProxy?: string | undefined;
  /** proxy for relays at `http://`; a URL */
  readonly httpProxy?: string | undefined;
  /** in the form of `NO_PROXY` */
  readonly noProxy?: string | undefined;
  /** certificates of authorities that are trusted besides the usual ones; PEM */
  readonly ca?: string | undefined;
}

/** A setting that cannot be used; the message names it and says what is accepted. */
export class NetworkSettingError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'NetworkSettingError';
  }
}

/**
 * Reads `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, whose lower-case forms are read first, as with curl, and
 * the file of `CULVERT_CA`. Certificates of `NODE_EXTRA_CA_CERTS` are trusted as well.
 *
 * @param caFile path of a PEM file; used in place of `CULVERT_CA`
 * @throws NetworkSettingError when the file cannot be used
 */
export function readNetworkSettings(
  env: Readonly<Record<string, string | undefined>>,
  caFile: string | undefined = env['CULVERT_CA'],
): NetworkSettings {
  const read = (name: string): string | undefined => env[name.toLowerCase()] || env[name] || undefined;
  const forAll = read('ALL_PROXY');
  return {
    httpsProxy: read('HTTPS_PROXY') ?? forAll,
    httpProxy: read('HTTP_PROXY') ?? forAll,
    noProxy: read('NO_PROXY'),
    ca: caFile === undefined || caFile === '' ? undefined : readAuthorities(caFile),
  };
}

function readAuthorities(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'latin1');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new NetworkSettingError(`--ca or CULVERT_CA: "${path}" cannot be read (${code})`);
  }
  const certificates = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  try {
    for (const certificate of certificates) void new X509Certificate(certificate);
    if (certificates.length > 0) return certificates.join('\n');
  } catch {
    // A damaged file is as good as none.
  }
  throw new NetworkSettingError(
    `--ca or CULVERT_CA: "${path}" holds no certificates: it takes a PEM file, with -----BEGIN CERTIFICATE-----`,
  );
}
