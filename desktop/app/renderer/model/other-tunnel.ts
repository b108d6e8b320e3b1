/** Words for a tunnel that this app does not serve. */
import type { OtherTunnelView } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import { matchesAll, wordsOf } from './filter.ts';
import type { TunnelState } from './tunnel-state.ts';

/** Its state, and who serves it. */
export function otherState({
  isOnline,
  isHere,
  isStopping,
}: Pick<OtherTunnelView, 'isOnline' | 'isHere' | 'isStopping'>): TunnelState & { readonly where: string } {
  const where = isHere
    ? t('others.commandHere')
    : isOnline
      ? t('others.elsewhere')
      : t('others.notConnected');
  if (isStopping) return { shape: 'ended', word: t('others.stopping'), where };
  return isOnline
    ? { shape: 'online', word: t('state.online'), where }
    : { shape: 'ended', word: t('others.offline'), where };
}

/** Tunnels whose address, port, state or owner contains every typed word, in the same order. */
export function filterOthers(tunnels: readonly OtherTunnelView[], typed: string): readonly OtherTunnelView[] {
  const words = wordsOf(typed);
  if (words.length === 0) return tunnels;
  return tunnels.filter((tunnel) => {
    const { word, where } = otherState(tunnel);
    return matchesAll(`${tunnel.url} ${tunnel.localPort} ${word} ${where} ${tunnel.createdBy ?? ''}`, words);
  });
}

/**
 * Keeps every unchanged part of a value, so that nothing is redrawn needlessly: each snapshot arrives as a copy, mostly
 * unchanged.
 *
 * @returns `next`, with each object or array that deeply equals its counterpart in `previous` replaced by that; items
 *   of arrays are matched by `key` or `id` if they have one
 */
export function share<T>(previous: unknown, next: T): T {
  return shareAny(previous, next) as T;
}

function shareAny(previous: unknown, next: unknown): unknown {
  if (Object.is(previous, next)) return previous;
  if (Array.isArray(previous) && Array.isArray(next)) return shareArray(previous, next);
  if (isRecord(previous) && isRecord(next)) return shareRecord(previous, next);
  return next;
}

function shareArray(previous: readonly unknown[], next: readonly unknown[]): readonly unknown[] {
  const byIdentity = new Map(previous.map((item, index) => [identity(item) ?? index, item]));
  const shared = next.map((item, index) => shareAny(byIdentity.get(identity(item) ?? index), item));
  const same = previous.length === shared.length && shared.every((item, index) => item === previous[index]);
  return same ? previous : shared;
}

function shareRecord(
  previous: Record<string, unknown>,
  next: Record<string, unknown>,
): Record<string, unknown> {
  const shared: Record<string, unknown> = {};
  let same = Object.keys(previous).length === Object.keys(next).length;
  for (const [name, value] of Object.entries(next)) {
    shared[name] = shareAny(previous[name], value);
    same &&= name in previous && Object.is(shared[name], previous[name]);
  }
  return same ? previous : shared;
}

function identity(item: unknown): unknown {
  return isRecord(item) ? (item['key'] ?? item['id']) : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
