/** What a program uses while it runs, and what it logs when something unexpected goes wrong in it. */
import { readdirSync } from 'node:fs';
import type { RelayProcess } from '../../support/programs.ts';
import { memoryOf } from '../../support/memory.ts';
import { certainGrowth } from './trend.ts';

const MEBIBYTE = 1024 ** 2;

export class ProcessWatch {
  readonly name: string;
  readonly #program: RelayProcess;
  /** MiB */
  readonly #resident: number[] = [];
  readonly #descriptors: number[] = [];

  constructor(name: string, program: RelayProcess) {
    this.name = name;
    this.#program = program;
  }

  /** Records what it uses now. */
  look(): void {
    if (this.#program.hasExited) return;
    this.#resident.push(memoryOf(this.#program.pid).resident / MEBIBYTE);
    this.#descriptors.push(readdirSync(`/proc/${this.#program.pid}/fd`).length);
  }

  /**
   * How much its memory has certainly grown, in % of its mean, leaving out the first third of the measurements, in which it
   * warms up.
   */
  get residentGrowth(): number {
    const values = settled(this.#resident);
    return (100 * certainGrowth(values)) / (values.reduce((sum, value) => sum + value, 0) / values.length);
  }

  /** The same of its file descriptors, in descriptors. */
  get descriptorGrowth(): number {
    return certainGrowth(settled(this.#descriptors));
  }

  get summary(): string {
    const [resident, descriptors] = [this.#resident, this.#descriptors].map(
      (values) => `${values[Math.floor(values.length / 3)]?.toFixed()} to ${values.at(-1)?.toFixed()}`,
    );
    return `${this.name}: ${resident} MiB, ${descriptors} descriptors`;
  }

  /** Its end, if it has ended, and lines of its log that show bugs: stack traces, warnings of Node, internal errors. */
  get unhandled(): readonly string[] {
    const lines = this.#program.stderr.split('\n').filter((line) => line !== '');
    const bugs = lines.filter(
      (line) => !line.startsWith('{') || /"msg":"(internal error|relay crashed)"/.test(line),
    );
    return [...(this.#program.hasExited ? [`${this.name} has ended`] : []), ...bugs];
  }
}

/** Without the first third. */
function settled(values: readonly number[]): readonly number[] {
  return values.slice(Math.floor(values.length / 3));
}
