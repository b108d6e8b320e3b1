import type { JSX } from 'preact';
import type { UpdateView } from '../../../shared/snapshot.ts';
import { Failure } from '../../view/parts.tsx';
import { useAction } from '../../view/use-action.ts';

/** A newer version of the app, and the way to it. */
export function UpdateNotice({ update: { version, isReady } }: { update: UpdateView }): JSX.Element {
  const action = useAction();
  return (
    <div class="notice notice-news">
      <div class="outage">
        <span>
          {isReady
            ? `Culvert ${version} is ready, and installed once no tunnel is live and this window is closed.`
            : `Culvert ${version} is out. This copy does not update itself.`}
        </span>
        {isReady ? (
          <button type="button" class="button small" onClick={() => void action.run('app:update', undefined)}>
            Restart now
          </button>
        ) : (
          <button
            type="button"
            class="button small"
            onClick={() => void action.run('app:open-link', { link: 'releases' })}
          >
            Get it
          </button>
        )}
      </div>
      <Failure problem={action.error} />
    </div>
  );
}
