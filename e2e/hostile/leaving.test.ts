import assert from 'node:assert/strict';
import { LEAVE_TIMEOUT_MS } from '../../server/edge/timeouts.ts';
import { createAccount } from '../support/accounts.ts';
import { assertWithin, eventually, timed } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { metricsOf, WITH_METRICS } from '../support/memory.ts';
import { familyOf, openFilesOf } from '../support/processes.ts';
import { Culvert, type Environment, Relay, type RelayProcess } from '../support/programs.ts';
import { type Field, formatRequest, RawConnection, WEBSOCKET } from '../support/raw-http.ts';
import { concurrentTests, Scope, suiteScope } from '../support/scope.ts';
import { startRawService } from '../support/services/listen.ts';
import { SHIPPED } from '../support/shipped-proxies.ts';
import { inParallel } from './attacks/attack.ts';
import { type Front, startFronts, straight } from './attacks/fronts.ts';

const WAVES = 6;
const VISITORS = 100;
const BODY = 'x'.repeat(20_000);
/** Responses that end early. */
const CUT = 120;
const CONTENT = 'content '.repeat(5000);
/** More than the kernel buffers for a service that reads nothing, less than it buffers together with a data socket. */
const BLOCKED_BYTES = 5_500_000;

describe('visitors that leave at any moment', () => {
  const scope = suiteScope();

  it(`${WAVES * VISITORS} of them leave nothing behind`, async () => {
    const relay = await Relay.start(scope);
    const service = await startRawService(scope, (socket) => {
      let text = '';
      socket.on('end', () => socket.end());
      socket.on('data', (bytes: Buffer) => {
        text += bytes.toString('latin1');
        if (!text.endsWith(BODY) || text.includes('/never')) return;
        socket.write('HTTP/1.1 200 OK\r\n\r\nand so on');
        const ticking = setInterval(() => socket.write('and on'), 100);
        socket.once('close', () => clearInterval(ticking));
      });
    });
    const culvert = await Culvert.start(scope, relay, relay.bootstrapKey, service.port);
    const host = hostOf(culvert.tunnel, relay);

    /** In the head, in the body, while it waits, and in the response. */
    async function leave(number: number): Promise<void> {
      const visitor = await RawConnection.open(scope, relay.port);
      const moment = number % 4;
      const target = moment === 2 ? '/never' : '/endless';
      const whole = formatRequest({ host, method: 'POST', target, body: BODY });
      const ends = [whole.length - BODY.length - 10, whole.length - 100, whole.length, whole.length];
      await visitor.write(whole.subarray(0, ends[moment]));
      if (moment === 3) assert.equal((await visitor.finalHead()).status, 200);
      // A visitor that closes after its request may just have nothing more to send.
      if (number % 3 === 0 || moment === 2) visitor.reset();
      else visitor.socket.destroy();
    }
    async function wave(): Promise<void> {
      await Promise.all(Array.from({ length: VISITORS }, (_, number) => leave(number)));
      await eventually(30_000, () => assert.equal(service.open.size, 0));
    }
    const sockets = (): number[] => [relay.child, culvert.child].map(socketsOf);
    // Not counted, because a client may keep connections ready once there is traffic.
    await wave();
    const base = await eventually(20_000, () => {
      const counts = sockets();
      assert.ok(Math.max(...counts) < VISITORS / 2, `${counts.join()} sockets after the first wave`);
      return counts;
    });
    for (let left = WAVES; left > 1; left -= 1) await wave();
    await eventually(20_000, () => {
      for (const [index, count] of sockets().entries())
        assert.ok(count <= (base[index] ?? 0), `${count} sockets, ${base.join()} before`);
    });
  });

  it(`${CUT} responses that a service cuts anywhere never look complete`, async () => {
    const relay = await Relay.start(scope, { CULVERT_ADDRESS_CONNECTIONS: '0' });
    const chunk = `${CONTENT.length.toString(16)}\r\n${CONTENT}\r\n0\r\n\r\n`;
    const wholes = [
      `HTTP/1.1 200 OK\r\nContent-Length: ${CONTENT.length}\r\n\r\n${CONTENT}`,
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`,
    ];
    const service = await startRawService(scope, (socket) => {
      socket.once('data', (bytes: Buffer) => {
        const number = Number(/^GET \/(\d+)/.exec(bytes.toString('latin1'))?.[1]);
        const whole = wholes[number % 2] ?? '';
        // In the head, right behind it, in the body, one byte before its end.
        const at = number % 7 === 0 ? whole.length - 1 : 1 + ((number * 7919) % (whole.length - 1));
        socket.write(whole.slice(0, at), () => {
          if (number % 4 < 2) socket.end();
          else setTimeout(() => socket.resetAndDestroy(), 5);
        });
      });
    });
    const { tunnel } = await Culvert.start(scope, relay, relay.bootstrapKey, service.port);
    await inParallel(20, Array(CUT).keys(), async (number) => {
      const visitor = await RawConnection.open(scope, relay.port);
      const version = number % 3 === 0 ? 'HTTP/1.0' : 'HTTP/1.1';
      const outcome = await visitor
        .request({ host: hostOf(tunnel, relay), target: `/${number}`, version })
        .then(({ status }) => status, String);
      assert.match(String(outcome), /^502$|^Error: the (?:stream|body) ended /, `${number}, ${version}`);
    });
  });
});

describe('visitors that close the connection while they wait', () => {
  const it = concurrentTests();

  const rows: readonly (readonly [
    what: string,
    start: (scope: Scope) => Promise<{ readonly relay: Relay; readonly fronts: readonly Front[] }>,
    headers?: readonly Field[],
  ])[] = [
    ['over data sockets', (scope) => alone(scope, { ...WITH_METRICS, CULVERT_TRUNKS: '0' })],
    ['over trunks', (scope) => alone(scope, { ...WITH_METRICS, CULVERT_TRUNKS: '2' })],
    ['before a WebSocket is accepted', (scope) => alone(scope, WITH_METRICS), WEBSOCKET],
    ['when they use a shipped proxy', (scope) => startFronts(scope, WITH_METRICS)],
  ];
  for (const [what, start, headers = []] of rows)
    it(`leave nothing behind ${what}`, async () => {
      const scope = new Scope();
      try {
        const { relay, fronts } = await start(scope);
        const service = await startRawService(scope, (socket) =>
          socket.resume().on('end', () => socket.end()),
        );
        const { host } = await serve(scope, relay, service.port);
        const visitors = await Promise.all(
          fronts.flatMap((front) =>
            Array.from({ length: 10 }, async () => {
              const visitor = await front.open(scope);
              await visitor.write(formatRequest({ host, headers }));
              return visitor;
            }),
          ),
        );
        await eventually(20_000, () => assert.equal(service.open.size, visitors.length));
        const { ms } = await timed(async () => {
          for (const visitor of visitors) visitor.socket.destroy();
          await eventually(60_000, () => assert.equal(service.open.size, 0));
        });
        assertWithin(ms, LEAVE_TIMEOUT_MS + 2000);
        await eventually(20_000, async () => {
          const metrics = await metricsOf(relay);
          for (const gauge of ['visitor_connections', 'data_streams', 'trunk_streams', 'rendezvous_pending'])
            assert.equal(metrics.get(`culvert_${gauge}`) ?? 0, 0, gauge);
        });
      } finally {
        await scope.end();
      }
    });

  it('leave nothing behind if the service reads nothing of their requests', async () => {
    const scope = new Scope();
    try {
      // On shared trunks, no size makes the client wait for the service without making the relay wait as well.
      const { relay, fronts } = await alone(scope, { CULVERT_TRUNKS: '0' });
      const service = await startRawService(scope, (socket) => socket.pause());
      const { culvert, host } = await serve(scope, relay, service.port);
      const before = socketsOf(culvert.child);
      const visitor = await fronts[0]?.open(scope);
      await visitor?.write(formatRequest({ host, method: 'POST', body: Buffer.alloc(BLOCKED_BYTES) }));
      await eventually(20_000, () => assert.equal(service.open.size, 1));
      const { ms } = await timed(async () => {
        visitor?.socket.end();
        await eventually(60_000, () => assert.ok(socketsOf(culvert.child) <= before));
      });
      assertWithin(ms, LEAVE_TIMEOUT_MS + 3000);
    } finally {
      await scope.end();
    }
  });
});

async function alone(scope: Scope, settings: Environment) {
  const relay = await Relay.start(scope, { ...SHIPPED.settings, ...settings });
  return { relay, fronts: [straight(relay.port)] };
}

/** A tunnel of a relay that has the names of the shipped proxies. */
async function serve(scope: Scope, relay: Relay, port: number) {
  const { key } = await createAccount(relay, { plan: 'team' });
  const culvert = await Culvert.start(scope, { url: `http://127.0.0.1:${relay.port}` }, key, port);
  return { culvert, host: `${culvert.tunnel.slug}.${SHIPPED.tunnelDomain}` };
}

/** Number of sockets that a program has open, whatever number of processes it has. */
function socketsOf({ pid }: RelayProcess): number {
  return openFilesOf(...familyOf(pid)).filter((file) => file.startsWith('socket:')).length;
}
