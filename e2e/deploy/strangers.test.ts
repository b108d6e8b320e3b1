/**
 * Two tenants and the API behind each proxy as `server/deploy` configures it, with its pool of connections to the
 * relay. One of the tenants is hostile: a service and a visitor work together to make the proxy reuse a connection too
 * early. The proxy could then send another visitor's request to the hostile service, or deliver a response to the wrong
 * visitor.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { Tunnel } from '../../shared/tunnel.ts';
import { AccountPool } from '../support/accounts.ts';
import { Authority } from '../support/certificates.ts';
import { within } from '../support/deadline.ts';
import { Relay } from '../support/programs.ts';
import { formatRequest, RawConnection, type Request, type Response } from '../support/raw-http.ts';
import { suiteScope, testScope } from '../support/scope.ts';
import { closedPort, startHttpService } from '../support/services/listen.ts';
import {
  type LocalConnection,
  type ScriptedService,
  startScriptedService,
} from '../support/services/scripted.ts';
import { behindEachProxy, SHIPPED } from '../support/shipped-proxies.ts';
import { SpecClient } from '../support/spec-client/client.ts';

const SECRET = 'only for visitors of the victim';
const FORGED = '{"error":"invalid api key","code":"invalid-key"}';
const FINAL = `HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: ${FORGED.length}\r\n\r\n${FORGED}`;

/** Sent by a hostile service before its final response, so that a proxy takes it for the final one. */
const INTERIMS: readonly string[] = [
  ...[100, 102, 103, 110, 199].flatMap((status) => [
    `HTTP/1.1 ${status} x\r\nContent-Length: 0\r\n\r\n`,
    `HTTP/1.1 ${status} x\r\nTransfer-Encoding: chunked\r\n\r\n`,
    `HTTP/1.1 ${status} x\r\n\r\n`,
  ]),
  'HTTP/1.1 103 x\r\nContent-Length: 5\r\nLink: </a>; rel=preload\r\n\r\n',
  'HTTP/1.1 103 x\r\nConnection: content-length\r\nContent-Length: 0\r\n\r\n',
  'HTTP/1.1 103 x\r\nTrailer: x\r\nContent-Length: 0\r\n\r\n',
  'HTTP/1.0 103 x\r\nContent-Length: 0\r\n\r\n',
  'HTTP/1.1 100 x\r\n\r\nHTTP/1.1 103 x\r\nContent-Length: 0\r\n\r\n',
];

/** Final responses whose end a proxy might see elsewhere than the relay does. More bytes follow later. */
const FINALS: readonly string[] = [
  'HTTP/1.1 204 x\r\nContent-Length: 0\r\n\r\n',
  `HTTP/1.1 204 x\r\nContent-Length: ${FINAL.length}\r\n\r\n`,
  'HTTP/1.1 204 x\r\nTransfer-Encoding: chunked\r\n\r\n',
  `HTTP/1.1 304 x\r\nContent-Length: ${FINAL.length}\r\n\r\n`,
  'HTTP/1.1 304 x\r\nTransfer-Encoding: chunked\r\n\r\n',
  `HTTP/1.1 205 x\r\nContent-Length: ${FINAL.length}\r\n\r\n`,
  'HTTP/1.1 205 x\r\nTransfer-Encoding: chunked\r\n\r\n',
  'HTTP/1.1 205 x\r\n\r\n',
  'HTTP/1.1 200 x\r\nContent-Length: 0\r\n\r\n',
  `HTTP/1.1 200 x\r\nContent_Length: 0\r\nContent-Length: ${FINAL.length}\r\n\r\n`,
  'HTTP/1.1 200 x\r\nContent-Length: 0\r\nKeep-Alive: timeout=1000\r\nProxy-Connection: keep-alive\r\n\r\n',
  'HTTP/1.1 600 x\r\nContent-Length: 0\r\n\r\n',
  'HTTP/1.1 999 x\r\nContent-Length: 0\r\n\r\n',
  'HTTP/1.0 200 x\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n',
];

function hostOf({ slug }: Tunnel): string {
  return `${slug}.${SHIPPED.tunnelDomain}`;
}

async function answerWithHints(local: LocalConnection): Promise<void> {
  local.write('HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload; as=style\r\n\r\n');
  await delay(20);
  local.write(
    'HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
  );
}

behindEachProxy('strangers on one relay', (startProxy) => {
  const scope = suiteScope();
  const visitors = testScope();
  let port: number;
  let ca: Buffer;
  let service: ScriptedService;
  let evil: string;
  let victim: string;
  let key: string;

  before(async () => {
    const authority = new Authority(scope);
    ca = authority.pem;
    const relay = await Relay.start(scope, SHIPPED.settings);
    port = await closedPort();
    await startProxy(
      scope,
      port,
      relay.port,
      authority.issue(SHIPPED.relayHost, `*.${SHIPPED.tunnelDomain}`),
    );
    service = await startScriptedService(scope);
    const honest = await startHttpService(scope, (_request, response) => response.end(SECRET));
    const pool = new AccountPool(relay);
    evil = hostOf(
      (await SpecClient.start(scope, relay, (await pool.take()).key, { local_port: service.port })).tunnel,
    );
    ({ key } = await pool.take());
    victim = hostOf((await SpecClient.start(scope, relay, key, { local_port: honest.port })).tunnel);
  });

  function tls(protocol: string): TLSSocket {
    const address = { port, host: '127.0.0.1', servername: SHIPPED.relayHost };
    const socket = connectTls({ ...address, ca, ALPNProtocols: [protocol] });
    visitors.defer(() => socket.destroy());
    return socket;
  }

  async function connection(): Promise<RawConnection> {
    const socket = tls('http/1.1');
    await within(20_000, 'TLS', once(socket, 'secureConnect'));
    return RawConnection.over(socket);
  }

  async function ask(request: Request): Promise<Response> {
    const visitor = await connection();
    await visitor.write(formatRequest(request));
    return await visitor.response(request.method);
  }

  /**
   * Sends the hostile visitor's request. @returns also the connection on which the hostile service received its head
   */
  async function attack(request: Partial<Request> = {}): Promise<[RawConnection, LocalConnection]> {
    const visitor = await connection();
    await visitor.write(formatRequest({ host: evil, ...request }));
    const local = await arrival();
    return [visitor, local];
  }

  /** A separate connection to the hostile service, on which a head has arrived. */
  async function arrival(): Promise<LocalConnection> {
    const local = await service.next();
    visitors.defer(() => local.socket.destroy());
    await local.head();
    return local;
  }

  /** Other visitors send requests during the attack. Each gets its own response. */
  async function strangers(meanwhile: () => void): Promise<void> {
    const first = Promise.all([visitVictim(), callApi()]);
    // A visitor who gets the wrong response gets none before that one is written.
    await Promise.race([first, delay(500)]);
    meanwhile();
    await within(20_000, 'responses to strangers', first);
    for (let round = 0; round < 3; round++) await Promise.all([visitVictim(), callApi()]);
  }

  async function visitVictim(): Promise<void> {
    const { status, text: body } = await ask({ host: victim });
    assert.deepEqual([status, body], [200, SECRET]);
  }

  async function callApi(): Promise<void> {
    const headers = [['Authorization', `Bearer ${key}`]] as const;
    const { status, text: body } = await ask({ host: SHIPPED.relayHost, target: '/v1/tunnels', headers });
    assert.equal(status, 200, body);
    assert.ok(body.includes(victim), body);
  }

  for (const method of ['GET', 'HEAD']) {
    for (const interim of INTERIMS) {
      it(`keep their responses from ${JSON.stringify(interim)} to ${method}`, async () => {
        const [visitor, local] = await attack({ method });
        local.write(interim);
        await Promise.race([visitor.reader.exactly(1).catch(() => undefined), delay(100)]);
        await strangers(() => local.write(FINAL));
      });
    }
  }

  for (const method of ['GET', 'HEAD']) {
    for (const answer of FINALS) {
      it(`keep their responses from what follows ${JSON.stringify(answer)} to ${method}`, async () => {
        const [visitor, local] = await attack({ method });
        local.write(answer);
        await Promise.race([visitor.reader.exactly(1).catch(() => undefined), delay(100)]);
        await strangers(() => local.write(FINAL));
      });
    }
  }

  it('are not steered: nothing that a service sends to control the proxy reaches it', async () => {
    const visitor = await connection();
    await visitor.write(formatRequest({ host: evil }));
    const local = await arrival();
    const steering = `X-Accel-Redirect: /other\r\nX-Accel-Limit-Rate: 1\r\nX-Sendfile: /etc/passwd\r\n`;
    local.write(`HTTP/1.1 200 OK\r\n${steering}Content-Length: 5\r\n\r\nhello`);
    const { status, text: body, head } = await within(20_000, 'answer', visitor.response());
    assert.deepEqual([status, body], [200, 'hello']);
    assert.doesNotMatch(head.fields.join('\n'), /accel|sendfile/i);
  });

  it('do not fill its disk: a body that a visitor does not read is not buffered there', async () => {
    // The kernel may hold some tens of MB on the way.
    const SIZE = 192 * 1024 * 1024;
    const [visitor, local] = await attack();
    visitor.socket.pause();
    local.write(`HTTP/1.1 200 OK\r\nX-Accel-Buffering: yes\r\nContent-Length: ${SIZE}\r\n\r\n`);
    const piece = Buffer.alloc(64 * 1024);
    let written = 0;
    let isTaken = true;
    while (isTaken && written < SIZE) {
      written += piece.length;
      if (local.socket.write(piece)) continue;
      isTaken = await Promise.race([once(local.socket, 'drain').then(() => true), delay(1500, false)]);
    }
    assert.ok(written < SIZE / 2, `${written} bytes were taken`);
  });

  it('get early hints and the whole response after them, with HTTP/1.1 and HTTP/2', async () => {
    const visitor = await connection();
    for (let visit = 0; visit < 2; visit++) {
      await visitor.write(formatRequest({ host: evil }));
      await answerWithHints(await arrival());
      const answer = await within(20_000, 'answer', visitor.response());
      assert.deepEqual([answer.status, answer.text], [200, 'hello']);
    }
    const session = connectHttp2(`https://${evil}`, { createConnection: () => tls('h2') });
    visitors.defer(() => session.destroy());
    const stream = session.request({ ':path': '/', ':authority': evil });
    const response = within(20_000, 'answer', once(stream, 'response'));
    await answerWithHints(await arrival());
    const [headers] = (await response) as [IncomingHttpHeaders];
    assert.deepEqual([headers[':status'], await text(stream)], [200, 'hello']);
  });
});
