import type { JSX } from 'preact';
import type { TunnelView } from '../../../shared/snapshot.ts';
import type { Action } from '../../view/use-action.ts';
import { ActionLink } from './time-row.tsx';

/** Why a tunnel ended, and the two things that can follow. */
export function EndedRow({ tunnel, action }: { tunnel: TunnelView; action: Action }): JSX.Element {
  const { key, slug, name, status } = tunnel;
  return (
    <div class="time-row ended-row">
      <span class="time-left">
        {status.name === 'ended' && status.why}
        {name === '' && ' Started again, it gets a new address.'}
      </span>
      <span class="actions">
        <ActionLink label="Start again" of={slug} onClick={() => void action.run('tunnel:start', { key })} />
        <ActionLink label="Remove" of={slug} onClick={() => void action.run('tunnel:forget', { key })} />
      </span>
    </div>
  );
}
