import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reapDirectory } from './reaper.ts';
import type { Environment } from './programs.ts';
import type { Scope } from './scope.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The wall clock of programs under test, which a test moves on. */
export class TestClock {
  /** settings of the programs that have this clock */
  readonly settings: Environment;
  readonly #path: string;
  #ahead = 0;

  constructor(scope: Scope) {
    const directory = mkdtempSync(join(tmpdir(), 'culvert-e2e-'));
    reapDirectory(directory);
    scope.defer(() => rmSync(directory, { recursive: true, force: true }));
    this.#path = join(directory, 'ahead');
    this.set(Date.now());
    const shown = new URL('shown-clock.mjs', import.meta.url).href;
    this.settings = { NODE_OPTIONS: `--import=${shown}`, TEST_CLOCK: this.#path };
  }

  get now(): number {
    return Date.now() + this.#ahead;
  }

  /** @param time wall-clock ms */
  set(time: number): void {
    this.#ahead = time - Date.now();
    // Programs read it all the time.
    writeFileSync(`${this.#path}.new`, String(this.#ahead));
    renameSync(`${this.#path}.new`, this.#path);
  }
}

/** The days of the week that begins next. @returns wall-clock ms of an hour of a day, 0 for Monday */
export function nextWeek(): (day: number, hour: number) => number {
  const today = new Date();
  const midnight = Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate());
  const monday = midnight + (8 - (today.getUTCDay() || 7)) * DAY_MS;
  return (day, hour) => monday + day * DAY_MS + hour * HOUR_MS;
}
