/** A relay that obtains its own certificates, on its own address, and an authority that finds it through a resolver. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer, request } from 'node:https';
import { json } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { within } from './deadline.ts';
import { ownAddress, Unbound } from './dns-servers.ts';
import { Pebble, type PebbleOptions } from './pebble.ts';
import { type Environment, RelayProgram } from './programs.ts';
import type { Scope } from './scope.ts';
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
    const socket = connect({ host: this.address, port: this.relay.port, servername: host, ca: this.root });
    try {
      await within(60_000, `handshake of ${host}`, once(socket, 'secureConnect'));
      return socket.getPeerX509Certificate()?.subjectAltName ?? '';
    } finally {
      socket.destroy();
    }
  }

  /** Calls the REST interface with a key, over TLS. */
  api(
    key: string,
  ): (method: string, path: string, body?: object) => Promise<{ status: number; json: unknown }> {
    return async (method, path, body) => {
      const socket = request({
        method,
        path,
        host: this.address,
        port: this.relay.port,
        servername: 'relay.test',
        ca: this.root,
        headers: { Host: `relay.test:${this.relay.port}`, Authorization: `Bearer ${key}` },
        timeout: 60_000,
      });
      socket.end(body && JSON.stringify(body));
      const [response] = (await once(socket, 'response')) as [IncomingMessage];
      return { status: response.statusCode ?? 0, json: await json(response) };
    };
  }

  /** @throws Error when the tunnel cannot be created */
  async createTunnel(key: string, name: string): Promise<void> {
    const { status } = await this.api(key)('POST', '/v1/tunnels', { local_port: 3000, name });
    if (status !== 201) throw new Error(`creating ${name} gave ${status}`);
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
