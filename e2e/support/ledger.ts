/** Tunnels of one account, and what the relay has acknowledged about them. */
import type { Api } from './api.ts';
import type { Asked } from './load.ts';
import type { Request } from './raw-http.ts';

/** How many tunnels a new relay lets an account create in a burst (docs/protocol.md section 3.2). */
const CREATES_EACH = 5;

export class Ledger {
  readonly api: Api;
  /** id to the `expires_at` that was acknowledged last */
  readonly open = new Map<string, string>();
  readonly closed = new Set<string>();
  /** tunnels whose last operation got no response */
  readonly unsure = new Set<string>();
  unansweredCreates = 0;

  constructor(api: Api) {
    this.api = api;
  }

  /**
   * Closes the tunnels that are left from before, and creates new ones.
   *
   * @throws Error when a request gets no response, or is refused
   */
  async work(onAcknowledged: () => void): Promise<void> {
    for (const id of this.open.keys()) await this.#close(id, onAcknowledged);
    for (let count = 0; count < CREATES_EACH; count += 1) {
      this.unansweredCreates += 1;
      const { id, expires_at } = await this.api.create({ local_port: 1 });
      this.unansweredCreates -= 1;
      this.open.set(id, expires_at);
      onAcknowledged();
      if (count === 1) await this.#extend(id);
      if (count % 4 === 0) await this.#close(id, onAcknowledged);
    }
  }

  async #extend(id: string): Promise<void> {
    this.open.set(id, (await this.api.extend(id, { ttl: '2h' })).expires_at);
  }

  async #close(id: string, onAcknowledged: () => void): Promise<void> {
    this.unsure.add(id);
    await this.api.close(id);
    this.unsure.delete(id);
    this.open.delete(id);
    this.closed.add(id);
    onAcknowledged();
  }

  /** Compares with the state of a new relay, and continues from it. @returns what was acknowledged and has been lost */
  async settle(): Promise<string[]> {
    const lost: string[] = [];
    const found = new Map((await this.api.list()).map(({ id, expires_at }) => [id, expires_at]));
    for (const [id, expiresAt] of this.open) {
      const stored = found.get(id);
      if (stored === undefined && !this.unsure.has(id)) lost.push(`${id} was created`);
      // An extension that got no response may have been stored.
      if (stored !== undefined && stored < expiresAt) lost.push(`${id} was extended`);
    }
    for (const id of this.closed) if (found.has(id)) lost.push(`${id} was closed`);
    const unknown = [...found.keys()].filter((id) => !this.open.has(id));
    if (unknown.length > this.unansweredCreates) lost.push(`${unknown.join()} came from nowhere`);
    this.open.clear();
    for (const [id, expiresAt] of found) this.open.set(id, expiresAt);
    this.unsure.clear();
    this.unansweredCreates = 0;
    return lost;
  }
}

/* Counts a load's requests, and describes each failure. */

export interface Tally {
  readonly sent: number;
  readonly good: number;
  /** requests that got no response, another status than 200, or another body than the service sends */
  readonly failed: readonly Asked[];
}

/** The results of {@link Asked} requests to a service that always responds with this text. */
export function tallyOf(asked: readonly Asked[], expected: (request: Request) => string): Tally {
  const failed = asked.filter(
    ({ request, outcome }) =>
      request === undefined ||
      outcome instanceof Error ||
      outcome.status !== 200 ||
      outcome.text !== expected(request),
  );
  return { sent: asked.length, good: asked.length - failed.length, failed };
}

/** A failure in a few words. `since` is the `performance.now()` that its times are relative to. */
export function describeFailure({ request, at, outcome }: Asked, since: number): string {
  const what = outcome instanceof Error ? outcome.message : `${outcome.status} ${outcome.text.slice(0, 120)}`;
  return `${request?.method ?? 'GET'} ${request?.target ?? '(no connection)'} at ${Math.round(at - since)} ms: ${what}`;
}
