import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import type { UpdateView } from '../../../shared/snapshot.ts';
import { Failure } from '../../view/parts.tsx';
import { useAction } from '../../view/use-action.ts';

/** A newer version of the app, and the way to it. */
export function UpdateNotice({ update: { version, isReady } }: { update: UpdateView }): JSX.Element {
  const action = useAction();
  return (
    <div class="notice notice-news">
      <div class="outage">
        <span>{isReady ? t('tunnels.updateReady', { version }) : t('tunnels.updateOut', { version })}</span>
        {isReady ? (
          <button type="button" class="button small" onClick={() => void action.run('app:update', undefined)}>
            {t('tunnels.restartNow')}
          </button>
        ) : (
          <button
            type="button"
            class="button small"
            onClick={() => void action.run('app:open-link', { link: 'releases' })}
          >
            {t('tunnels.getIt')}
          </button>
        )}
      </div>
      <Failure problem={action.error} />
    </div>
  );
}
