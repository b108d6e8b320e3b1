import { setTimeout as delay } from 'node:timers/promises';
import type { Tunnel } from '../../shared/tunnel.ts';
import type { Api } from './api.ts';

/** How many tunnels an account may create at once (docs/protocol.md section 3.2). */
const BURST = 5;
const PAUSE_MS = 800;

/** Creates tunnels, one after the other, and knows which were acknowledged. */
export class Creator {
  readonly made: Tunnel[] = [];
  /** what came instead of an acknowledgement */
  readonly failures: string[] = [];
  readonly #apis: readonly Api[];
  readonly #work: Promise<void>;
  #over = false;

  /** @param apis one for each account; each creates no more than it may at once */
  constructor(apis: readonly Api[]) {
    this.#apis = apis;
    this.#work = this.#create();
  }

  async stop(): Promise<void> {
    this.#over = true;
    await this.#work;
  }

  async #create(): Promise<void> {
    const turns = Array.from({ length: BURST }, () => this.#apis).flat();
    for (const api of turns) {
      if (this.#over) return;
      try {
        this.made.push(await api.create({ local_port: 9 }));
      } catch (error) {
        this.failures.push(String(error));
      }
      await delay(PAUSE_MS);
    }
  }
}
