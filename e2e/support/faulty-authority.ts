/** What goes wrong between a relay and its certificate authority: a proxy that refuses in its place. */
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:https';
import type { Pebble } from './pebble.ts';
import type { Scope } from './scope.ts';
import { closedPort } from './services/listen.ts';

export interface Refusal {
  readonly status: number;
  /** of ACME, such as `rateLimited` */
  readonly type: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export class FaultyAuthority {
  /** what it answers in place of the authority; `cut` answers nothing */
  fault: Refusal | 'cut' | undefined;
  /** called before a request is passed on, which waits for it */
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
      // With the Host as sent, the authority's addresses lead here.
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
