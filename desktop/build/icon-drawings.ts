/** The icons as SVG, all drawn from the mark of desktop/assets/culvert.svg. */
import { createHash } from 'node:crypto';

/** A file of desktop/assets/tray, without its extension. */
export interface TrayIcon {
  readonly name: string;
  readonly svg: string;
}

/** By the bar of the system that they appear on. */
const INKS: Readonly<Record<string, string>> = { light: '#1b1b1b', dark: '#fff' };

/** What is drawn over the mark for each state of the tray: a shape, so that nobody depends on colours. */
const TRAY_STATES: Readonly<Record<string, { cut: string; over: string }>> = {
  idle: { cut: '', over: '' },
  online: { cut: '', over: '<circle cx="10" cy="14.6" r="2.6"/>' },
  trouble: {
    cut: '<path d="M13.6 5.6 20.8 20H6.4z"/>',
    over: '<path d="M13.6 9.4 18.8 19H8.4z"/>',
  },
  offline: {
    cut: '<path d="M1 19 19 1" stroke="#000" stroke-width="5"/>',
    over: '<path d="M2 18 18 2" stroke="currentColor" stroke-width="2" stroke-linecap="round"/>',
  },
};

function appIcon(mark: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100" color="#fff">
    <rect x="4" y="4" width="92" height="92" rx="22" fill="#0b6e6e"/>
    <svg x="17" y="16" width="66" height="66" viewBox="0 0 20 20">${mark}</svg></svg>`;
}

function trayIcon(mark: string, { cut, over }: { cut: string; over: string }, ink: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20" color="${ink}">
    <mask id="m"><rect width="20" height="20" fill="#fff"/><g fill="#000">${cut}</g></mask>
    <g mask="url(#m)">${mark}</g><g fill="currentColor">${over}</g></svg>`;
}

export interface Drawings {
  readonly app: string;
  readonly tray: readonly TrayIcon[];
  /** checksum of all of them, by which a test knows whether the committed icons were made from them */
  readonly fingerprint: string;
}

/**
 * @param source text of culvert.svg
 * @throws Error when it has no mark
 */
export function drawIcons(source: string): Drawings {
  const mark = /<g id="mark"[\s\S]*<\/g>/.exec(source)?.[0];
  if (mark === undefined) throw new Error('culvert.svg has no group "mark"');
  const app = appIcon(mark);
  const tray = Object.entries(TRAY_STATES).flatMap(([state, shapes]) =>
    Object.entries(INKS).map(([bar, ink]) => ({
      name: `tray-${state}-${bar}`,
      svg: trayIcon(mark, shapes, ink),
    })),
  );
  const hash = createHash('sha256');
  for (const svg of [app, ...tray.map((icon) => icon.svg)]) hash.update(svg.replaceAll(/\s+/g, ' '));
  return { app, tray, fingerprint: hash.digest('hex') };
}
