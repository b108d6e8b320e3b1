/** What is shown of a tunnel that this app does not serve. */
import { t } from '../../i18n/translate.ts';
import type { OtherTunnelView } from '../../shared/snapshot.ts';
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

/** Those whose address, port or state contains every word that was typed; the order stays. */
export function filterOthers(tunnels: readonly OtherTunnelView[], typed: string): readonly OtherTunnelView[] {
  const words = wordsOf(typed);
  if (words.length === 0) return tunnels;
  return tunnels.filter((tunnel) => {
    const { word, where } = otherState(tunnel);
    return matchesAll(`${tunnel.url} ${tunnel.localPort} ${word} ${where}`, words);
  });
}
