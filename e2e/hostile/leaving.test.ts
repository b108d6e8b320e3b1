import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { LEAVE_TIMEOUT_MS } from '../../server/edge/timeouts.ts';
import { createAccount } from '../support/accounts.ts';
import { assertWithin, eventually, timed } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { metricsOf, WITH_METRICS } from '../support/memory.ts';
import { Culvert, type Environment, Relay } from '../support/programs.ts';
import { formatRequest, RawConnection, type Request } from '../support/raw-http.ts';
import { concurrentTests, Scope, suiteScope } from '../support/scope.ts';
import { startRawService } from '../support/services/listen.ts';
import { SHIPPED } from '../support/shipped-proxies.ts';
import { type Fronts, startFronts, straight } from './attacks/fronts.ts';

const WAVES = 10;
const VISITORS = 100;
/** More than the kernel buffers for a service that reads nothing, less than it buffers together with a data socket. */
const BLOCKED_BYTES = 5_500_000;

describe('visitors that leave in the middle of a response', () => {
  const scope = suiteScope();

  it(`${WAVES * VISITORS} of them leave nothing behind`, async () => {
    const relay = await Relay.start(scope);
    const service = await startRawService(scope, (socket) => {
      // Not before the request has arrived: the client connects only once it has one.
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\nand so on');
        const ticking = setInterval(() => socket.write('and on'), 100);
        socket.once('close', () => clearInterval(ticking));
      });
    });
    const culvert = await Culvert.start(scope, relay, relay.bootstrapKey, service.port);
    const host = hostOf(culvert.tunnel, relay);

    async function wave(): Promise<void> {
      const visitors = await Promise.all(
        Array.from({ length: VISITORS }, async () => {
          const visitor = await RawConnection.open(scope, relay.port);
          await visitor.write(formatRequest({ host }));
          const head = await visitor.finalHead();
          assert.equal(head.status, 200, head.field('culvert-error'));
          return visitor;
        }),
      );
      assert.equal(service.open.size, VISITORS);
      const { ms } = await timed(async () => {
        for (const [index, visitor] of visitors.entries()) {
          if (index % 2 === 0) visitor.reset();
          else visitor.socket.destroy();
        }
        await eventually(20_000, () => assert.equal(service.open.size, 0));
      });
      assertWithin(ms, 1000);
    }

    // Not counted, because a client may keep connections ready once there is traffic.
    await wave();
    const sockets = (): number[] => [relay.child.pid, culvert.child.pid].map(socketsOf);
    const base = await eventually(20_000, () => {
      const counts = sockets();
      assert.ok(
        counts.every((count) => count < VISITORS / 2),
        `${counts.join()} sockets after the first wave`,
      );
      return counts;
    });
    for (let left = WAVES; left > 0; left -= 1) await wave();
    await eventually(20_000, () => {
      for (const [index, count] of sockets().entries())
        assert.ok(count <= (base[index] ?? 0), `${count} sockets, ${base.join()} before`);
    });
  });
});

describe('visitors that close the connection while they wait', () => {
  const it = concurrentTests();

  for (const [way, trunks] of [
    ['data sockets', '0'],
    ['trunks', '2'],
  ] as const)
    it(`leave nothing behind over ${way}`, async () => {
      const scope = new Scope();
      try {
        await leave(
          scope,
          await stage(scope, () => alone(scope, { ...WITH_METRICS, CULVERT_TRUNKS: trunks })),
        );
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
      const { key } = await createAccount(relay, { plan: 'team' });
      const address = { url: `http://127.0.0.1:${relay.port}` };
      const culvert = await Culvert.start(scope, address, key, service.port);
      const before = socketsOf(culvert.child.pid);
      const visitor = await fronts[0]?.open(scope);
      const host = `${culvert.tunnel.slug}.${SHIPPED.tunnelDomain}`;
      await visitor?.write(formatRequest({ host, method: 'POST', body: Buffer.alloc(BLOCKED_BYTES) }));
      await eventually(20_000, () => assert.equal(service.open.size, 1));
      const { ms } = await timed(async () => {
        visitor?.socket.end();
        await eventually(60_000, () => assert.ok(socketsOf(culvert.child.pid) <= before));
      });
      assertWithin(ms, LEAVE_TIMEOUT_MS + 3000);
    } finally {
      await scope.end();
    }
  });

  it('leave nothing behind before a WebSocket is accepted', async () => {
    const scope = new Scope();
    try {
      const upgrade = [
        ['Connection', 'Upgrade'],
        ['Upgrade', 'websocket'],
      ] as const;
      await leave(scope, await stage(scope, () => alone(scope, WITH_METRICS)), upgrade);
    } finally {
      await scope.end();
    }
  });

  it('leave nothing behind when they use a shipped proxy', async () => {
    const scope = new Scope();
    try {
      await leave(scope, await stage(scope, () => startFronts(scope, WITH_METRICS)));
    } finally {
      await scope.end();
    }
  });
});

/** A relay, and a tunnel to a service that never answers. */
async function stage(scope: Scope, fronts: () => Promise<Pick<Fronts, 'relay' | 'fronts'>>) {
  const started = await fronts();
  const service = await startRawService(scope, (socket) => socket.resume().on('end', () => socket.end()));
  const { key } = await createAccount(started.relay, { plan: 'team' });
  const address = { url: `http://127.0.0.1:${started.relay.port}` };
  const { tunnel } = await Culvert.start(scope, address, key, service.port);
  return { ...started, service, host: `${tunnel.slug}.${SHIPPED.tunnelDomain}` };
}

async function alone(scope: Scope, settings: Environment): Promise<Pick<Fronts, 'relay' | 'fronts'>> {
  const relay = await Relay.start(scope, { ...SHIPPED.settings, ...settings });
  return { relay, fronts: [straight(relay.port)] };
}

/** All of them send a request and leave once the service has it. 10 s later, both sides must have released it. */
async function leave(
  scope: Scope,
  { relay, fronts, service, host }: Awaited<ReturnType<typeof stage>>,
  headers: Request['headers'] = [],
): Promise<void> {
  for (const front of fronts) {
    const visitors = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const visitor = await front.open(scope);
        await visitor.write(formatRequest({ host, headers }));
        return visitor;
      }),
    );
    await eventually(20_000, () => assert.equal(service.open.size, visitors.length));
    const { ms } = await timed(async () => {
      for (const visitor of visitors) visitor.socket.destroy();
      await eventually(60_000, () => assert.equal(service.open.size, 0, front.name));
    });
    assertWithin(ms, LEAVE_TIMEOUT_MS + 2000);
  }
  await eventually(20_000, async () => {
    const metrics = await metricsOf(relay);
    for (const gauge of ['visitor_connections', 'data_streams', 'trunk_streams', 'rendezvous_pending'])
      assert.ok(!((metrics.get(`culvert_${gauge}`) ?? 0) > 0), `${gauge} ${metrics.get(`culvert_${gauge}`)}`);
  });
}

/** Number of sockets that a process has open (proc(5)). Linux only. */
function socketsOf(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((name) => isSocket(`${folder}/${name}`)).length;
}

function isSocket(path: string): boolean {
  try {
    return readlinkSync(path).startsWith('socket:');
  } catch {
    return false;
  }
}
