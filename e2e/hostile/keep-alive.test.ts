import assert from 'node:assert/strict';
import { hostOf } from '../support/manual-client.ts';
import { runNginx } from '../support/native-server.ts';
import { Culvert } from '../support/programs.ts';
import { RawConnection, type Request, type Response } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { closedPort, startHttpService, startRawService } from '../support/services/listen.ts';

const PAIRS = 800;
const RACES = 1200;
const VISITORS = 16;

/** Directly, the same is tested in local-reuse.test.ts and in e2e/protocol/connections.test.ts. */
describe('keep-alive connections through a proxy that uses its own for any visitor', () => {
  const { scope, relay } = sharedRelaySuite();
  let port: number;

  before(async () => {
    port = await closedPort();
    await runNginx(
      scope,
      port,
      `upstream relay { server 127.0.0.1:${relay.port}; keepalive 16; }
       server {
         listen 127.0.0.1:${port} backlog=4096;
         location / { proxy_pass http://relay; proxy_http_version 1.1; proxy_set_header Connection "";
           proxy_set_header Host $http_host; proxy_buffering off; proxy_next_upstream off; }
       }`,
    );
  });

  async function serve(servicePort: number): Promise<string> {
    const { tunnel } = await Culvert.start(scope, relay, relay.bootstrapKey, servicePort);
    return hostOf(tunnel, relay);
  }

  /** Makes visitors do `count` things in total, each visitor one after the other on its own connection. */
  async function share(
    count: number,
    act: (ask: (request: Request) => Promise<Response>, index: number) => Promise<void>,
  ): Promise<void> {
    const next = Array(count).keys();
    await Promise.all(
      Array.from({ length: VISITORS }, async () => {
        const visitor = await RawConnection.open(scope, port);
        for (const index of next) await act((request) => visitor.request(request), index);
      }),
    );
  }

  it(`${PAIRS} pairs of requests, alternating between two tunnels, each reach their own`, async () => {
    const hosts = await Promise.all(
      ['a', 'b'].map(async (name) => {
        const service = await startHttpService(scope, ({ url }, response) => response.end(`${name}${url}`));
        return [name, await serve(service.port)] as const;
      }),
    );
    await share(PAIRS, async (ask, index) => {
      for (const [name, host] of hosts)
        assert.equal((await ask({ host, target: `/${index}` })).text, `${name}/${index}`);
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
    const host = await serve(service.port);
    await share(RACES, async (ask, index) => {
      const sent = index % 3 === 0 ? { method: 'POST', body: 'x' } : {};
      const { status, text } = await ask({ host, target: `/${index}`, ...sent });
      assert.deepEqual([status, text], [200, 'ok']);
    });
  });
});
