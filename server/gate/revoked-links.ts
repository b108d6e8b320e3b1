/** The links of one tunnel that let nobody in, though their time is not over. */
import type { RevokedLink } from '../store/records.ts';

export class RevokedLinks {
  /** wall time in ms of their ends, by id; most tunnels have none */
  #ends: ReadonlyMap<string, number> | undefined;

  constructor(links: readonly RevokedLink[]) {
    if (links.length > 0) this.#ends = new Map(links);
  }

  has(id: string): boolean {
    return this.#ends?.has(id) ?? false;
  }

  /**
   * What was read earlier adds nothing, and takes nothing away.
   *
   * @param now wall time in ms; those that have ended by then are forgotten
   * @returns whether there are others than before
   */
  add(links: readonly RevokedLink[], now: number): boolean {
    const news = links.filter(([id, end]) => end > now && !this.has(id));
    if (news.length === 0) return false;
    const kept = [...(this.#ends ?? [])].filter(([, end]) => end > now);
    this.#ends = new Map([...kept, ...news]);
    return true;
  }
}
