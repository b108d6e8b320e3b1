/** What visitors that read nothing cost the relay: 1,000 of them, each with 10 MB on the way. */
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { memoryOf } from '../../support/memory.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import { culvertAnd } from '../peers/peer.ts';
import { cpuSeconds } from '../processes.ts';
import type { Case } from './case.ts';
import { startTransferService } from './transfers.ts';

const VISITORS = 1000;
const BODY_BYTES = 10_000_000;
/** ms without any work of the relay after which all buffers are full: the system takes some 4 MB for each. */
const QUIET_MS = 2000;
/** seconds of CPU in that time that it uses for its own sake */
const IDLE_SECONDS = 0.03;
const FULL_MS = 120_000;

export const slowReaders: Case = {
  name: 'slow-readers',
  async run(scope, bench) {
    const servicePort = await startTransferService(scope);
    for (const { name, relaySettings } of culvertAnd(bench.peers)) {
      const relay = await Relay.start(scope, relaySettings);
      await Culvert.start(scope, relay, relay.bootstrapKey, servicePort, ['--name', 'bench']);
      await delay(1000);
      const { pid } = relay.child;
      const before = memoryOf(pid).resident;
      const sockets = Array.from({ length: VISITORS }, () => ask(relay.port));
      scope.defer(() => {
        for (const socket of sockets) socket.destroy();
      });
      await quiet(pid);
      const { resident, peak } = memoryOf(pid);
      bench.samples.add(`slow readers/${name}/KiB each`, (resident - before) / 1024 / VISITORS);
      bench.samples.add(`slow readers/${name}/KiB each at the peak`, (peak - before) / 1024 / VISITORS);
    }
    bench.log('slow-readers: done');
  },
};

/** Waits until the relay has nothing to do. */
async function quiet(pid: number): Promise<void> {
  const until = performance.now() + FULL_MS;
  for (let before = -1, now = cpuSeconds([pid]); now - before > IDLE_SECONDS; ) {
    if (performance.now() > until) throw new Error('the relay did not come to rest');
    await delay(QUIET_MS);
    [before, now] = [now, cpuSeconds([pid])];
  }
}

/** Asks for a body and does not read it. */
function ask(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => socket.destroy());
  socket.pause();
  socket.write(`GET /${BODY_BYTES} HTTP/1.1\r\nHost: bench.localhost\r\n\r\n`);
  return socket;
}
