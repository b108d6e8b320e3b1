/** Readers for the texts of settings. Each describes the values it accepts. */
import { SIGN_IN_RULE } from '../shared/access.ts';
import type { AccountRule } from './accounts/logins.ts';
import { isAccountName } from './administration/given.ts';
import { BlockList, isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { parseDuration, typedDuration } from '../shared/duration.ts';
import { parseNetwork } from '../shared/networks.ts';
import { hasUnprintable } from '../shared/unprintable.ts';
import { API_KEY_PATTERN, NAME_PATTERN, TTL_MIN_SECONDS } from '../shared/value-rules.ts';
import { isSafe } from './access/identity-provider.ts';
import type { TlsFile } from './edge/listener.ts';
import { LOG_FORMATS, LOG_LEVELS } from './log.ts';
import type { PortRange } from './tunnels/tcp-ports.ts';
import { type DatabaseAddress, readDatabaseAddress } from './store/database-address.ts';

/** Maximum of `CULVERT_MAX_TTL`: ten years. Keeps every expiry within what JavaScript dates can represent. */
const TTL_CEILING_SECONDS = 10 * 365 * 24 * 3600;
/** Maximum of `CULVERT_NAME_HOLD`: a year. Each ended tunnel occupies a row in the store for that time. */
const NAME_HOLD_CEILING_SECONDS = 365 * 24 * 3600;
/**
 * Maximum value of `CULVERT_MAX_CONNECTIONS` and `CULVERT_ADDRESS_CONNECTIONS`: by default no process may have
 * more file descriptors than that, and each visitor uses up to two.
 */
const CONNECTIONS_CEILING = 500_000;
/**
 * Maximum of `CULVERT_ADDRESS_REQUESTS` (requests per second): a relay serves fewer, so a higher value would not
 * be a limit.
 */
const ADDRESS_REQUESTS_CEILING = 100_000;
/** Maximum of `CULVERT_TRUNKS`: a lost packet stalls one trunk, and more than a few make no difference. */
const TRUNKS_CEILING = 16;
/** Maximum number of ports in `CULVERT_TCP_PORTS`: each that is given out takes a listening socket. */
const TCP_PORTS_CEILING = 10_000;
/** Maximum of `CULVERT_WORKERS`: each process takes about 80 MB, and machines with more cores need several relays. */
const WORKERS_CEILING = 64;
/** Highest number of ACME orders per hour that the operator can set. Let's Encrypt allows 300 in three hours. */
const ORDERS_PER_HOUR_CEILING = 1000;

/** Maximum length of the relay's ID and secret at the identity provider. */
const CLIENT_TEXT_MAX_LENGTH = 1024;
/** Maximum length of the name of the identity provider, which has to fit on a button. */
const PROVIDER_NAME_MAX_LENGTH = 64;
/** Shorter ones would end before a page with its parts is loaded. */
const SIGN_IN_TTL_LEAST_SECONDS = 1;
/** Maximum of `CULVERT_SIGN_IN_TTL`: a person who has left the company has access for as long. */
const SIGN_IN_TTL_CEILING_SECONDS = 30 * 24 * 3600;

/** Reads the text of a setting. */
export interface SettingReader<T> {
  /** the accepted values, to complete "must be …" */
  readonly takes: string;
  /**
   * @param name the variable or flag that the operator wrote
   * @returns `undefined` for a text it does not take
   */
  read(text: string, name: string): T | undefined;
}

/** An absolute path. */
export const path: SettingReader<string> = {
  takes: 'a path',
  read: (given) => resolve(given),
};

/** A file that is read later, and which setting named it. */
export const file: SettingReader<TlsFile> = {
  takes: 'the path to a file',
  read: (given, setting) => ({ path: resolve(given), setting }),
};

export const host: SettingReader<string> = {
  takes: 'an IP address or a host name, without a port',
  read: (given) => (isIP(given) !== 0 || /^[\w.-]+$/.test(given) ? given : undefined),
};

export const port: SettingReader<number> = {
  takes: 'a port number from 0 to 65535',
  read(given) {
    const value = /^\d{1,5}$/.test(given) ? Number(given) : Number.NaN;
    return value <= 65_535 ? value : undefined;
  },
};

export const portRange: SettingReader<PortRange> = {
  takes: `a range of at most ${TCP_PORTS_CEILING} ports, such as 20000-20999`,
  read(given) {
    const [, from = '', to = ''] = /^(\d{1,5}) *- *(\d{1,5})$/.exec(given) ?? [];
    const [first, last] = [Number(from), Number(to)];
    const isRange = first >= 1 && first <= last && last <= 65_535;
    return isRange && last - first < TCP_PORTS_CEILING ? { first, last } : undefined;
  },
};

export const trunks = wholeNumber(0, TRUNKS_CEILING);

/** A relay has one process where Node cannot share a listener among several. */
export const workers: SettingReader<number> = {
  takes: `auto, or a whole number from 1 to ${WORKERS_CEILING}`,
  read(given) {
    const wanted =
      given === 'auto' ? Math.min(availableParallelism(), WORKERS_CEILING) : workerCount.read(given, '');
    return wanted !== undefined && process.platform !== 'linux' ? 1 : wanted;
  },
};
const workerCount = wholeNumber(1, WORKERS_CEILING);

export const connections = wholeNumber(1, CONNECTIONS_CEILING);

export const addressConnections = wholeNumber(0, CONNECTIONS_CEILING);

export const ordersPerHour = wholeNumber(1, ORDERS_PER_HOUR_CEILING);

export const addressRequests = wholeNumber(0, ADDRESS_REQUESTS_CEILING);

function wholeNumber(least: number, most: number): SettingReader<number> {
  return {
    takes: `a number from ${least} to ${most}`,
    read(given) {
      const value = /^\d{1,9}$/.test(given) ? Number(given) : Number.NaN;
      return value >= least && value <= most ? value : undefined;
    },
  };
}

export const publicUrl: SettingReader<URL> = {
  takes: 'an http:// or https:// address without a path, such as https://relay.example.com',
  read(given) {
    const url = URL.canParse(given) ? new URL(given) : undefined;
    if (url === undefined || !['http:', 'https:'].includes(url.protocol)) return undefined;
    // Tunnel addresses are built from scheme, host and port; anything more would be lost.
    return url.href === `${url.origin}/` ? url : undefined;
  },
};

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** RFC 1035 allows 253 characters; two labels of 63 and their dots must fit before it. */
const DOMAIN_MAX_LENGTH = 253 - 2 * 64;

export const domain: SettingReader<string> = {
  takes: `a domain name of at most ${DOMAIN_MAX_LENGTH} characters, without scheme, port or leading dot`,
  read(given) {
    const name = given.toLowerCase();
    const labels = name.split('.');
    const fits = name.length <= DOMAIN_MAX_LENGTH && labels.every((label) => LABEL.test(label));
    // A last label of digits makes an IP address, below which there are no names.
    return fits && !/^\d+$/.test(labels.at(-1) ?? '') ? name : undefined;
  },
};

/** Messages never repeat the value: it may contain a password. */
export const databaseUrl: SettingReader<DatabaseAddress> = {
  takes: 'sqlite:<path of a file> or postgres://[user[:password]@]host[:port]/database',
  read: readDatabaseAddress,
};

/** Messages never repeat the value: it is a secret. */
export const apiKey: SettingReader<string> = {
  takes: 'cvt_ followed by 32 to 200 letters and digits',
  read: (given) => (API_KEY_PATTERN.test(given) ? given : undefined),
};

/** Messages never repeat the value: it may contain a password. */
export const redisUrl: SettingReader<string> = {
  takes: 'the address of a Redis server, redis://… or rediss://…',
  read: (given) => (/^rediss?:\/\//.test(given) && URL.canParse(given) ? given : undefined),
};

export const clusterSecret: SettingReader<string> = {
  takes: 'a string of 32 to 256 characters',
  read: (given) => (given.length >= 32 && given.length <= 256 ? given : undefined),
};

export const clusterHost: SettingReader<string> = {
  takes: 'an IP address or host name of this machine that the other relays can reach, without a port',
  read: (given, name) => (['0.0.0.0', '::'].includes(given) ? undefined : host.read(given, name)),
};

/** A duration in whole seconds. */
export const ttl: SettingReader<number> = {
  takes: `a duration from 1s to ${typedDuration(TTL_CEILING_SECONDS)}, such as 90m or 168h`,
  read(given) {
    const seconds = parseDuration(given);
    if (seconds === undefined || seconds < TTL_MIN_SECONDS) return undefined;
    return seconds <= TTL_CEILING_SECONDS ? seconds : undefined;
  },
};

/** One of a few words. */
function oneOf<T extends string>(words: readonly T[]): SettingReader<T> {
  return {
    takes: `one of ${words.join(', ')}`,
    read: (given) => words.find((word) => word === given),
  };
}

/** One of two words for yes and no. */
function either(no: string, yes: string, takes: string): SettingReader<boolean> {
  return { takes, read: (given) => (given === yes ? true : given === no ? false : undefined) };
}

export const truth = either('false', 'true', 'true or false');
export const notice = either('off', 'free', 'one of off, free');
export const robots = either('noindex', 'allow', 'one of noindex, allow');
export const onOff = either('off', 'on', 'one of on, off');
export const logFormat = oneOf(LOG_FORMATS);
export const logLevel = oneOf(LOG_LEVELS);

const MAIL_ADDRESS = /^[\w.+-]{1,64}@(?=.{1,189}$)[a-z0-9-]+(?:\.[a-z0-9-]+)+$/i;

/** A mail address. */
export const mail: SettingReader<string> = {
  takes: 'an email address, such as operator@example.com',
  read: (given) => (MAIL_ADDRESS.test(given) ? given : undefined),
};

/** The address of a certificate authority's directory (RFC 8555 section 7.1.1). */
export const directory: SettingReader<string> = {
  takes: 'the https:// address of an ACME directory',
  read: (given) => (given.startsWith('https://') && URL.canParse(given) ? new URL(given).href : undefined),
};

/** The address of a link: `mailto:…` for a mail address. */
export const contact: SettingReader<string> = {
  takes: 'an email address, or an http:// or https:// address, such as abuse@example.com',
  read(given, name) {
    if (MAIL_ADDRESS.test(given)) return `mailto:${given}`;
    return webPage.read(given, name);
  },
};

/** The address of a page for people. */
export const webPage: SettingReader<string> = {
  takes: 'an http:// or https:// address, such as https://example.com/culvert',
  read(given) {
    const url = URL.parse(given);
    return url !== null && ['http:', 'https:'].includes(url.protocol) ? url.href : undefined;
  },
};

/** Messages never repeat the value: it may be a secret. */
export const clientText: SettingReader<string> = {
  takes: `a text of at most ${CLIENT_TEXT_MAX_LENGTH} visible ASCII characters and blanks`,
  read: (given) => (given.length <= CLIENT_TEXT_MAX_LENGTH && /^[ -~]+$/.test(given) ? given : undefined),
};

/** The issuer of an identity provider (OpenID Connect Discovery section 3). */
export const issuer: SettingReader<URL> = {
  takes:
    'an https:// address without a query, such as https://accounts.google.com; http:// only on this machine',
  read(given) {
    const url = URL.parse(given);
    if (url === null || !isSafe(url) || /[?#]/.test(given)) return undefined;
    return url.username === '' && url.password === '' ? url : undefined;
  },
};

export const providerName: SettingReader<string> = {
  takes: `a text of at most ${PROVIDER_NAME_MAX_LENGTH} characters`,
  read: (given) =>
    Array.from(given).length <= PROVIDER_NAME_MAX_LENGTH && !hasUnprintable(given) ? given : undefined,
};

/** RFC 6749 section 3.3. */
export const scopes: SettingReader<string> = {
  takes: 'scopes separated by blanks, with openid among them',
  read(given) {
    const list = given.split(/ +/);
    return list.every((scope) => /^[!#-[\]-~]+$/.test(scope)) && list.includes('openid')
      ? list.join(' ')
      : undefined;
  },
};

export const claim: SettingReader<string> = {
  takes: 'the name of a claim, of at most 256 visible ASCII characters',
  read: (given) => (/^[!-~]{1,256}$/.test(given) ? given : undefined),
};

/** Who gets keys of which account. */
export const accountRules: SettingReader<readonly AccountRule[]> = {
  takes: `rules such as *@example.com or group:ops, each with the name of an account, such as *@example.com=acme, separated by commas`,
  read(given) {
    const list = items(given).map((item) => {
      const at = item.lastIndexOf('=');
      return { rule: item.slice(0, Math.max(0, at)).trim(), account: item.slice(at + 1).trim() };
    });
    return list.every(({ rule, account }) => SIGN_IN_RULE.accepts(rule) && isAccountName(account))
      ? list
      : undefined;
  },
};

/** A duration in whole seconds. */
export const signInTtl: SettingReader<number> = {
  takes: `a duration from ${typedDuration(SIGN_IN_TTL_LEAST_SECONDS)} to ${typedDuration(SIGN_IN_TTL_CEILING_SECONDS)}, such as 12h`,
  read(given) {
    const seconds = parseDuration(given) ?? 0;
    return seconds >= SIGN_IN_TTL_LEAST_SECONDS && seconds <= SIGN_IN_TTL_CEILING_SECONDS
      ? seconds
      : undefined;
  },
};

/** A path must contain a slash, so that a mistyped word does not become a file. */
export const accessLog: SettingReader<'off' | 'stderr' | { readonly file: string }> = {
  takes: 'off, stderr, or a file path that contains a slash, such as /var/log/culvert/access.log',
  read(given) {
    if (given === 'off' || given === 'stderr') return given;
    return /[/\\]/.test(given) ? { file: resolve(given) } : undefined;
  },
};

export const downloads: SettingReader<'off' | { readonly folder: string }> = {
  takes: 'off, or the path to a folder that contains a slash, such as /srv/culvert',
  read(given) {
    if (given === 'off') return given;
    return /[/\\]/.test(given) ? { folder: resolve(given) } : undefined;
  },
};

/** A duration in whole seconds, or none. */
export const nameHold: SettingReader<number> = {
  takes: `a duration from 0s to ${typedDuration(NAME_HOLD_CEILING_SECONDS)}, such as 24h`,
  read(given) {
    const seconds = parseDuration(given);
    return seconds !== undefined && seconds <= NAME_HOLD_CEILING_SECONDS ? seconds : undefined;
  },
};

/** A list of IP addresses and CIDR networks. */
export const networks: SettingReader<BlockList> = {
  takes: 'IP addresses and ranges separated by commas, such as 10.0.0.0/8, ::1',
  read(given) {
    const list = new BlockList();
    return items(given).every((item) => addNetwork(list, item)) ? list : undefined;
  },
};

/** The address of a DNS server; IPv6 in brackets (RFC 3986 section 3.2.2). */
export const resolver: SettingReader<string> = {
  takes: 'an IP address and a port, such as 127.0.0.1:53 or [::1]:53',
  read(given, name) {
    const [, v6, v4, number = ''] = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(given) ?? [];
    const isAddress = v6 === undefined ? isIP(v4 ?? '') === 4 : isIP(v6) === 6 && !v6.includes('%');
    const value = port.read(number, name);
    return isAddress && value !== undefined && value > 0 ? given : undefined;
  },
};

export const names: SettingReader<ReadonlySet<string>> = {
  takes: 'names separated by commas, each consisting of 2-63 lowercase letters, digits and hyphens',
  read(given) {
    const list = items(given);
    return list.every((name) => NAME_PATTERN.test(name)) ? new Set(list) : undefined;
  },
};

function items(list: string): string[] {
  return list
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function addNetwork(list: BlockList, item: string): boolean {
  const network = parseNetwork(item);
  if (network === undefined) return false;
  list.addSubnet(network.address, network.bits, network.family);
  return true;
}
