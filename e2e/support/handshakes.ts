/** Visits to a relay that has its own certificates, at any host name. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { request as plainRequest } from 'node:http';
import { request } from 'node:https';
import { connect as netConnect } from 'node:net';
import { connect, type PeerCertificate } from 'node:tls';
import { dnsQuery } from '../../server/testing/dns-server.ts';
import { within } from './deadline.ts';

/** The result of a handshake. */
export interface Shaken {
  /** whether browsers would accept the certificate */
  readonly authorized: boolean;
  readonly certificate: PeerCertificate;
  readonly protocol: string;
}

/**
 * @param root PEM of the authority that is trusted
 * @param host `undefined` to name none
 * @throws Error if the handshake fails
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
  /** 127.0.0.1 by default */
  readonly address?: string;
  readonly port: number;
  readonly host: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** @param root PEM of the authority that is trusted; plain HTTP without it */
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

/** Creates a tunnel through the relay name. */
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

/* Continuous, independent requests that record which ones were not answered. */

/** ms that an answer may take on a busy machine. */
const ANSWER_MS = 20_000;

/** Sends one request. @throws Error when there is no answer, or not the right one */
export type Ask = () => Promise<unknown>;

export class Asker {
  readonly faults: string[] = [];
  answered = 0;
  readonly #ask: Ask;
  readonly #loops: readonly Promise<void>[];
  #isOver = false;

  /** @param atOnce requests that are open at any time */
  constructor(ask: Ask, atOnce: number) {
    this.#ask = ask;
    this.#loops = Array.from({ length: atOnce }, () => this.#loop());
  }

  /** Fulfilled when the last request is done. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#loops);
  }

  async #loop(): Promise<void> {
    while (!this.#isOver) {
      try {
        await this.#ask();
        this.answered += 1;
      } catch (error) {
        this.faults.push(String(error));
      }
    }
  }
}

let network = 0;

/** An address of the network that was used least: servers limit each network. */
function nextNetwork(): string {
  network += 1;
  return `127.${1 + (Math.floor(network / 250) % 60)}.${1 + (network % 250)}.1`;
}

/** Asks a DNS server for the TXT records of a name, over UDP, without retrying. */
export async function askUdp(address: string, port: number, name: string): Promise<void> {
  const socket = createSocket('udp4');
  try {
    socket.bind(0, nextNetwork());
    await once(socket, 'listening');
    const answer = once(socket, 'message');
    socket.send(dnsQuery(name), port, address);
    const [packet] = (await within(ANSWER_MS, 'an answer over UDP', answer)) as [Buffer];
    assertAnswered(packet);
  } finally {
    socket.close();
  }
}

/** Asks a DNS server for the TXT records of a name, over a new TCP connection. */
export async function askTcp(address: string, port: number, name: string): Promise<void> {
  const socket = netConnect({ host: address, port, localAddress: nextNetwork() });
  try {
    const query = dnsQuery(name);
    socket.write(Buffer.concat([Buffer.from([query.length >> 8, query.length & 0xff]), query]));
    const answer = once(socket, 'data');
    // Rejects if the connection ends without an answer.
    const end = once(socket, 'close').then(() => Promise.reject(new Error('the connection has ended')));
    end.catch(() => {});
    const [packet] = (await within(ANSWER_MS, 'an answer over TCP', Promise.race([answer, end]))) as [Buffer];
    assertAnswered(packet.subarray(2));
  } finally {
    socket.destroy();
  }
}

/** Sends a plain HTTP request to a port, over a new connection. */
export async function askHttp(address: string, port: number, host: string): Promise<void> {
  const { status } = await visit({ address, port, host, headers: { connection: 'close' } });
  if (status !== 308) throw new Error(`HTTP ${status}`);
}

/** Asserts NOERROR from an authoritative server. */
function assertAnswered(packet: Buffer): void {
  const flags = packet.readUInt16BE(2);
  if ((flags & 0x840f) !== 0x8400) throw new Error(`DNS flags ${flags.toString(16)}`);
}
