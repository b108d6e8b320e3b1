/** Things that go wrong around a relay that runs for a long time: each is over within a few seconds. */
import { setTimeout as delay } from 'node:timers/promises';
import type { FaultProxy } from '../../support/fault-proxy.ts';
import { Culvert, type Relay } from '../../support/programs.ts';
import { openRelayDatabase } from '../../support/relay-database.ts';
import { Scope } from '../../support/scope.ts';
import type { HttpService } from '../../support/services/listen.ts';
import { type Behaviour, Crowd, loopbackAddresses } from './crowd.ts';
import type { Tenant } from './tenant.ts';

const BREAK_MS = 1000;
const HANG_MS = 3000;
const CROWD = 200;

export interface SoakStage {
  readonly relay: Relay;
  /** between the tenant's client and the relay */
  readonly network: FaultProxy;
  readonly service: HttpService;
  readonly tenant: Tenant;
}

export type SoakFault = (stage: SoakStage) => Promise<void>;

/** In turn. */
export const SOAK_FAULTS: Readonly<Record<string, SoakFault>> = {
  'a network that breaks': async ({ network }) => {
    await network.cut();
    await delay(BREAK_MS);
    await network.restore();
  },
  'visitors who send nonsense': (stage) =>
    crowded(stage, (socket) => socket.write('GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 2\r\n\r\n')),
  'a client that is frozen': async ({ tenant }) => {
    tenant.culvert.child.kill('SIGSTOP');
    await delay(HANG_MS);
    tenant.culvert.child.kill('SIGCONT');
  },
  'visitors who leave in mid-answer': ({ relay, network, service, tenant }) =>
    crowded({ relay, network, service, tenant }, (socket) => {
      socket.write(`GET /long HTTP/1.1\r\nHost: ${tenant.host}\r\n\r\n`);
      socket.once('data', () => socket.resetAndDestroy());
    }),
  'a locked database': async ({ relay }) => {
    const scope = new Scope();
    const database = await openRelayDatabase(scope, relay);
    await database.holdWrites();
    await delay(HANG_MS);
    await database.release();
    await scope.end();
  },
  'a network that stands still': async ({ network }) => {
    network.stall();
    await delay(HANG_MS);
    network.flow();
  },
  'a service that drops its connections': ({ service }) => {
    for (const socket of service.open) socket.resetAndDestroy();
    return Promise.resolve();
  },
  'a client that is killed': async ({ relay, service, tenant }) => {
    const scope = new Scope();
    const culvert = await Culvert.start(scope, relay, tenant.account.key, service.port);
    culvert.child.kill('SIGKILL');
    await scope.end();
    await tenant.account.api.close(culvert.tunnel.id);
  },
  'idle visitors': (stage) => crowded(stage, (socket) => socket.resume()),
};

/** Lets a crowd come, do something, and leave. */
async function crowded({ relay }: SoakStage, begin: Behaviour['begin']): Promise<void> {
  const scope = new Scope();
  const crowd = new Crowd(scope, {
    port: relay.port,
    size: CROWD,
    arrivalsASecond: CROWD,
    addresses: loopbackAddresses(4),
    behaviour: { begin, goOn: () => {} },
  });
  await crowd.complete();
  await delay(BREAK_MS);
  await scope.end();
}
