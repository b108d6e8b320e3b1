/**
 * How long the frames of the app's window take with 50 busy tunnels and 10,000 requests in one log.
 * `node e2e/bench/window/frames.ts [words of the scenes to measure]`
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { Scope } from '../../support/scope.ts';
import { buildWindow, openWindow } from '../../ui/support/app-window.ts';
import { startBrowser } from '../../support/browser.ts';
import { scenes } from './scenes.ts';
import { TUNNELS, World } from './world.ts';

const CATEGORIES = ['toplevel', 'devtools', 'devtools.timeline', 'disabled-by-default-devtools.timeline'];

/** Requests frames continuously, so that each late one is seen. */
const KEEP_DRAWING = `{
  const look = () => requestAnimationFrame(look);
  look();
}`;

/** ms of the thread's CPU time, by purpose. */
export interface Parts {
  readonly script: number;
  readonly style: number;
  readonly layout: number;
  readonly paint: number;
}

/** The work between two frames, up to the end of drawing the second one. */
export interface Frame {
  /** ms of elapsed time, without waiting for work */
  readonly wallMs: number;
  /** ms of the thread's CPU time, which other programs do not affect */
  readonly cpuMs: number;
  readonly parts: Parts;
}

/** An event of the trace (Trace Event Format); times in µs. */
interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur?: number;
  /** of the thread's CPU time */
  readonly tdur?: number;
}

/**
 * The frames of a page during an action, without the tasks that served the DevTools protocol, which Electron does not
 * have.
 *
 * @param settleMs ms to wait for delayed effects
 */
export async function framesOf(
  browser: Browser,
  page: Page,
  act: () => Promise<void>,
  settleMs = 300,
): Promise<readonly Frame[]> {
  await browser.startTracing(page, { categories: CATEGORIES });
  await act();
  await sleep(settleMs);
  return readFrames(await browser.stopTracing());
}

function readFrames(trace: Buffer): readonly Frame[] {
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: TraceEvent[] };
  const drawn = traceEvents.find(({ name }) => name === 'FireAnimationFrame');
  if (drawn === undefined) throw new Error('the trace has no frame');
  const own = traceEvents
    .filter(({ ph, pid, tid }) => ph === 'X' && pid === drawn.pid && tid === drawn.tid)
    .toSorted((one, other) => one.ts - other.ts || (other.dur ?? 0) - (one.dur ?? 0));
  const frames: Frame[] = [];
  let tasks: TraceEvent[][] = [];
  for (const task of tasksOf(own)) {
    if (!task.some(({ name }) => name.startsWith('DevToolsSession'))) tasks.push(task);
    if (!task.some(({ name }) => name === 'FireAnimationFrame')) continue;
    frames.push(frameOf(tasks));
    tasks = [];
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

function frameOf(tasks: readonly (readonly TraceEvent[])[]): Frame {
  const outer = tasks.flatMap(([task]) => task ?? []);
  const cpuMs = sum(outer.map(({ tdur = 0 }) => tdur)) / 1000;
  const own = tasks.flatMap(ownTimes);
  const of = (...names: readonly string[]): number =>
    sum(own.filter(([{ name }]) => names.includes(name)).map(([, time]) => time)) / 1000;
  const [style, layout, paint] = [
    of('UpdateLayoutTree'),
    of('Layout'),
    of('PrePaint', 'Paint', 'Layerize', 'Commit'),
  ];
  return {
    wallMs: sum(outer.map(({ dur = 0 }) => dur)) / 1000,
    cpuMs,
    // Everything else, such as garbage collection, counts as running scripts.
    parts: { script: cpuMs - style - layout - paint, style, layout, paint },
  };
}

/** Each event with its own CPU time, excluding nested events. */
function ownTimes(task: readonly TraceEvent[]): readonly (readonly [TraceEvent, number])[] {
  const times = new Map(task.map((event) => [event, event.tdur ?? 0]));
  const open: TraceEvent[] = [];
  for (const event of task) {
    while ((open.at(-1)?.ts ?? 0) + (open.at(-1)?.dur ?? Infinity) <= event.ts) open.pop();
    const around = open.at(-1);
    if (around !== undefined) times.set(around, (times.get(around) ?? 0) - (event.tdur ?? 0));
    open.push(event);
  }
  return [...times];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

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
  say(
    `${'scene'.padEnd(58)} frames  median  longest frame: CPU = script + style + layout + paint (by the clock)  over ${LONG_MS} ms`,
  );
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

function line(frames: readonly Frame[]): string {
  const sorted = frames.toSorted((one, other) => one.cpuMs - other.cpuMs);
  const longest = sorted.at(-1);
  const median = sorted[Math.floor(sorted.length / 2)];
  if (longest === undefined || median === undefined) return 'no frame';
  const { script, style, layout, paint } = longest.parts;
  const parts = [script, style, layout, paint].map((ms) => ms.toFixed(1)).join(' + ');
  const clock = Math.max(...frames.map(({ wallMs }) => wallMs)).toFixed(0);
  const long = frames.filter(({ cpuMs }) => cpuMs > LONG_MS).length;
  return `${String(frames.length).padStart(6)}  ${median.cpuMs.toFixed(1).padStart(6)}  ${longest.cpuMs.toFixed(1)} = ${parts} (${clock})  ${long}`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
