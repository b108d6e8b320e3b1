/**
 * A plot of requests/s and MB/s: a group of bars for each case and a bar for each peer, relative to the fastest tunnel
 * of the case.
 */
import { rounded } from './report.ts';
import type { Samples } from './stats.ts';

const CASES = [
  ...['keep-alive c1', 'keep-alive c16', 'keep-alive c64', 'new c1', 'new c16', 'new c64'].map((load) => ({
    load,
    measure: 'req/s',
  })),
  ...['download', 'upload'].map((load) => ({ load, measure: 'MB/s' })),
];
/** Only tunnels: the local service would dominate the scale. */
const COLOURS = { culvert: '#1f6feb', floor: '#8b949e', ssh: '#2da44e', localtunnel: '#d29922' };
const BAR = 14;
const GROUP = BAR * Object.keys(COLOURS).length + 30;
const LEFT = 130;
const WIDTH = 760;
const LENGTH = 500;

export function plot(samples: Samples): string {
  const groups = CASES.map(({ load, measure }, index) => group(samples, load, measure, 50 + index * GROUP));
  const legend = Object.entries(COLOURS).map(
    ([peer, colour], index) =>
      `<rect x="${LEFT + index * 120}" y="14" width="12" height="12" fill="${colour}"/>` +
      `<text x="${LEFT + index * 120 + 18}" y="24">${peer}</text>`,
  );
  const height = 50 + CASES.length * GROUP;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" ` +
    `font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="#fff"/>\n` +
    `${[...legend, ...groups].join('\n')}\n</svg>\n`
  );
}

function group(samples: Samples, load: string, measure: string, top: number): string {
  const bars = Object.entries(COLOURS).map(([peer, colour]) => ({
    colour,
    value: samples.median(`${load}/${peer}/${measure}`) ?? 0,
  }));
  const longest = Math.max(1, ...bars.map(({ value }) => value));
  const shapes = bars.map(({ colour, value }, index) => {
    const y = top + index * BAR;
    const length = Math.round((value / longest) * LENGTH);
    return (
      `<rect x="${LEFT}" y="${y}" width="${length}" height="${BAR - 2}" fill="${colour}"/>` +
      `<text x="${LEFT + length + 6}" y="${y + BAR - 4}" font-size="11">${rounded(value)}</text>`
    );
  });
  const label = `<text x="${LEFT - 10}" y="${top + GROUP / 2 - 10}" text-anchor="end">${load}, ${measure}</text>`;
  return [label, ...shapes].join('\n');
}
