/**
 * `npm run load [-- MINUTES]`: ordinary work with a fault every 20 s, and what the relay and the client still use at
 * the end. Exits with 1 if either grows, crashes or logs an internal error.
 */
import { readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createAccount } from '../support/accounts.ts';
import { openRelayDatabase } from '../support/database.ts';
import { eventually } from '../support/deadline.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { Load, mixedRequests, tallyOf } from '../support/load.ts';
import { hostOf } from '../support/manual-client.ts';
import { residentOf } from '../support/memory.ts';
import { familyOf, openFilesOf } from '../support/processes.ts';
import {
  Culvert,
  type Environment,
  Relay,
  type RelayProcess,
  temporaryDirectory,
} from '../support/programs.ts';
import { Scope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';

const MIB = 1024 ** 2;
const SLOT_MS = 20_000;
const REQUESTS_A_SECOND = 200;
const VISITORS = 16;
const BREAK_MS = 1000;
const HANG_MS = 3000;
const CROWD = 200;
const LONG = Buffer.alloc(500_000, 'x');
/** Code that is compiled later takes 0.2 to 0.6 MiB. */
const LIVE_MIB_MAX = 2;
/** Connections in flight when a program was looked at. */
const DESCRIPTORS_MAX = 5;
const PROBE = new URL('heap-probe.mjs', import.meta.url).href;

/** A program of one or several processes, and how much it uses after each garbage collection. */
class Watched {
  readonly name: string;
  readonly program: RelayProcess;
  readonly processes: readonly number[];
  readonly #folder: string;
  readonly live: number[] = [];
  readonly descriptors: number[] = [];

  constructor(name: string, program: RelayProcess, folder: string) {
    this.name = name;
    this.program = program;
    this.processes = familyOf(program.pid);
    this.#folder = folder;
  }

  async look(): Promise<void> {
    let bytes = 0;
    for (const pid of this.processes) {
      const file = join(this.#folder, String(pid));
      rmSync(file, { force: true });
      process.kill(pid, 'SIGUSR2');
      bytes += Number(await eventually(60_000, () => readFileSync(file, 'utf8')));
    }
    this.live.push(bytes / MIB);
    this.descriptors.push(openFilesOf(...this.processes).length);
  }

  /** What is wrong with it: growth in the second half of the run, stack traces and internal errors in its log. */
  get faults(): string[] {
    const lines = this.program.stderr.split('\n').filter((line) => line !== '');
    return [
      ...(this.program.hasExited ? ['it has ended'] : []),
      ...(grown(this.live) > LIVE_MIB_MAX * this.processes.length
        ? [`its heap grew: ${this.live.map((mib) => mib.toFixed(1)).join(' ')}`]
        : []),
      ...(grown(this.descriptors) > DESCRIPTORS_MAX * this.processes.length
        ? [`its descriptors grew: ${this.descriptors.join(' ')}`]
        : []),
      ...lines.filter(
        (line) => !line.startsWith('{') || /"msg":"(internal error|relay crashed|worker lost)"/.test(line),
      ),
    ].map((fault) => `${this.name}: ${fault}`);
  }
}

/** From the middle of the run to its end. */
function grown(values: readonly number[]): number {
  return (values.at(-1) ?? NaN) - (values[Math.floor(values.length / 2)] ?? NaN);
}

function reporting(folder: string): Environment {
  return { HEAP_REPORT: folder, NODE_OPTIONS: `--expose-gc --import=${PROBE}` };
}

/** @returns whether nothing was wrong */
async function soak(slots: number): Promise<boolean> {
  const reports = temporaryDirectory(scope);
  const relay = await Relay.start(scope, reporting(reports));
  const service = await startHttpService(scope, (request, response) => {
    response.end(request.url === '/long' ? LONG : 'ok');
  });
  const network = await FaultProxy.start(scope, relay.port);
  const { key, api } = await createAccount(relay, { plan: 'team' });
  const culvert = await Culvert.start(scope, network, key, service.port, [], reporting(reports));
  const host = hostOf(culvert.tunnel, relay);
  const watched = [new Watched('relay', relay.child, reports), new Watched('client', culvert.child, reports)];

  /** Lets a crowd connect, do something, and leave. */
  const crowd = async (begin: (socket: Socket) => void): Promise<void> => {
    const sockets = Array.from({ length: CROWD }, (_, index) =>
      connect({ port: relay.port, host: '127.0.0.1', localAddress: `127.0.0.${2 + (index % 4)}` }),
    );
    for (const socket of sockets) {
      socket.on('error', () => socket.destroy());
      socket.once('connect', () => begin(socket));
    }
    await delay(BREAK_MS);
    for (const socket of sockets) socket.destroy();
  };
  const faults: Readonly<Record<string, () => Promise<void>>> = {
    'a network that breaks': async () => {
      await network.cut();
      await delay(BREAK_MS);
      await network.restore();
    },
    'visitors who send nonsense': () =>
      crowd((socket) => socket.write('GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 2\r\n\r\n')),
    'a client that is frozen': async () => {
      culvert.child.kill('SIGSTOP');
      await delay(HANG_MS);
      culvert.child.kill('SIGCONT');
    },
    'visitors who leave in the middle of a response': () =>
      crowd((socket) => {
        socket.write(`GET /long HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
        socket.once('data', () => socket.resetAndDestroy());
      }),
    'a locked database': async () => {
      const part = new Scope();
      const database = await openRelayDatabase(part, relay);
      await database.holdWrites();
      await delay(HANG_MS);
      await database.release();
      await part.end();
    },
    'a network that stands still': async () => {
      network.stall();
      await delay(HANG_MS);
      network.flow();
    },
    'a service that drops its connections': () => {
      for (const socket of service.open) socket.resetAndDestroy();
      return Promise.resolve();
    },
    'a client that is killed': async () => {
      const part = new Scope();
      const other = await Culvert.start(part, relay, key, service.port);
      other.child.kill('SIGKILL');
      await part.end();
      await api.close(other.tunnel.id);
    },
    'idle visitors': () => crowd((socket) => socket.resume()),
  };

  const names = Object.keys(faults);
  for (let slot = 0; slot < slots; slot += 1) {
    const name = names[slot % names.length] ?? '';
    const load = new Load(relay.port, REQUESTS_A_SECOND, VISITORS, mixedRequests(host));
    await Promise.all([faults[name]?.(), delay(SLOT_MS)]);
    await load.stop();
    const { sent, failed } = tallyOf(load.asked, () => 'ok');
    for (const each of watched) await each.look();
    const use = watched.map((each) => {
      const resident = (residentOf(each.processes) / MIB).toFixed();
      return `${each.name} ${each.live.at(-1)?.toFixed(1)} of ${resident} MiB, ${each.descriptors.at(-1)} descriptors`;
    });
    console.log(`${slot + 1}/${slots} ${name}: ${failed.length} of ${sent} failed; ${use.join('; ')}`);
  }
  const wrong = watched.flatMap((each) => each.faults);
  for (const fault of wrong) console.log(fault);
  return wrong.length === 0;
}

const minutes = Number(process.argv[2] ?? 30);
if (!(minutes >= 1)) throw new Error(`MINUTES must be a number from 1, not ${process.argv[2]}`);
const scope = new Scope();
try {
  process.exitCode = (await soak(Math.ceil((minutes * 60_000) / SLOT_MS))) ? 0 : 1;
} finally {
  await scope.end();
}
