/** The figures to reach: ratios of measures of one run, and what each must be. */
import type { Samples } from './stats.ts';

export interface Figure {
  readonly what: string;
  readonly against: string;
  readonly goal: number;
  /** whether the value must be at most the goal, instead of at least */
  readonly atMost: boolean;
  readonly value: (samples: Samples) => number | undefined;
}

export const FIGURES: readonly Figure[] = [
  ...perSecond('keep-alive', 16, 'floor', 0.95),
  ...perSecond('keep-alive', 64, 'floor', 0.95),
  ...perSecond('keep-alive', 16, 'ssh', 1.2),
  ...perSecond('keep-alive', 16, 'localtunnel', 8),
  ...perSecond('keep-alive', 64, 'localtunnel', 8),
  ...perSecond('keep-alive', 16, 'nginx', 0.4),
  ...perSecond('keep-alive', 64, 'nginx', 0.35),
  ...perSecond('new', 16, 'floor', 0.95),
  ...perSecond('new', 64, 'floor', 0.95),
  ...perSecond('new', 16, 'localtunnel', 1.5),
  ...perSecond('new', 64, 'localtunnel', 1.8),
  figure('first byte to a new visitor, 50 ms each way', 'direct + one round trip', '<=', 1.1, (samples) =>
    samples.ratio('first byte, 50 ms/culvert/ms', 'first byte, 50 ms/direct + one round trip/ms'),
  ),
  figure('p99, keep-alive c16', 'floor', '<=', 1.2, (samples) =>
    samples.ratio('keep-alive c16/culvert/p99 ms', 'keep-alive c16/floor/p99 ms'),
  ),
  ...transfer('download', 'nginx', 0.6),
  ...transfer('upload', 'nginx', 0.6),
  ...transfer('download', 'ssh', 1.3),
  ...transfer('upload', 'ssh', 1.3),
  figure('CPU of relay and client, 1 GiB down', 'floor', '<=', 1.4, (samples) => {
    const culvert = bothEnds(samples, 'culvert');
    const floor = bothEnds(samples, 'floor');
    return culvert === undefined || floor === undefined ? undefined : culvert / floor;
  }),
  ...crowded('keep-alive', 0.95),
  ...crowded('new', 0.9),
  figure('relay RSS for an idle tunnel, KiB', '10,000 of them', '<=', 8, (samples) => {
    const many = samples.median('idle tunnels 10000/culvert/RSS KiB');
    const one = samples.median('idle tunnels 1/culvert/RSS KiB');
    return many === undefined || one === undefined ? undefined : (many - one) / 9999;
  }),
  figure('relay RSS for a slow reader, KiB', '1,000 of them', '<=', 64, (samples) =>
    samples.median('slow readers/culvert/KiB each'),
  ),
  ...startUp('culvert --version', 4),
  ...startUp('culvert list', 4),
  ...startUp('culvert-relay --version', 4),
  ...startUp('culvert-relay account list', 4),
  ...startUp('culvert-relay key create', 4),
  ...startUp('culvert-relay serve', 8),
];

function figure(
  what: string,
  against: string,
  sign: '<=' | '>=',
  goal: number,
  value: Figure['value'],
): Figure {
  return { what, against, goal, atMost: sign === '<=', value };
}

function perSecond(mode: string, connections: number, peer: string, goal: number): Figure[] {
  const load = `${mode} c${connections}`;
  const value: Figure['value'] = (samples) => samples.ratio(`${load}/culvert/req/s`, `${load}/${peer}/req/s`);
  return [figure(`requests/s, ${load}`, peer, '>=', goal, value)];
}

function transfer(direction: string, peer: string, goal: number): Figure[] {
  const value: Figure['value'] = (samples) =>
    samples.ratio(`${direction}/culvert/MB/s`, `${direction}/${peer}/MB/s`);
  return [figure(`${direction} of 1 GiB`, peer, '>=', goal, value)];
}

function crowded(mode: string, goal: number): Figure[] {
  const name = (tunnels: number): string => `${mode} c16, ${tunnels} tunnels/culvert/req/s`;
  const value: Figure['value'] = (samples) => samples.ratio(name(10_000), name(1));
  return [figure(`requests/s with 10,000 tunnels online, ${mode} c16`, 'with 1', '>=', goal, value)];
}

function startUp(program: string, goal: number): Figure[] {
  const value: Figure['value'] = (samples) =>
    samples.ratio(`start-up/${program}/CPU ms`, 'start-up/node/CPU ms');
  return [figure(`CPU to start ${program}`, 'Node with an empty file', '<=', goal, value)];
}

function bothEnds(samples: Samples, peer: string): number | undefined {
  const relay = samples.median(`download/${peer}/CPU s/GiB relay`);
  const client = samples.median(`download/${peer}/CPU s/GiB client`);
  return relay === undefined || client === undefined ? undefined : relay + client;
}

export function isReached({ goal, atMost }: Figure, value: number): boolean {
  return atMost ? value <= goal : value >= goal;
}
