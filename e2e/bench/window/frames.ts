/**
 * How long the frames of the app's window take with 50 busy tunnels and 10,000 requests in one log.
 * `node e2e/bench/window/frames.ts [words of the scenes to measure]`
 */
import { Scope } from '../../support/scope.ts';
import { openWindow } from '../../ui/support/app-window.ts';
import { startBrowser } from '../../ui/support/browser.ts';
import { buildWindow } from '../../ui/support/build.ts';
import { scenes } from './scenes.ts';
import { type Frame, framesOf, prepareTrace } from './tasks.ts';
import { TUNNELS, World } from './world.ts';

const WINDOW = { width: 1280, height: 800 };
/** More than this is felt. */
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
  await prepareTrace(page);
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
