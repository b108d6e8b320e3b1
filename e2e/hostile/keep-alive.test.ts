import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { hostOf } from '../support/manual-client.ts';
import { runNginx } from '../support/native-server.ts';
import { Culvert, Relay } from '../support/programs.ts';
import { isLong, type Scope, suiteScope } from '../support/scope.ts';
import { closedPort, startHttpService, startRawService } from '../support/services/listen.ts';

const PAIRS = isLong ? 3000 : 1000;
const RACES = isLong ? 4000 : 1500;
const VISITORS = 16;

interface VisitResponse {
  readonly status: number;
  readonly text: string;
}

/** One visitor's connection, kept open between its requests. */
class Visitor {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #port: number;

  constructor(scope: Scope, port: number) {
    this.#port = port;
    scope.defer(() => this.#agent.destroy());
  }

  async fetch(method: string, host: string, path: string): Promise<VisitResponse> {
    return await new Promise((resolve, reject) => {
      const sent = request(
        { port: this.#port, host: '127.0.0.1', method, path, headers: { Host: host }, agent: this.#agent },
        (response) => {
          let text = '';
          response.setEncoding('latin1').on('data', (piece: string) => (text += piece));
          response.on('end', () => resolve({ status: response.statusCode ?? 0, text })).on('error', reject);
        },
      );
      sent.on('error', reject).setTimeout(20_000, () => sent.destroy(new Error(`no answer to ${path}`)));
      sent.end(method === 'POST' ? path : undefined);
    });
  }
}

/** Makes the visitors do `count` things in total, each visitor one after the other. */
async function share(
  scope: Scope,
  port: number,
  count: number,
  act: (visitor: Visitor, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: VISITORS }, async () => {
      const visitor = new Visitor(scope, port);
      while (next < count) {
        const index = next;
        next += 1;
        await act(visitor, index);
      }
    }),
  );
}

/** Starts nginx, which reuses its connections to the relay for any visitor. @returns its port */
async function startPoolingProxy(scope: Scope, relayPort: number): Promise<number> {
  const port = await closedPort();
  await runNginx(
    scope,
    port,
    `upstream relay { server 127.0.0.1:${relayPort}; keepalive 16; }
     server {
       listen 127.0.0.1:${port} backlog=4096;
       location / { proxy_pass http://relay; proxy_http_version 1.1; proxy_set_header Connection "";
         proxy_set_header Host $http_host; proxy_buffering off; proxy_next_upstream off; }
     }`,
  );
  return port;
}

for (const proxied of [false, true]) {
  const through = proxied ? 'through a proxy that pools its connections' : 'directly';

  describe(`keep-alive connections, ${through}`, () => {
    const scope = suiteScope();
    let relay: Relay;
    let port: number;

    before(async () => {
      relay = await Relay.start(scope);
      port = proxied ? await startPoolingProxy(scope, relay.port) : relay.port;
    });

    it(`${PAIRS} pairs of requests, alternating between two tunnels, each reach their own`, async () => {
      const hosts: string[] = [];
      for (const name of ['a', 'b']) {
        const service = await startHttpService(scope, ({ url }, response) => {
          response.end(`${name}${url ?? ''}`);
        });
        const { tunnel } = await Culvert.start(scope, relay, relay.bootstrapKey, service.port);
        hosts.push(hostOf(tunnel, relay));
      }
      const [a = '', b = ''] = hosts;
      await share(scope, port, PAIRS, async (visitor, index) => {
        assert.equal((await visitor.fetch('GET', a, `/a/${index}`)).text, `a/a/${index}`);
        assert.equal((await visitor.fetch('GET', b, `/b/${index}`)).text, `b/b/${index}`);
      });
    });

    it(`${RACES} requests to a service that closes connections it promised to keep all get a response`, async () => {
      const service = await startRawService(scope, (socket) => {
        let taken = 0;
        socket.on('data', (bytes: Buffer) => {
          if (!bytes.includes('\r\n\r\n')) return;
          taken += 1;
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
          // Immediately, and at the moment when the next request is likely to arrive.
          if (taken % 2 === 0) setImmediate(() => socket.end());
          else setTimeout(() => socket.end(), service.accepted % 6);
        });
      });
      const { tunnel } = await Culvert.start(scope, relay, relay.bootstrapKey, service.port);
      const host = hostOf(tunnel, relay);
      await share(scope, port, RACES, async (visitor, index) => {
        const method = index % 3 === 0 ? 'POST' : 'GET';
        assert.deepEqual(await visitor.fetch(method, host, `/${index}`), { status: 200, text: 'ok' });
      });
    });
  });
}
