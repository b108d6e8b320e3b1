/** Programs that respond before they have read a request, and close: their responses arrive through a tunnel. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Authority } from '../support/certificates.ts';
import { Child } from '../support/child.ts';
import { eventually } from '../support/deadline.ts';
import { openHttp2, request } from '../support/http2.ts';
import { hostOf } from '../support/manual-client.ts';
import { Culvert, Relay, temporaryDirectory } from '../support/programs.ts';
import { RawConnection } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { closedPort, startHttpService } from '../support/services/listen.ts';

const BODY = Buffer.alloc(200_000);
const ROUNDS = 10;

describe('a response that comes before the request was read', () => {
  const scope = suiteScope();
  let authority: Authority;
  let plain: Relay;
  let secure: Relay;

  before(async () => {
    authority = new Authority(scope);
    const { cert, key } = authority.issue('*.tunnels.test');
    const tls = { CULVERT_TLS_CERT: cert, CULVERT_TLS_KEY: key, CULVERT_TUNNEL_DOMAIN: 'tunnels.test' };
    [plain, secure] = await Promise.all([Relay.start(scope), Relay.start(scope, tls)]);
  });

  /** Python's server refuses every POST. */
  async function startPython(): Promise<number> {
    const port = await closedPort();
    const args = ['-m', 'http.server', String(port), '--bind', '127.0.0.1'];
    const child = new Child('/usr/bin/python3', args, { folder: temporaryDirectory(scope) });
    scope.defer(() => child.stop('SIGKILL'));
    await eventually(20_000, async () => {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      socket.destroy();
    });
    return port;
  }

  /** Node's server closes without reading the rest. */
  async function startNode(): Promise<number> {
    const { port } = await startHttpService(scope, (_request, response) => {
      response.writeHead(413, { Connection: 'close' }).end('too large');
    });
    return port;
  }

  for (const [name, start, status] of [
    ["python's http.server", startPython, 501],
    ["Node's server", startNode, 413],
  ] as const) {
    it(`arrives from ${name}, over HTTP/1.1 and HTTP/2`, async () => {
      const port = await start();
      const client = await Culvert.start(scope, plain, plain.bootstrapKey, port);
      for (let round = 0; round < ROUNDS; round += 1) {
        const visitor = await RawConnection.open(scope, plain.port);
        const head = `POST / HTTP/1.1\r\nHost: ${hostOf(client.tunnel, plain)}\r\nContent-Length: ${BODY.length}\r\n\r\n`;
        const sent = visitor.write(Buffer.concat([Buffer.from(head), BODY])).catch(() => {});
        assert.equal((await visitor.response()).status, status);
        await sent;
      }
      const environment = { NODE_EXTRA_CA_CERTS: authority.path };
      const over2 = await Culvert.start(scope, secure, secure.bootstrapKey, port, [], environment);
      const servername = new URL(over2.tunnel.public_url).hostname;
      const session = await openHttp2(scope, { port: secure.port, ca: authority.pem, servername });
      for (let round = 0; round < ROUNDS; round += 1) {
        const fields = { ':method': 'POST', ':path': '/', ':authority': `${servername}:${secure.port}` };
        assert.equal((await request(session, fields, BODY)).status, status);
      }
    });
  }
});
