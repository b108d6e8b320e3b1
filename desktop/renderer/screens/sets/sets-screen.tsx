import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { TunnelView } from '../../../shared/snapshot.ts';
import { useKeptFocus } from '../../view/focus.ts';
import { Failure, Notice } from '../../view/parts.tsx';
import { Screen } from '../../view/screen.tsx';
import { SetCard, setHeadingId } from './set-card.tsx';
import { useSetSender } from './use-set-sender.ts';
import { useSets } from './use-sets.ts';

/** Requests that are kept by name, to be sent to a tunnel's local server whenever somebody wants. */
export function SetsScreen({
  tunnelKey,
  tunnels,
  revision,
}: {
  tunnelKey: string;
  tunnels: readonly TunnelView[];
  /** of the sets */
  revision: number;
}): JSX.Element {
  const { view, error } = useSets(revision);
  const sender = useSetSender(tunnelKey);
  const list = useRef<HTMLUListElement>(null);
  const sets = view?.sets ?? [];
  // A set goes when it is removed, and when what made it is undone.
  useKeptFocus(list, (place) => {
    const next = sets[Math.min(place, sets.length - 1)];
    return next === undefined ? document.querySelector('h1') : document.getElementById(setHeadingId(next.id));
  });
  const tunnel = tunnels.find(({ key }) => key === tunnelKey);
  const canSend = tunnel?.status.name === 'online';
  return (
    <Screen title={t('sets.title')}>
      <Failure problem={error} />
      {tunnel === undefined ? (
        <Notice>{t('log.tunnelGone')}</Notice>
      ) : (
        sets.length > 0 && (
          <p class="hint">
            {canSend
              ? t('sets.sentTo', { slug: tunnel.slug, port: tunnel.localPort })
              : t('sets.needsOnline', { slug: tunnel.slug })}
          </p>
        )
      )}
      {view !== undefined && sets.length === 0 && <p class="dim nothing">{t('sets.none')}</p>}
      <ul ref={list} class="sets">
        {sets.map((set) => (
          <SetCard
            key={set.id}
            tunnelKey={tunnelKey}
            set={set}
            isOnly={sets.length === 1}
            canSend={canSend}
            sender={sender}
          />
        ))}
      </ul>
      {view !== undefined && sets.length > 0 && (
        <p class="hint">{t(view.isKept ? 'secrets.keptBySystem' : 'secrets.inMemory')}</p>
      )}
    </Screen>
  );
}
