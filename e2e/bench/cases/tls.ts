/** Requests a second with TLS between visitors and relay, as a relay on the internet has it: kept and new connections. */
import { Authority } from '../../support/certificates.ts';
import { culvertAnd } from '../peers/peer.ts';
import { rotated } from '../stats.ts';
import type { Case } from './case.ts';
import { measureRequests, startHello, warmUp } from './requests.ts';

const LOADS = [false, true].map((closing) => ({ connections: 16, closing, secure: true }));

export const tls: Case = {
  name: 'tls',
  async run(scope, bench) {
    const servicePort = await startHello(scope);
    const authority = new Authority(scope);
    const running = [];
    for (const each of culvertAnd(bench.peers, 'nginx')) {
      const peer = await each.startTls?.(scope, servicePort, authority);
      if (peer !== undefined) running.push({ name: each.name, peer });
    }
    for (const { peer } of running) await warmUp(scope, peer, { secure: true });
    for (let round = 1; round <= bench.rounds; round += 1) {
      for (const load of LOADS) {
        const mode = load.closing ? 'new' : 'keep-alive';
        for (const { name, peer } of rotated(running, round)) {
          await measureRequests(scope, bench, `TLS, ${mode} c16/${name}`, load, peer);
        }
      }
      bench.log(`tls: round ${round} of ${bench.rounds}`);
    }
  },
};
