/** A visitor that comes back with a TLS session of before: `openssl s_client`, of Debian's package `openssl`. */
import { execFileSync } from 'node:child_process';

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
