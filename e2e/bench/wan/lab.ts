/**
 * A wide area network on one machine: a visitor, a relay and a client, each in a network namespace, joined by two
 * emulated links (wanlink.c). Needs root, `/dev/net/tun` and Debian's `iproute2`.
 *
 * visitor 10.0.1.2 – 10.0.1.1 relay 10.0.2.1 – 10.0.2.2 client, which moves to 10.0.2.3
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Child } from '../../support/child.ts';
import { within } from '../../support/deadline.ts';
import { reapDirectory } from '../../support/reaper.ts';
import type { Scope } from '../../support/scope.ts';
import type { Profile } from './options.ts';

type Place = 'visitor' | 'relay' | 'client';

/** The relay as its two neighbours see it, and the addresses of the client. */
export const RELAY_ADDRESS = { visitor: '10.0.1.1', client: '10.0.2.1' } as const;
export const CLIENT_ADDRESS = '10.0.2.2';
const NEXT_CLIENT_ADDRESS = '10.0.2.3';

const PREFIX = 'culvert-wan-';
/** The same losses in each run. */
const SEED = '7';
const CONGESTION_CONTROL = 'cubic';
const ALLOWED = '/proc/sys/net/ipv4/tcp_allowed_congestion_control';
/** The network must not wait for the programs that use it. */
const WIRE_NICE = '-15';
const PROGRAM_NICE = '-5';
/** ms that a program may take to end by itself. */
const END_MS = 2000;

/** Compiles the program of a link. */
export function buildWanlink(folder: string): string {
  const file = join(folder, 'wanlink');
  const source = join(import.meta.dirname, 'wanlink.c');
  execFileSync('gcc', ['-O2', '-Wall', '-Wextra', '-o', file, source], { timeout: 60_000 });
  return file;
}

export class Lab {
  readonly #scope: Scope;
  readonly #name: string;
  #clientLink: Child | undefined;

  private constructor(scope: Scope, name: string) {
    this.#scope = scope;
    this.#name = name;
  }

  /**
   * Creates the namespaces and links. They and all programs in them end with the scope.
   *
   * @param name distinguishes it from other labs of this process
   * @param wanlink the compiled program
   * @param names of the relay, which visitor and client resolve to its address
   */
  static async start(
    scope: Scope,
    name: string,
    { visitor, client }: Profile,
    wanlink: string,
    names: readonly string[],
  ): Promise<Lab> {
    const lab = new Lab(scope, name);
    for (const place of ['visitor', 'relay', 'client'] as const) {
      scope.defer(() => remove(lab.#namespaceOf(place)));
      ip('netns', 'add', lab.#namespaceOf(place));
      ip('-n', lab.#namespaceOf(place), 'link', 'set', 'lo', 'up');
    }
    for (const place of ['visitor', 'client'] as const) {
      // `ip netns exec` shows this file as /etc/hosts.
      const folder = join('/etc/netns', lab.#namespaceOf(place));
      mkdirSync(folder, { recursive: true });
      reapDirectory(folder);
      writeFileSync(
        join(folder, 'hosts'),
        `127.0.0.1 localhost\n${RELAY_ADDRESS[place]} ${names.join(' ')}\n`,
      );
    }
    await lab.#join(wanlink, ['visitor', 'wan', '10.0.1.2'], ['relay', 'v', RELAY_ADDRESS.visitor], visitor);
    lab.#clientLink = await lab.#join(
      wanlink,
      ['relay', 'c', RELAY_ADDRESS.client],
      ['client', 'wan', CLIENT_ADDRESS],
      client,
    );
    for (const place of ['visitor', 'relay', 'client'] as const) {
      const settings = { tcp_congestion_control: CONGESTION_CONTROL, tcp_no_metrics_save: '1' };
      for (const [key, value] of Object.entries(settings)) {
        const script = `echo ${value} > /proc/sys/net/ipv4/${key}`;
        ip('netns', 'exec', lab.#namespaceOf(place), 'sh', '-c', script);
      }
    }
    return lab;
  }

  /** Starts a program in a namespace; it ends with the scope. */
  run(
    place: Place,
    program: string,
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ): Child {
    const inside = ['netns', 'exec', this.#namespaceOf(place), 'nice', '-n', PROGRAM_NICE, program, ...args];
    const { PATH = '' } = process.env;
    // Apart, so that a Ctrl-C in a terminal leaves the order of ending to the scope.
    const child = new Child('ip', inside, { environment: { PATH, ...environment }, isApart: true });
    // Whatever is left ends with the namespace: a program's own children may keep its output open.
    this.#scope.defer(() => {
      child.kill('SIGTERM');
      return within(END_MS, 'end', child.exited).catch(() => {});
    });
    return child;
  }

  /** Cuts the client's link, so that it drops every packet. */
  cut(): void {
    this.#clientLink?.kill('SIGUSR1');
  }

  mend(): void {
    this.#clientLink?.kill('SIGUSR2');
  }

  /** Gives the client another address, or its first one again. The previous address is gone immediately. */
  move(back = false): void {
    const [from, to] = back ? [NEXT_CLIENT_ADDRESS, CLIENT_ADDRESS] : [CLIENT_ADDRESS, NEXT_CLIENT_ADDRESS];
    const namespace = this.#namespaceOf('client');
    ip('-n', namespace, 'addr', 'add', `${to}/32`, 'dev', 'wan');
    ip('-n', namespace, 'addr', 'del', `${from}/32`, 'dev', 'wan');
    ip('-n', namespace, 'route', 'replace', 'default', 'dev', 'wan');
  }

  async #join(
    wanlink: string,
    one: readonly [Place, string, string],
    other: readonly [Place, string, string],
    [forward, backward]: readonly [string, string],
  ): Promise<Child> {
    const ends = [one, other].map(([place, device]) => `${this.#namespaceOf(place)}:${device}`);
    const link = new Child('nice', ['-n', WIRE_NICE, wanlink, SEED, ...ends, forward, backward], {
      isApart: true,
    });
    this.#scope.defer(() => link.end(END_MS));
    await link.printed(/^ready$/m, 20_000);
    for (const [[place, device, address], [, , peer]] of [
      [one, other],
      [other, one],
    ] as const) {
      const inside = ['-n', this.#namespaceOf(place)];
      ip(...inside, 'addr', 'add', `${address}/32`, 'dev', device);
      ip(...inside, 'link', 'set', device, 'txqueuelen', '10000', 'up');
      const to = place === 'relay' ? `${peer.replace(/\d+$/, '0')}/24` : 'default';
      ip(...inside, 'route', 'add', to, 'dev', device);
    }
    return link;
  }
  #namespaceOf(place: Place): string {
    return `${PREFIX}${process.pid}-${this.#name}-${place}`;
  }
}

function ip(...args: string[]): string {
  return execFileSync('ip', args, { encoding: 'utf8', timeout: 20_000, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Ends every program in a namespace, such as the sessions of an sshd that has ended, and removes it. */
function remove(namespace: string): void {
  rmSync(join('/etc/netns', namespace), { recursive: true, force: true });
  if (!existsSync(join('/run/netns', namespace))) return;
  for (const pid of ip('netns', 'pids', namespace).split('\n').filter(Boolean)) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It has ended in the meantime.
    }
  }
  ip('netns', 'del', namespace);
}

/** Removes what a killed run has left behind. */
export function removeAbandoned(): void {
  for (const line of ip('netns', 'list').split('\n')) {
    const [name, pid] = new RegExp(`^${PREFIX}(\\d+)-`).exec(line) ?? [];
    if (name !== undefined && !existsSync(`/proc/${pid}`)) remove(name);
  }
}

/** A namespace may only choose a congestion control that is allowed for the whole machine; it is until the scope ends. */
export function allowCongestionControl(scope: Scope): void {
  const allowed = readFileSync(ALLOWED, 'utf8').trim();
  if (allowed.split(' ').includes(CONGESTION_CONTROL)) return;
  writeFileSync(ALLOWED, `${allowed} ${CONGESTION_CONTROL}`);
  scope.defer(() => writeFileSync(ALLOWED, allowed));
}

/** A response with status 200 to one of the requests that are made all the time; times in ms since 1970. */
interface Answer {
  readonly system: string;
  readonly asked: number;
  readonly answered: number;
}

/** A system that does not respond for so many ms is lost. ssh may need two minutes until its server frees the port. */
const LOST_MS = 180_000;

/**
 * @param line an {@link Answer} as JSON
 * @param from when the disturbance began: only requests after that count
 * @param to when it was over
 * @returns s between its end and this response; `undefined` for a response of another system or moment
 */
export function secondsUntil(line: string, system: string, from: number, to: number): number | undefined {
  const answer = JSON.parse(line) as Answer;
  const counts = answer.system === system && answer.asked > from && answer.answered > to;
  return counts ? (answer.answered - to) / 1000 : undefined;
}

/**
 * Disturbs all systems together, while a visitor makes requests through each of them.
 *
 * @param visitor a program that prints every {@link Answer}
 * @param systems those that are to respond again
 * @param cutMs how long the link is cut; without it the client gets another address
 * @returns s for each system, `undefined` for one that was lost
 */
export async function disturb(
  lab: Lab,
  visitor: Child,
  systems: readonly string[],
  cutMs: number | undefined,
): Promise<Map<string, number | undefined>> {
  const untilAnswers = async (from: number, to: number): Promise<Map<string, number | undefined>> => {
    const first = (system: string): Promise<number | undefined> =>
      visitor.line((line) => secondsUntil(line, system, from, to), LOST_MS).catch(() => undefined);
    return new Map(await Promise.all(systems.map(async (system) => [system, await first(system)] as const)));
  };
  await untilAnswers(0, 0);
  const from = Date.now();
  if (cutMs === undefined) lab.move();
  else {
    lab.cut();
    await delay(cutMs);
    lab.mend();
  }
  const result = await untilAnswers(from, Date.now());
  if (cutMs === undefined) {
    lab.move(true);
    await untilAnswers(Date.now(), Date.now());
  }
  await visitor.end();
  return result;
}
