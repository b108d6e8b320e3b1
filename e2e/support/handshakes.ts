/** Visits to a relay that has certificates of its own, at whatever name. */
import { request } from 'node:https';
import { request as plainRequest } from 'node:http';
import { connect, type PeerCertificate } from 'node:tls';

/** What a handshake has brought. */
export interface Shaken {
  /** whether browsers would accept it */
  readonly authorized: boolean;
  readonly certificate: PeerCertificate;
  readonly protocol: string;
}

/**
 * @param root PEM of the authority that is trusted
 * @param host `undefined` to name none
 * @throws Error if TLS refuses
 */
export function shake(
  port: number,
  host: string | undefined,
  root: string,
  address = '127.0.0.1',
): Promise<Shaken> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      port,
      host: address,
      ...(host !== undefined && { servername: host }),
      ca: root,
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
      timeout: 60_000,
    });
    socket.on('error', reject);
    socket.on('timeout', () => socket.destroy(new Error('the handshake takes too long')));
    socket.on('secureConnect', () => {
      const { authorized } = socket;
      resolve({ authorized, certificate: socket.getPeerCertificate(), protocol: socket.getProtocol() ?? '' });
      socket.destroy();
    });
  });
}

export interface Visited {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export interface Visit {
  /** 127.0.0.1 unless given */
  readonly address?: string;
  readonly port: number;
  readonly host: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** @param root PEM of the authority that is trusted; without it, plain HTTP */
export function visit(to: Visit, root?: string): Promise<Visited> {
  const { address = '127.0.0.1', port, host, path = '/', method = 'GET', headers = {}, body } = to;
  const options = { port, host: address, path, method, headers: { host, ...headers }, timeout: 60_000 };
  return new Promise((resolve, reject) => {
    const sent =
      root === undefined
        ? plainRequest(options)
        : request({ ...options, servername: host, ca: root, agent: false });
    sent.on('error', reject);
    sent.on('timeout', () => sent.destroy(new Error('the response takes too long')));
    sent.on('response', (response) => {
      let text = '';
      response.on('data', (part) => (text += String(part)));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    });
    sent.end(body);
  });
}

/** Creates a tunnel through the relay's own name. */
export async function createNamed(
  port: number,
  host: string,
  key: string,
  name: string,
  root: string,
): Promise<{ readonly id: string; readonly public_url: string }> {
  const { status, text } = await visit(
    {
      port,
      host,
      path: '/v1/tunnels',
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ local_port: 1, name }),
    },
    root,
  );
  if (status !== 201) throw new Error(`the tunnel was not created: ${status} ${text}`);
  return JSON.parse(text) as { id: string; public_url: string };
}
