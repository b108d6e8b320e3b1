/** Formats the results as pages and tables. */
import type { Machine } from './machine.ts';
import { median, type Samples } from './stats.ts';

/** Three significant digits, but never fewer than the integer part has. */
export function rounded(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 0.1 ? 2 : 3;
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** The README.md of the results: which targets were reached, and the throughput and latency of each peer. */
export function resultsPage(
  samples: Samples,
  machine: Machine,
  { rounds, seconds, peers }: { rounds: number; seconds: number; peers: readonly Titled[] },
): string {
  const names = peers.map(({ name, title }) => `- **${name}**: ${title}`).join('\n');
  return `# Benchmarks

How fast Culvert is compared with \`ssh -R\` and with the least that a tunnel costs, measured with \`npm run bench\` ([method](../../../e2e/bench/README.md)). The first table lists the
targets that Culvert set itself, whether or not they were met. [Performance](../../concepts/performance.md) explains the results.
[wan.md](wan.md) measures slow and distant links.

${machineText(machine, rounds, seconds)}

${names}

In the names of cases, "keep-alive" visitors keep their connections, "new" ones open one for each request, and "c16" means 16
visitors at a time.

## Targets

${figuresTable(samples)}

## Throughput

Requests per second, or MB/s where the case says so.

${measuresTable(samples, ['req/s', 'MB/s'])}

![Requests/s and MB/s of each tunnel](results.svg)

## Latency

The slowest 1 % of requests take at least this long (p99), in milliseconds.

${measuresTable(samples, ['p99 ms'])}

## Several processes

CPU time of all processes of a relay with TLS (\`CULVERT_WORKERS\`) for the same work, as a multiple of what one process takes; "first" is the
first process's part of it with three. Each process has as many visitors. The last columns compare visitors of a relay with two workers, whose clients have one trunk,
with those of one process: where no connection, only the visitor's, only the client's trunk, or both arrive at another process than the client's
control socket.

${workersTable(samples)}

[results.json](results.json) contains every measurement from every round.
`;
}

const HOPS = ['no hop', "visitor's hop", "trunk's hop", 'both hops'];

/** A load for each row. */
function workersTable(samples: Samples): string {
  const one = '/1 process/µs/';
  const rows = [...samples.entries()].flatMap(([name, values]) => {
    const [load, unit] = name.split(one);
    if (unit === undefined) return [];
    const ratio = (peer: string, against: string, part = ''): string => {
      const value = samples.ratio(`${load}/${peer}/µs/${unit}${part}`, `${load}/${against}/µs/${unit}`);
      return value === undefined ? '' : rounded(value);
    };
    return [
      [
        `${load}, a ${unit}`,
        `${rounded(median(values))} µs`,
        ...['2 processes', '3 processes'].map((peer) => ratio(peer, '1 process')),
        ratio('3 processes', '1 process', ' first process'),
        ...HOPS.map((peer) => ratio(peer, 'alone')),
      ],
    ];
  });
  return table([['', '1 process', '2', '3', 'first', ...HOPS], ...rows]);
}

interface Titled {
  readonly name: string;
  readonly title: string;
}

/** A case for each row and a peer for each column, with the medians of these measures. */
function measuresTable(samples: Samples, measures: readonly string[]): string {
  const cases = new Map<string, Map<string, string>>();
  for (const [name] of samples.entries()) {
    const [load = '', peer = '', ...rest] = name.split('/');
    const measure = rest.join('/');
    if (!measures.includes(measure)) continue;
    const title = measure === 'MB/s' ? `${load}, MB/s` : load;
    const values = cases.get(title) ?? new Map<string, string>();
    cases.set(title, values.set(peer, rounded(samples.median(name) ?? NaN)));
  }
  const rows = [...cases].filter(([, values]) => values.size > 1);
  const peers = PEERS.filter((peer) => rows.some(([, values]) => values.has(peer)));
  return table([
    ['', ...peers],
    ...rows.map(([title, values]) => [title, ...peers.map((peer) => values.get(peer) ?? '')]),
  ]);
}

/** In the order of columns; tunnels come before what has none. */
const PEERS = ['culvert', 'floor', 'ssh', 'nginx', 'direct'];

/** The target figures as Markdown, without those that were not measured. */
function figuresTable(samples: Samples): string {
  const rows = FIGURES.flatMap(([what, against, sign, goal, ours, theirs]) => {
    const value =
      typeof theirs === 'string' ? samples.ratio(ours, theirs) : theirs(samples.median(ours), samples);
    if (value === undefined) return [];
    const isReached = sign === '<=' ? value <= goal : value >= goal;
    const target = `${sign === '<=' ? 'at most' : 'at least'} ${goal}`;
    return [[what, against, target, rounded(value), isReached ? 'yes' : 'no']];
  });
  return table([['measure', 'relative to', 'target', 'measured', 'reached'], ...rows]);
}

export function machineText(machine: Machine, rounds: number, seconds: number): string {
  const { cores, processor, memoryGiB, kernel, node, programs, commit, load } = machine;
  return (
    `${cores} cores (${processor}), ${memoryGiB} GiB, ${kernel}, Node ${node}; ${programs.join(', ')}. ` +
    `Commit ${commit}. The load generator, the local service and both ends share these cores. ` +
    `Values are medians of ${rounds} interleaved rounds, ${seconds} s each for requests. The load average beforehand was ${load.toFixed(1)}.`
  );
}

/** A Markdown table; the first row is its head. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(3, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const lines = rows.map(
    (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`,
  );
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [lines[0], rule, ...lines.slice(1)].join('\n');
}

/** A target for the ratio of two measures, or for what a function makes of the first one. */
type Figure = readonly [
  what: string,
  against: string,
  sign: '<=' | '>=',
  goal: number,
  ours: string,
  theirs: string | ((ours: number | undefined, samples: Samples) => number | undefined),
];

const FIGURES: readonly Figure[] = [
  ...(
    [
      ['keep-alive c16', 'floor', 0.95],
      ['keep-alive c64', 'floor', 0.95],
      ['new c16', 'floor', 1.5],
      ['new c64', 'floor', 1.6],
      ['keep-alive c16, 100 KB', 'floor', 0.7],
      ['h2, c4 × 16 streams', 'nginx', 0.4],
    ] as const
  ).map(([load, peer, goal]) => figure(`requests/s, ${load}`, peer, '>=', goal, load, 'req/s')),
  figure('p99, keep-alive c16', 'floor', '<=', 1.2, 'keep-alive c16', 'p99 ms'),
  figure('CPU of the relay, keep-alive c64', 'floor', '<=', 1.1, 'keep-alive c64', 'CPU s/10k relay'),
  [
    'CPU of the relay, HTTP/2 c4 × 16 streams',
    'HTTP/1.1 keep-alive c16',
    '<=',
    1.3,
    'h2, c4 × 16 streams/culvert/CPU s/10k relay',
    'TLS, keep-alive c16/culvert/CPU s/10k relay',
  ],
  [
    'CPU of a relay with two processes, a request without a hop',
    'one process',
    '<=',
    1.05,
    'requests/no hop/µs/request',
    'requests/alone/µs/request',
  ],
  ...['after a minute', 'immediately'].map((when) =>
    figure(
      `first byte to a new visitor, 50 ms each way, ${when}`,
      'direct + one round trip',
      '<=',
      1.05,
      `first byte, 50 ms, ${when}`,
      'ms',
    ),
  ),
  ...['download', 'upload'].map((load) => figure(`${load} of 1 GiB`, 'ssh', '>=', 1.1, load, 'MB/s')),
  figure(
    'p99, small requests c16, beside a download',
    'ssh',
    '<=',
    1.5,
    'small requests c16, beside a download',
    'p99 ms',
  ),
  [
    'relay RSS for an idle tunnel, KiB',
    '10,000 of them',
    '<=',
    12,
    'idle tunnels 10000/culvert/RSS KiB',
    (many, samples) => {
      const one = samples.median('idle tunnels 1/culvert/RSS KiB');
      return many === undefined || one === undefined ? undefined : (many - one) / 9999;
    },
  ],
  [
    'relay RSS for a slow reader, KiB',
    '1,000 of them',
    '<=',
    64,
    'slow readers/culvert/KiB each',
    (each) => each,
  ],
];

/** A target for the ratio of Culvert to another peer. */
function figure(
  what: string,
  peer: string,
  sign: '<=' | '>=',
  goal: number,
  load: string,
  measure: string,
): Figure {
  return [what, peer, sign, goal, `${load}/culvert/${measure}`, `${load}/${peer}/${measure}`];
}

const PLOTTED = [
  ...['keep-alive c16', 'keep-alive c64', 'new c16', 'new c64'].map((load) => ({
    load,
    measure: 'req/s',
  })),
  ...['download', 'upload'].map((load) => ({ load, measure: 'MB/s' })),
];
/** Only tunnels: the local service would dominate the scale. */
const COLOURS = {
  culvert: '#1f6feb',
  floor: '#8b949e',
  ssh: '#2da44e',
};

/** An SVG of requests/s and MB/s: a group of bars for each case, and a bar for each peer. */
export function plot(samples: Samples): string {
  const groups = PLOTTED.map(({ load, measure }): [string, (number | undefined)[]] => [
    `${load}, ${measure}`,
    Object.keys(COLOURS).map((peer) => samples.median(`${load}/${peer}/${measure}`)),
  ]);
  return barChart(COLOURS, groups);
}

const BAR = 14;
const LEFT = 170;
const WIDTH = 800;
const LENGTH = 500;

/**
 * @param colours by the name of a bar, as the legend has it
 * @param groups with their labels, and a value for each colour; the longest bar of a group is as long as that of another
 * @returns an SVG
 */
export function barChart(
  colours: Readonly<Record<string, string>>,
  groups: readonly (readonly [label: string, values: readonly (number | undefined)[]])[],
): string {
  const names = Object.keys(colours);
  const groupHeight = BAR * names.length + 30;
  const legend = names.map(
    (name, index) =>
      `<rect x="${LEFT + index * 120}" y="14" width="12" height="12" fill="${colours[name]}"/>` +
      `<text x="${LEFT + index * 120 + 18}" y="24">${name}</text>`,
  );
  const bars = groups.flatMap(([label, values], position) => {
    const top = 50 + position * groupHeight;
    const longest = Math.max(...values.map((value = 0) => value), Number.MIN_VALUE);
    const shapes = values.map((value, index) => {
      const y = top + index * BAR;
      const length = Math.round(((value ?? 0) / longest) * LENGTH);
      const text = value === undefined ? '–' : rounded(value);
      return (
        `<rect x="${LEFT}" y="${y}" width="${length}" height="${BAR - 2}" fill="${colours[names[index] ?? '']}"/>` +
        `<text x="${LEFT + length + 6}" y="${y + BAR - 4}" font-size="11">${text}</text>`
      );
    });
    const middle = top + (BAR * names.length) / 2 + 3;
    return [`<text x="${LEFT - 10}" y="${middle}" text-anchor="end">${label}</text>`, ...shapes];
  });
  const height = 50 + groups.length * groupHeight;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" ` +
    `font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="#fff"/>\n` +
    `${[...legend, ...bars].join('\n')}\n</svg>\n`
  );
}
