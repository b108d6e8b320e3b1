/** A user journey to a working result: counts the commands that are typed, and measures how long it takes. */
import type { Child } from './child.ts';
import { type Environment, spawnCulvert, spawnRelay } from './programs.ts';
import type { Scope } from './scope.ts';

export interface Journey {
  readonly name: string;
  /** the commands that were typed, in order */
  readonly typed: readonly string[];
  readonly ms: number;
}

/** A person at a terminal, with their own home directory. */
export class Traveller {
  readonly #scope: Scope;
  readonly #environment: Environment;
  readonly #begun = performance.now();
  readonly #typed: string[] = [];

  constructor(scope: Scope, environment: Environment) {
    this.#scope = scope;
    this.#environment = environment;
  }

  /** Runs a command of the relay, which keeps running or exits by itself. */
  relay(...args: readonly string[]): Child {
    this.#typed.push(['culvert-relay', ...args].join(' '));
    return spawnRelay(this.#scope, args, this.#environment);
  }

  /** Runs a command of the client. @param input its standard input */
  culvert(args: readonly string[], input?: string): Child {
    this.#typed.push(['culvert', ...args].join(' '));
    return spawnCulvert(this.#scope, args, this.#environment, input);
  }

  /** The commands typed so far, and how long they have taken. */
  arrived(name: string): Journey {
    return { name, typed: [...this.#typed], ms: Math.round(performance.now() - this.#begun) };
  }
}

/** @returns what a command has printed when it exits @throws Error with all of it if it failed */
export async function printed(child: Child): Promise<string> {
  const { code } = await child.exit();
  if (code !== 0) throw new Error(`ended with ${code}: ${child.output}`);
  return child.lines.join('\n');
}
