import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import type { TunnelView } from '../../../shared/snapshot.ts';
import { useShell } from '../../view/context.ts';
import type { Action } from '../../view/use-action.ts';
import { ActionLink } from '../../view/action-link.tsx';

/** Why a tunnel ended, and the two things to do next. */
export function EndedRow({ tunnel, action }: { tunnel: TunnelView; action: Action }): JSX.Element {
  const { say } = useShell();
  const { key, slug, name, status } = tunnel;
  const remove = async (): Promise<void> => {
    const answer = await action.run('tunnel:forget', { key });
    if (answer.ok) say(t('tunnels.removed', { slug }));
  };
  return (
    <div class="time-row ended-row">
      <span class="time-left">
        {status.name === 'ended' && status.why} {name === '' && t('tunnels.newAddress')}
      </span>
      <span class="actions">
        <ActionLink
          id={`start-${key}`}
          label={t('tunnels.startAgain')}
          of={slug}
          onClick={() => void action.run('tunnel:start', { key })}
        />
        <ActionLink label={t('tunnels.remove')} of={slug} apart onClick={() => void remove()} />
      </span>
    </div>
  );
}
