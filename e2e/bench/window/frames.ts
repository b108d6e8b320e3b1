/**
 * The CPU time of the frames of the app's window with 50 busy tunnels and 10,000 requests in one log.
 * `node e2e/bench/window/frames.ts [words of the scenes to measure]`
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { Scope } from '../../support/scope.ts';
import { buildWindow, openWindow } from '../../ui/support/app-window.ts';
import { startBrowser } from '../../support/browser.ts';
import { median } from '../stats.ts';
import { scenes } from './scenes.ts';
import { TUNNELS, World } from './world.ts';

const CATEGORIES = ['toplevel', 'devtools', 'devtools.timeline', 'disabled-by-default-devtools.timeline'];

/** Requests frames continuously, so that each late one is seen. */
const KEEP_DRAWING = `{
  const look = () => requestAnimationFrame(look);
  look();
}`;

/** An event of the trace (Trace Event Format); times in µs. */
interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur?: number;
  /** of the thread's CPU time, which other programs do not affect */
  readonly tdur?: number;
}

/**
 * The frames of a page during an action, without the tasks that served the DevTools protocol, which Electron does not
 * have.
 *
 * @returns ms of CPU time that the thread worked for each frame, up to the end of drawing it
 */
async function framesOf(browser: Browser, page: Page, act: () => Promise<void>): Promise<readonly number[]> {
  await browser.startTracing(page, { categories: CATEGORIES });
  await act();
  await sleep(SETTLE_MS);
  return readFrames(await browser.stopTracing());
}

function readFrames(trace: Buffer): readonly number[] {
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: TraceEvent[] };
  const drawn = traceEvents.find(({ name }) => name === 'FireAnimationFrame');
  if (drawn === undefined) throw new Error('the trace has no frame');
  const own = traceEvents
    .filter(({ ph, pid, tid }) => ph === 'X' && pid === drawn.pid && tid === drawn.tid)
    .toSorted((one, other) => one.ts - other.ts || (other.dur ?? 0) - (one.dur ?? 0));
  const frames: number[] = [];
  let cpuMs = 0;
  for (const task of tasksOf(own)) {
    const names = task.map(({ name }) => name);
    if (!names.some((name) => name.startsWith('DevToolsSession'))) cpuMs += (task[0]?.tdur ?? 0) / 1000;
    if (!names.includes('FireAnimationFrame')) continue;
    frames.push(cpuMs);
    cpuMs = 0;
  }
  return frames;
}

/** Each task with the events nested in it, the task first. */
function tasksOf(events: readonly TraceEvent[]): readonly TraceEvent[][] {
  const tasks: TraceEvent[][] = [];
  let end = -Infinity;
  for (const event of events) {
    if (event.name === 'RunTask' && event.ts >= end) {
      tasks.push([event]);
      end = event.ts + (event.dur ?? 0);
    } else if (event.ts < end) tasks.at(-1)?.push(event);
  }
  return tasks;
}

/** ms to wait for delayed effects. */
const SETTLE_MS = 300;
const WINDOW = { width: 1280, height: 800 };
/** A longer frame is noticeable. */
const LONG_MS = 50;

const wanted = process.argv.slice(2).join(' ');
const scope = new Scope();
try {
  const [built, browser] = await Promise.all([buildWindow(scope), startBrowser(scope)]);
  const world = new World();
  const page = await openWindow(scope, browser, built, world.main, { viewport: WINDOW });
  await page
    .locator('.card')
    .nth(TUNNELS - 1)
    .waitFor({ state: 'attached' });
  await page.evaluate(KEEP_DRAWING);
  say(`${'scene'.padEnd(58)} frames  median  longest  over ${LONG_MS} ms`);
  for (const { name, act } of scenes(page, world)) {
    if (!name.includes(wanted)) {
      await act();
      continue;
    }
    say(name.padEnd(58) + line(await framesOf(browser, page, act)));
  }
} finally {
  await scope.end();
}

function line(frames: readonly number[]): string {
  const longest = Math.max(...frames);
  const long = frames.filter((cpuMs) => cpuMs > LONG_MS).length;
  const cells = [frames.length, median(frames).toFixed(1), longest.toFixed(1)];
  return `${cells.map((cell) => String(cell).padStart(7)).join(' ')}  ${long}`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
