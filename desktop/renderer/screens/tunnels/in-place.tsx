import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import { Failure } from '../../view/parts.tsx';
import { useAction } from '../../view/use-action.ts';

/** What can be opened in place of a port: a folder, or the tunnels of a project. The system asks for it. */
export function InPlace(): JSX.Element {
  const action = useAction();
  const ask = (channel: 'folder:choose' | 'project:choose'): void => {
    if (!action.isBusy) void action.run(channel, undefined);
  };
  return (
    <>
      <div class="in-place" role="group" aria-label={t('project.instead')}>
        <button type="button" class="button small" onClick={() => ask('folder:choose')}>
          {t('project.openFolder')}
        </button>
        <button type="button" class="button small" onClick={() => ask('project:choose')}>
          {t('project.open')}
        </button>
      </div>
      <Failure problem={action.error} />
    </>
  );
}
