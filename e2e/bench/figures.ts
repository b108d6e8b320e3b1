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
  perSecond('keep-alive', 16, 'floor', 1),
  perSecond('keep-alive', 64, 'floor', 1.1),
  perSecond('new', 16, 'floor', 1.8),
  perSecond('new', 64, 'floor', 1.8),
  perSecond('new', 16, 'ssh', 1.5),
  perSecond('new', 64, 'ssh', 1.3),
  perSecond('keep-alive', 16, 'ssh', 1.4),
  perSecond('keep-alive', 64, 'ssh', 1),
  perSecond('keep-alive', 16, 'localtunnel', 8),
  perSecond('new', 16, 'localtunnel', 2.5),
  perSecond('keep-alive', 64, 'nginx', 0.45),
  perSecond('new', 64, 'nginx', 0.45),
  slowest('keep-alive', 1),
  slowest('new', 1),
  processorTime('keep-alive c64', '10k', 'keep-alive c64', 1),
  firstByte('plain', 'after a minute', 1.05),
  firstByte('plain', 'at once', 1.05),
  firstByte('TLS', 'after a minute', 1.05),
  firstByte('TLS', 'at once', 1.05),
  transfer('download', 'ssh', 1.2),
  transfer('upload', 'ssh', 1.2),
  processorTime('download', 'GiB', '1 GiB down', 1.4),
  figure('p99 of small requests beside a large download', 'without it', '<=', 2, (samples) =>
    samples.ratio(
      'small requests c16, beside a download/culvert/p99 ms',
      'small requests c16, alone/culvert/p99 ms',
    ),
  ),
  crowded('keep-alive', 0.95),
  crowded('new', 0.9),
  figure('relay RSS for an idle tunnel, KiB', '10,000 of them', '<=', 8, (samples) => {
    const many = samples.median('idle tunnels 10000/culvert/RSS KiB');
    const one = samples.median('idle tunnels 1/culvert/RSS KiB');
    return many === undefined || one === undefined ? undefined : (many - one) / 9999;
  }),
  figure('relay RSS for a slow reader, KiB', '1,000 of them', '<=', 64, (samples) =>
    samples.median('slow readers/culvert/KiB each'),
  ),
  startUp('culvert --version', 4),
  startUp('culvert list', 4),
  startUp('culvert-relay --version', 4),
  startUp('culvert-relay account list', 4),
  startUp('culvert-relay key create', 4),
  startUp('culvert-relay serve', 8),
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

function perSecond(mode: string, connections: number, peer: string, goal: number): Figure {
  const load = `${mode} c${connections}`;
  return figure(`requests/s, ${load}`, peer, '>=', goal, (samples) =>
    samples.ratio(`${load}/culvert/req/s`, `${load}/${peer}/req/s`),
  );
}

function slowest(mode: string, goal: number): Figure {
  const load = `${mode} c16`;
  return figure(`p99, ${load}`, 'floor', '<=', goal, (samples) =>
    samples.ratio(`${load}/culvert/p99 ms`, `${load}/floor/p99 ms`),
  );
}

function processorTime(load: string, unit: string, title: string, goal: number): Figure {
  const bothEnds = (peer: string): string[] =>
    ['relay', 'client'].map((end) => `${load}/${peer}/CPU s/${unit} ${end}`);
  return figure(`CPU of relay and client, ${title}`, 'floor', '<=', goal, (samples) =>
    samples.ratio(bothEnds('culvert'), bothEnds('floor')),
  );
}

function firstByte(transport: string, when: string, goal: number): Figure {
  const load = `first byte, 50 ms, ${transport}, ${when}`;
  const reference = 'direct + one round trip';
  return figure(
    `first byte to a new visitor, 50 ms each way, ${transport}, ${when}`,
    reference,
    '<=',
    goal,
    (samples) => samples.ratio(`${load}/culvert/ms`, `${load}/${reference}/ms`),
  );
}

function transfer(direction: string, peer: string, goal: number): Figure {
  return figure(`${direction} of 1 GiB`, peer, '>=', goal, (samples) =>
    samples.ratio(`${direction}/culvert/MB/s`, `${direction}/${peer}/MB/s`),
  );
}

function crowded(mode: string, goal: number): Figure {
  const name = (tunnels: number): string => `${mode} c16, ${tunnels} tunnels/culvert/req/s`;
  return figure(`requests/s with 10,000 tunnels online, ${mode} c16`, 'with 1', '>=', goal, (samples) =>
    samples.ratio(name(10_000), name(1)),
  );
}

function startUp(program: string, goal: number): Figure {
  return figure(`CPU to start ${program}`, 'Node with an empty file', '<=', goal, (samples) =>
    samples.ratio(`start-up/${program}/CPU ms`, 'start-up/node/CPU ms'),
  );
}

export function isReached({ goal, atMost }: Figure, value: number): boolean {
  return atMost ? value <= goal : value >= goal;
}
