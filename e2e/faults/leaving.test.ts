import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { assertWithin, eventually, timed } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { Culvert, Relay } from '../support/programs.ts';
import { formatRequest, RawConnection } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { startRawService } from '../support/services/listen.ts';

const WAVES = 10;
const VISITORS = 100;

describe('visitors that leave in the middle of a response', () => {
  const scope = suiteScope();

  it(`${WAVES * VISITORS} of them leave nothing behind`, async () => {
    const relay = await Relay.start(scope);
    const service = await startRawService(scope, (socket) => {
      // Not before the request has come: the client connects only once it has one.
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

    // A first wave, because a client may keep some connections ready once there is traffic.
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

/** Sockets that a process has open (proc(5)); Linux only. */
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
