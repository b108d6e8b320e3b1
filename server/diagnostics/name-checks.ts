/** Checks of the relay's names in the DNS. */
import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import type { Clock } from '../clock.ts';
import { type Config, publicUrlOf } from '../config.ts';
import type { DnsLookup } from '../domains/domain-check.ts';
import { outsideItsTime, readKeyPair, TlsFileError } from '../edge/listener.ts';
import { type Check, counted, Fault, Skipped } from './check.ts';
import { ask, DIAGNOSIS_ANSWER_MS } from './http-probe.ts';

/** If a certificate expires sooner than this, it should already have been renewed. */
const CERTIFICATE_ENDING_MS = 14 * 24 * 3_600_000;

/** A name below the tunnel domain that no tunnel has. */
export function unusedHost({ tunnelDomain }: Pick<Config, 'tunnelDomain'>): string {
  return `doctor-${randomBytes(6).toString('hex')}.${tunnelDomain}`;
}

/** Whether a name always stands for the local machine (RFC 6761 section 6.3). */
export function isThisMachine(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

export function nameChecks(config: Config, lookup: DnsLookup): Check[] {
  const own = publicUrlOf(config, config.port).hostname.replace(/^\[|\]$/g, '');

  async function addresses(host: string, record: string): Promise<readonly string[]> {
    if (isIP(host) !== 0) throw new Skipped(`${host} is an IP address`);
    if (isThisMachine(host)) throw new Skipped(`${record} points to this machine`);
    const answers = await Promise.all([lookup(host, 'A'), lookup(host, 'AAAA')]);
    const found = answers.flatMap((answer) => (answer.kind === 'found' ? answer.values : []));
    if (found.length > 0) return found;
    const failed = answers.find((answer) => answer.kind === 'failed');
    if (failed !== undefined)
      throw new Fault(`${record}: ${failed.text}`, 'Try again, or set a DNS server with CULVERT_RESOLVER.');
    throw new Fault(
      `${record} has no address in the DNS`,
      `Add an A record (and AAAA, if the machine has IPv6) for ${record} with the public address of this machine or of its proxy.`,
    );
  }

  async function dns(): Promise<string> {
    return `${own} resolves to ${(await addresses(own, own)).join(', ')}`;
  }

  async function wildcard(): Promise<string> {
    const record = `*.${config.tunnelDomain}`;
    const found = await addresses(unusedHost(config), record);
    const ofRelay = isIP(own) === 0 ? await addresses(own, own).catch(() => []) : [own];
    const elsewhere = ofRelay.length > 0 && !found.some((address) => ofRelay.includes(address));
    return `${record} resolves to ${found.join(', ')}${elsewhere ? `, but ${own} resolves to other addresses` : ''}`;
  }

  return [
    { name: 'dns', look: dns },
    { name: 'wildcard', look: wildcard },
  ];
}

/* Whether the relay answers over IPv6 if the DNS lists it: browsers try it first. */

/** Errors without a route to IPv6 addresses. */
const NO_WAY = new Set(['ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT']);

export function addressChecks(config: Config, lookup: DnsLookup): Check[] {
  const to = publicUrlOf(config, config.port);
  const own = to.hostname.replace(/^\[|\]$/g, '');

  async function ipv6(): Promise<string> {
    const hosts = [own, unusedHost(config)].filter((host) => isIP(host) === 0 && !isThisMachine(host));
    const answers = await Promise.all(hosts.map((host) => lookup(host, 'AAAA')));
    const found = new Set(answers.flatMap((answer) => (answer.kind === 'found' ? answer.values : [])));
    if (found.size === 0) throw new Skipped('no host name has an AAAA record, so visitors use IPv4');
    for (const address of found) await mustAnswer(address);
    return `the relay responds at ${[...found].join(', ')}`;
  }

  async function mustAnswer(address: string): Promise<void> {
    try {
      const { status } = await ask({ to, path: '/healthz', address });
      if (status !== 200) throw new Error(`status ${status}`);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : '';
      if (NO_WAY.has(code)) throw new Skipped(`this machine cannot reach ${address}`);
      throw new Fault(
        `an AAAA record points to ${address}, but no relay responds there: ${error instanceof Error ? error.message : String(error)}`,
        'Make the relay or its proxy listen on that address as well (CULVERT_HOST=::, nginx: listen [::]:443) and open the firewall, or remove the record.',
        { cause: error },
      );
    }
  }

  return [{ name: 'ipv6', needs: 'public', look: ipv6 }];
}

/* Checks of the certificates that visitors see, and of their expiry. */

const DAY_MS = 24 * 3_600_000;

interface Shown {
  /** why it is not trusted */
  readonly problem: string | undefined;
  /** wall time in ms */
  readonly ends: number;
}

export function certificateChecks(config: Config, clock: Pick<Clock, 'now'>): Check[] {
  const url = publicUrlOf(config, config.port);

  async function look(servername: string, what: string): Promise<string> {
    if (url.protocol !== 'https:') throw new Skipped(`${url.origin} is not encrypted`);
    const { problem, ends } = await presented(url, servername);
    if (problem !== undefined)
      throw new Fault(
        `${what}: ${problem}`,
        `Get a certificate for ${what}, or let the relay obtain one (CULVERT_ACME_EMAIL). For a private certificate authority, set NODE_EXTRA_CA_CERTS.`,
      );
    const days = counted(Math.floor((ends - clock.now()) / DAY_MS), 'day');
    if (ends - clock.now() > CERTIFICATE_ENDING_MS) return `for ${what}, expires in ${days}`;
    throw new Fault(
      `for ${what}, expires in ${days}`,
      'Renewal is not working. Check the log of the relay or of the program that obtains the certificate.',
    );
  }

  async function ofTunnels(): Promise<string> {
    // Without a wildcard, each tunnel's certificate is ordered when it is first visited.
    if (config.acme !== undefined)
      throw new Skipped('the relay obtains each certificate when its tunnel is first visited');
    const what = `*.${config.tunnelDomain}`;
    try {
      return await look(unusedHost(config), what);
    } catch (error) {
      if (error instanceof Fault || error instanceof Skipped) throw error;
      throw new Skipped(`${what}: the relay obtains no certificate for a name without a tunnel`);
    }
  }

  /** A running relay keeps a better certificate than that of its files, until it is restarted. */
  async function inFiles(): Promise<string> {
    const { tls } = config;
    if (tls === undefined) throw new Skipped('CULVERT_TLS_CERT is not set');
    const fix =
      'Get a valid certificate. Until then, a running relay keeps the previous one; do not restart it.';
    try {
      const pair = await readKeyPair(tls);
      const fault = outsideItsTime(pair, clock.now());
      if (fault === undefined) return `${tls.cert.path}, valid until ${new Date(pair.validTo).toISOString()}`;
      throw new Fault(`${tls.cert.path}: ${fault}`, fix);
    } catch (error) {
      throw error instanceof TlsFileError ? new Fault(error.message, fix) : error;
    }
  }

  const own = url.hostname.replace(/^\[|\]$/g, '');
  return [
    { name: 'certificate-files', look: inFiles },
    { name: 'certificate', needs: 'public', look: () => look(own, own) },
    { name: 'tunnel-certificate', needs: 'public', look: ofTunnels },
  ];
}

/** @throws Error if there is no handshake */
function presented(url: URL, servername: string): Promise<Shown> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port === '' ? 443 : Number(url.port),
      servername: /^[\d.]+$|:/.test(servername) ? '' : servername,
      // Problems of the certificate are to be reported.
      rejectUnauthorized: false,
      timeout: DIAGNOSIS_ANSWER_MS,
    });
    socket.once('secureConnect', () => {
      const ends = Date.parse(socket.getPeerCertificate().valid_to);
      const problem = socket.authorized ? undefined : String(socket.authorizationError);
      socket.destroy();
      resolve({ problem, ends });
    });
    socket.once('timeout', () => socket.destroy(new Error('the TLS handshake did not finish in time')));
    socket.on('error', reject);
  });
}
