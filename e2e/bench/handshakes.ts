/** TLS handshakes, one per connection, as many in parallel as there are visitors. */
import { connect, createSecureContext, type SecureContext, type SecureVersion } from 'node:tls';

/** ms without a byte after which a handshake has failed, on a busy machine. */
const SILENCE_MS = 30_000;

export interface Handshakes {
  /** on 127.0.0.1 */
  readonly port: number;
  /** PEM of the authority that visitors trust */
  readonly authority: string | Buffer;
  readonly version: SecureVersion;
  /** whether visitors resume an earlier session, that of the first name */
  readonly resumes: boolean;
  readonly visitors: number;
  readonly count: number;
  /** number of the host that the first handshake names; the next ones follow in order */
  readonly first: number;
  /** how many hosts there are, starting at 0; after the last one the first follows */
  readonly names: number;
}

/** The domain of all hosts. */
export const HANDSHAKE_DOMAIN = 'tunnels.test';

/** The name of a host by its number. Its certificate has to be valid for it. */
export function hostOf(number: number): string {
  return `web-${number}.${HANDSHAKE_DOMAIN}`;
}

/**
 * A handshake counts once both sides have closed the connection, so that the server has done all its work for it.
 *
 * @returns s that all took together
 * @throws Error if one failed or was not of the requested kind, because such a run measures nothing
 */
export async function shakeHands(handshakes: Handshakes): Promise<number> {
  const { authority, version, resumes, visitors, count, first, names } = handshakes;
  const context = createSecureContext({ ca: authority, minVersion: version, maxVersion: version });
  const session = resumes ? await shake(handshakes, context, hostOf(first % names), undefined) : undefined;
  let begun = 0;
  const started = performance.now();
  const visitor = async (): Promise<void> => {
    while (begun < count) {
      const host = hostOf((first + begun) % names);
      begun += 1;
      await shake(handshakes, context, host, session);
    }
  };
  await Promise.all(Array.from({ length: visitors }, visitor));
  return (performance.now() - started) / 1000;
}

/**
 * One handshake, in full or with a session to resume.
 *
 * @returns the session that the server gave
 */
function shake(
  { port }: Handshakes,
  secureContext: SecureContext,
  servername: string,
  session: Buffer | undefined,
): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const resumed = session !== undefined && { session };
    const options = { host: '127.0.0.1', port, servername, secureContext, timeout: SILENCE_MS };
    const socket = connect({ ...options, ...resumed });
    let given: Buffer | undefined;
    socket.on('error', reject);
    socket.on('timeout', () => socket.destroy(new Error('the handshake takes too long')));
    socket.on('session', (ticket) => (given = ticket));
    socket.on('secureConnect', () => {
      if (socket.isSessionReused() !== (session !== undefined))
        socket.destroy(new Error(session ? 'the session was not resumed' : 'a session was resumed'));
      else socket.resume().end();
    });
    socket.on('close', () => resolve(given));
  });
}
