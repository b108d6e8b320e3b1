/** The certificates that visitors see, and when they end. */
import { connect } from 'node:tls';
import { type Config, publicUrlOf } from '../config.ts';
import { CERTIFICATE_ENDING_MS, DIAGNOSIS_ANSWER_MS } from '../limits.ts';
import type { Clock } from '../clock.ts';
import { type Check, Fault, Skipped } from './check.ts';
import { unusedHost } from './name-checks.ts';

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
        `Get a certificate for ${what}, or have the relay get it (CULVERT_ACME_EMAIL); a private authority goes into NODE_EXTRA_CA_CERTS.`,
      );
    const days = Math.floor((ends - clock.now()) / DAY_MS);
    if (ends - clock.now() > CERTIFICATE_ENDING_MS) return `for ${what}, ends in ${days} days`;
    throw new Fault(
      `for ${what}, ends in ${days} days`,
      'Renewing does not work: see the log of the relay, or of whatever gets it.',
    );
  }

  async function ofTunnels(): Promise<string> {
    // Without a wildcard, each tunnel's is ordered when it is first visited.
    if (config.acme !== undefined) throw new Skipped('the relay gets them as tunnels are visited');
    const what = `*.${config.tunnelDomain}`;
    try {
      return await look(unusedHost(config), what);
    } catch (error) {
      if (error instanceof Fault || error instanceof Skipped) throw error;
      throw new Skipped(`${what}: none is shown for a name that no tunnel has`);
    }
  }

  const own = url.hostname.replace(/^\[|\]$/g, '');
  return [
    { name: 'certificate', needs: 'public', look: () => look(own, own) },
    { name: 'tunnel-certificate', needs: 'public', look: ofTunnels },
  ];
}

/** @throws Error when there is no handshake */
function presented(url: URL, servername: string): Promise<Shown> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port === '' ? 443 : Number(url.port),
      servername: /^[\d.]+$|:/.test(servername) ? '' : servername,
      // What is wrong with it is what is asked for.
      rejectUnauthorized: false,
      timeout: DIAGNOSIS_ANSWER_MS,
    });
    socket.once('secureConnect', () => {
      const ends = Date.parse(socket.getPeerCertificate().valid_to);
      const problem = socket.authorized ? undefined : String(socket.authorizationError);
      socket.destroy();
      resolve({ problem, ends });
    });
    socket.once('timeout', () => socket.destroy(new Error('no handshake in time')));
    socket.on('error', reject);
  });
}
