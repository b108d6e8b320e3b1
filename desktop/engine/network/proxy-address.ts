import { NetworkSettingError } from './settings.ts';

/** A proxy that takes CONNECT. */
export interface ProxyAddress {
  readonly secure: boolean;
  /** name or IP address to connect to, without the brackets of IPv6 */
  readonly hostname: string;
  readonly port: number;
  /** `host:port`, for people; never the credentials */
  readonly name: string;
  /** value of `Proxy-Authorization` */
  readonly authorization: string | undefined;
}

/**
 * Reads the address of a proxy, `http://` unless it says otherwise.
 *
 * @param setting where it comes from, named in errors
 * @throws NetworkSettingError without the text, which may hold a password
 */
export function parseProxyAddress(text: string, setting: string): ProxyAddress {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.hostname === '') {
    throw new NetworkSettingError(
      `${setting} is not a proxy that can be used: give http:// or https://, a host and a port, such as ` +
        'http://proxy.example.com:3128, with user:password@ before the host where needed',
    );
  }
  const secure = url.protocol === 'https:';
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  return { secure, hostname, port, name: `${url.hostname}:${port}`, authorization: basic(url) };
}

/** RFC 7617 */
function basic({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  const credentials = `${decode(username)}:${decode(password)}`;
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}

/** Text that is not valid percent-encoding is taken literally. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
