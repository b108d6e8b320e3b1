import { leadsTo } from '../../shared/leads-to.ts';
import type { TunnelView } from '../../shared/snapshot.ts';
import { tunnelState } from './tunnel-state.ts';

/** Tunnels whose address, port, framework or state contains every word that was typed; the order stays. @param now wall-clock ms */
export function filterTunnels(
  tunnels: readonly TunnelView[],
  typed: string,
  now: number,
): readonly TunnelView[] {
  const words = wordsOf(typed);
  if (words.length === 0) return tunnels;
  return tunnels.filter((tunnel) => {
    const { url, framework } = tunnel;
    return matchesAll(`${url} ${leadsTo(tunnel)} ${framework ?? ''} ${tunnelState(tunnel, now).word}`, words);
  });
}

/** What was typed, word by word, in lower case. */
export function wordsOf(typed: string): readonly string[] {
  return typed.toLowerCase().split(/\s+/).filter(Boolean);
}

/** Whether a text contains every one of {@link wordsOf}, in any case. */
export function matchesAll(text: string, words: readonly string[]): boolean {
  const lower = text.toLowerCase();
  return words.every((word) => lower.includes(word));
}
