/** What visitors that read nothing cost the relay: 1,000 of them, each with 10 MB on the way. */
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { memoryOf } from '../../support/memory.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import { culvertAnd } from '../peers/peer.ts';
import type { Case } from './case.ts';
import { startTransferService } from './transfers.ts';

const VISITORS = 1000;
const BODY_BYTES = 10_000_000;
/** ms for all buffers to fill up and settle. */
const SETTLE_MS = 5000;

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
      await delay(SETTLE_MS);
      const { resident, peak } = memoryOf(pid);
      bench.samples.add(`slow readers/${name}/KiB each`, (resident - before) / 1024 / VISITORS);
      bench.samples.add(`slow readers/${name}/KiB each at the peak`, (peak - before) / 1024 / VISITORS);
    }
    bench.log('slow-readers: done');
  },
};

/** Asks for a body and does not read it. */
function ask(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => socket.destroy());
  socket.pause();
  socket.write(`GET /${BODY_BYTES} HTTP/1.1\r\nHost: bench.localhost\r\n\r\n`);
  return socket;
}
