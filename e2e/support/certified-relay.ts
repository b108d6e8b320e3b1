/** A relay that obtains its own certificates, on its own address, and an authority that finds it through a resolver. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:https';
import { connect as netConnect } from 'node:net';
import { connect, type PeerCertificate } from 'node:tls';
import { dnsQuery } from '../../server/testing/dns-server.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { Api } from './api.ts';
import { Pebble, type PebbleOptions } from './certificates.ts';
import { within } from './deadline.ts';
import { ownAddress, Unbound } from './dns-servers.ts';
import { type Environment, RelayProgram } from './programs.ts';
import { RawConnection } from './raw-http.ts';
import { Scope } from './scope.ts';
import { closedPort } from './services/listen.ts';

export interface CertifiedOptions {
  /** records of the zone `test` in addition to the relay's */
  readonly records?: readonly string[];
  readonly pebble?: PebbleOptions;
  readonly settings?: Environment;
  /** called before each request from the relay to the authority; the request waits for it */
  readonly before?: FaultyAuthority['before'];
}

export class CertifiedRelay {
  readonly relay: RelayProgram;
  readonly pebble: Pebble;
  readonly unbound: Unbound;
  readonly address: string;
  /** the authority's own certificate, PEM */
  readonly root: string;

  private constructor(relay: RelayProgram, pebble: Pebble, unbound: Unbound, address: string, root: string) {
    this.relay = relay;
    this.pebble = pebble;
    this.unbound = unbound;
    this.address = address;
    this.root = root;
  }

  static async start(scope: Scope, options: CertifiedOptions = {}): Promise<CertifiedRelay> {
    const address = ownAddress();
    const { records = [], pebble: wanted, settings, before } = options;
    const unbound = await Unbound.start(scope, [...hostRecords(address), ...records]);
    const pebble = await Pebble.start(scope, { dns: unbound.address, ...wanted });
    const root = await pebble.root();
    const watched = before && (await FaultyAuthority.start(scope, pebble, before));
    const relay = await RelayProgram.start(scope, {
      ...pebble.settings,
      ...(watched && { CULVERT_ACME_DIRECTORY: watched.directory }),
      CULVERT_HOST: address,
      CULVERT_PUBLIC_URL: `https://relay.test:${pebble.tlsPort}`,
      CULVERT_TUNNEL_DOMAIN: 'tunnels.test',
      CULVERT_DNS_PORT: '53',
      CULVERT_RESOLVER: unbound.address,
      ...settings,
    });
    return new CertifiedRelay(relay, pebble, unbound, address, root);
  }

  /** @returns the names on the certificate that the relay presents for a host to a visitor who trusts the authority */
  async namesAt(host: string): Promise<string> {
    const { port } = this.relay;
    const { authorized, certificate } = await shake(port, host, this.root, this.address);
    if (!authorized) throw new Error(`the certificate of ${host} is not trusted`);
    return certificate.subjectaltname ?? '';
  }

  /** The REST interface with a key, over TLS. */
  api(key: string): Api {
    return new Api(this.relay, key, { host: this.address, servername: 'relay.test', ca: this.root });
  }

  /** The log lines of an event. */
  logged(event: string): Record<string, unknown>[] {
    return this.relay.child.stderr
      .split('\n')
      .filter((line) => line.includes(`"msg":"${event}"`))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }
}

/** The records that a relay needs without delegations. */
export function hostRecords(address: string): string[] {
  return [`relay A ${address}`, `*.tunnels A ${address}`, `*.ann.tunnels A ${address}`];
}

/* A proxy between a relay and its certificate authority that can refuse requests itself. */

export interface Refusal {
  readonly status: number;
  /** an ACME error type, such as `rateLimited` */
  readonly type: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export class FaultyAuthority {
  /** what it answers instead of the authority; `cut` closes the connection without an answer */
  fault: Refusal | 'cut' | undefined;
  /** called before a request is forwarded; the request waits for it */
  before: (path: string) => Promise<void> | void;
  /** requests so far */
  asked = 0;
  readonly port: number;

  private constructor(port: number, before: FaultyAuthority['before']) {
    this.port = port;
    this.before = before;
  }

  get directory(): string {
    return `https://localhost:${this.port}/dir`;
  }

  static async start(
    scope: Scope,
    pebble: Pebble,
    before: FaultyAuthority['before'] = () => {},
  ): Promise<FaultyAuthority> {
    const { cert, key } = pebble.authority.issue();
    const authority = new FaultyAuthority(await closedPort(), before);
    const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (asked, answer) => {
      authority.asked += 1;
      const { fault } = authority;
      if (fault === 'cut') return void asked.socket.destroy();
      if (fault !== undefined) {
        const { status, type, headers } = fault;
        const body = JSON.stringify({
          type: `urn:ietf:params:acme:error:${type}`,
          detail: 'as the test wants it',
        });
        answer.writeHead(status, { 'content-type': 'application/problem+json', ...headers }).end(body);
        return;
      }
      // The Host field stays as sent, so the authority's directory contains addresses of this proxy.
      const { method, url: path, headers } = asked;
      const to = { host: 'localhost', port: pebble.port, ca: pebble.authority.pem, method, path, headers };
      const onward = request(to, (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(answer);
      });
      onward.on('error', () => answer.destroy());
      void Promise.resolve(authority.before(path ?? '')).then(() => asked.pipe(onward));
    });
    await new Promise<void>((resolve) => {
      server.listen(authority.port, '127.0.0.1', resolve);
    });
    scope.defer(() => {
      server.close();
      server.closeAllConnections();
    });
    return authority;
  }
}

/* Handshakes with a relay that has its own certificates, at any host name. */

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

/** Creates a tunnel through the relay name. */
export async function createNamed(
  port: number,
  host: string,
  key: string,
  name: string,
  root: string,
): Promise<Tunnel> {
  return await new Api({ port }, key, { servername: host, ca: root }).create({ local_port: 1, name });
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
  const scope = new Scope();
  try {
    const connection = await RawConnection.open(scope, port, undefined, undefined, address);
    const { status } = await connection.request({ host });
    if (status !== 308) throw new Error(`HTTP ${status}`);
  } finally {
    await scope.end();
  }
}

/** Asserts NOERROR from an authoritative server. */
function assertAnswered(packet: Buffer): void {
  const flags = packet.readUInt16BE(2);
  if ((flags & 0x840f) !== 0x8400) throw new Error(`DNS flags ${flags.toString(16)}`);
}
