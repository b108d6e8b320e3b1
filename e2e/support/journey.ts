/** The way of a person to something that works: what is typed for it is counted, and how long it takes is measured. */
import type { Child } from './child.ts';
import { type Environment, spawnCulvert, spawnRelay } from './programs.ts';
import type { Scope } from './scope.ts';

export interface Journey {
  readonly name: string;
  /** the commands that were typed, in their order */
  readonly typed: readonly string[];
  readonly ms: number;
}

/** A person at a terminal, with a home of their own. */
export class Traveller {
  readonly #scope: Scope;
  readonly #environment: Environment;
  readonly #begun = performance.now();
  readonly #typed: string[] = [];

  constructor(scope: Scope, environment: Environment) {
    this.#scope = scope;
    this.#environment = environment;
  }

  /** Types a command of the relay that goes on, or ends by itself. */
  relay(...args: readonly string[]): Child {
    this.#typed.push(['culvert-relay', ...args].join(' '));
    return spawnRelay(this.#scope, args, this.#environment);
  }

  /** The same for the client. @param input what it is told on its standard input */
  culvert(args: readonly string[], input?: string): Child {
    this.#typed.push(['culvert', ...args].join(' '));
    return spawnCulvert(this.#scope, args, this.#environment, input);
  }

  /** What was typed until now, and how long it has taken. */
  arrived(name: string): Journey {
    return { name, typed: [...this.#typed], ms: Math.round(performance.now() - this.#begun) };
  }
}

/** @returns what a command has printed when it has ended @throws Error with all of it when it has failed */
export async function printed(child: Child): Promise<string> {
  const { code } = await child.exit();
  if (code !== 0) throw new Error(`ended with ${code}: ${child.output}`);
  return child.lines.join('\n');
}
