import assert from 'node:assert/strict';
import { hostOf } from '../support/manual-client.ts';
import { Culvert } from '../support/programs.ts';
import { type Field, RawConnection } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { isLong, Scope } from '../support/scope.ts';
import { FICKLE_RESPONSES, type FickleService, startFickleService } from '../support/services/scripted.ts';

const REQUESTS = isLong ? 4000 : 1500;
const AT_ONCE = 24;
const METHODS = ['GET', 'GET', 'GET', 'GET', 'HEAD', 'OPTIONS', 'POST'] as const;

describe('local connections that serve one visitor after another', () => {
  const { scope, relay } = sharedRelaySuite();
  let service: FickleService;
  let host: string;

  before(async () => {
    service = await startFickleService(scope);
    const { tunnel } = await Culvert.start(scope, relay, relay.bootstrapKey, service.port);
    host = hostOf(tunnel, relay);
  });

  /** A visitor with one request or two. */
  async function visit(index: number): Promise<void> {
    const visitor = new Scope();
    try {
      const connection = await RawConnection.open(visitor, relay.port);
      const kind = FICKLE_RESPONSES[index % FICKLE_RESPONSES.length] ?? '';
      const method = METHODS[Math.floor(index / FICKLE_RESPONSES.length) % METHODS.length] ?? 'GET';
      const isLast = index % 5 !== 0;
      const headers: Field[] = [['Visitor', String(index)]];
      if (index % 11 === 0) headers.push(['Authorization', 'NTLM TlRMTVNTUAAB']);
      headers.push(isLast ? ['Connection', 'close'] : ['Stays', 'yes']);
      await ask(connection, method, `/${index}`, kind, headers);
      if (!isLast && kind !== 'close' && kind !== 'old')
        await ask(connection, 'GET', `/${index}/again`, 'length', headers);
    } finally {
      await visitor.end();
    }
  }

  async function ask(
    connection: RawConnection,
    method: string,
    path: string,
    kind: string,
    headers: readonly Field[],
  ): Promise<void> {
    const body = method === 'POST' ? { body: path } : {};
    const answer = await connection.request({ method, host, target: `/${kind}${path}`, headers, ...body });
    const isBodiless = method === 'HEAD' || kind === 'empty' || kind === 'unchanged';
    const status = kind === 'empty' ? 204 : kind === 'unchanged' ? 304 : 200;
    assert.deepEqual(
      [answer.status, answer.head.field('seen'), answer.text],
      [status, path, isBodiless ? '' : path],
      `${method} /${kind}${path}`,
    );
  }

  it(`${REQUESTS} visitors of a service that closes connections at any time each get their own response`, async () => {
    let next = 0;
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (next < REQUESTS) {
          next += 1;
          await visit(next);
        }
      }),
    );
    assert.ok(service.shared > REQUESTS / 20, `only ${service.shared} requests shared a connection`);
    assert.equal(service.mixed, 0);
    console.log(`      ${service.shared} requests came over ${service.accepted} connections after another's`);
  });
});
