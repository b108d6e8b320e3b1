import { memoryOf } from '../../support/memory.ts';
import type { Scope } from '../../support/scope.ts';

const LOOK_MS = 100;
const MEBIBYTE = 1024 * 1024;

/** Watches how much the resident memory of a process grows from now on. */
export class ResidentWatch {
  readonly #pid: number;
  readonly #base: number;
  #most = 0;

  constructor(scope: Scope, pid: number) {
    this.#pid = pid;
    this.#base = memoryOf(pid).resident;
    const timer = setInterval(() => this.#look(), LOOK_MS);
    scope.defer(() => clearInterval(timer));
  }

  /** The most it has grown so far, in MiB. */
  get growthMib(): number {
    this.#look();
    return this.#most / MEBIBYTE;
  }

  #look(): void {
    this.#most = Math.max(this.#most, memoryOf(this.#pid).resident - this.#base);
  }
}
