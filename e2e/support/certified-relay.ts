/** A relay that obtains its own certificates, on its own address, and an authority that finds it through a resolver. */
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:https';
import { connect, createSecureContext, type PeerCertificate, type SecureContext } from 'node:tls';
import type { Tunnel } from '../../shared/tunnel.ts';
import { Api } from './api.ts';
import { Pebble, type PebbleOptions } from './certificates.ts';
import { ownAddress, Unbound } from './dns-servers.ts';
import { type Environment, RelayProgram } from './programs.ts';
import type { Scope } from './scope.ts';
import { closedPort } from './services/listen.ts';

interface CertifiedOptions {
  /** records of the zone `test` in addition to the relay's */
  readonly records?: readonly string[];
  readonly pebble?: PebbleOptions;
  readonly settings?: Environment;
  /** called before each request from the relay to the authority; the request waits for it */
  readonly before?: FaultyAuthority['before'];
}

export type CertifiedRelay = Awaited<ReturnType<typeof startCertifiedRelay>>;

export async function startCertifiedRelay(scope: Scope, options: CertifiedOptions = {}) {
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
  return {
    relay,
    pebble,
    unbound,
    address,
    /** the authority's own certificate, PEM */
    root,

    /** @returns the names on the certificate that the relay presents for a host to a visitor who trusts the authority */
    async namesAt(host: string): Promise<string> {
      const { authorized, certificate } = await shake(relay.port, host, root, address);
      if (!authorized) throw new Error(`the certificate of ${host} is not trusted`);
      return certificate.subjectaltname ?? '';
    },

    /** The REST interface with a key, over TLS. */
    api: (key: string): Api => new Api(relay, key, { host: address, servername: 'relay.test', ca: root }),

    /** The log lines of an event. */
    logged(event: string): Record<string, unknown>[] {
      return relay.child.stderr
        .split('\n')
        .filter((line) => line.includes(`"msg":"${event}"`))
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    },
  };
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
interface Shaken {
  /** whether browsers would accept the certificate */
  readonly authorized: boolean;
  readonly certificate: PeerCertificate;
  readonly protocol: string;
}

/** by root; some tests shake hands thousands of times */
const trusting = new Map<string, SecureContext>();

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
  const secureContext = trusting.get(root) ?? createSecureContext({ ca: root });
  trusting.set(root, secureContext);
  return new Promise((resolve, reject) => {
    const socket = connect({
      port,
      host: address,
      ...(host !== undefined && { servername: host }),
      secureContext,
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
