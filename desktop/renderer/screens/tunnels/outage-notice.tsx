import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import type { OutageView } from '../../model/outage.ts';
import { retryWords } from '../../model/tunnel-state.ts';
import { useTime } from '../../view/clock.ts';
import { FindOutWhy } from '../../view/find-out-why.tsx';
import { Failure, Notice } from '../../view/parts.tsx';
import { useAction } from '../../view/use-action.ts';

/** The one banner of an outage: the cause, when the next attempt comes, and a way not to wait for it. */
export function OutageNotice({ outage: { text, retryAt } }: { outage: OutageView }): JSX.Element {
  const action = useAction();
  return (
    <Notice>
      <div class="outage">
        <span>
          {text} {retryAt !== undefined && <Countdown retryAt={retryAt} />}
        </span>
        <div class="outage-buttons">
          {retryAt !== undefined && (
            <button
              type="button"
              class="button small"
              onClick={() => void action.run('relay:try', undefined)}
            >
              {t('tunnels.tryNow')}
            </button>
          )}
          <FindOutWhy />
        </div>
      </div>
      <Failure problem={action.error} />
    </Notice>
  );
}

function Countdown({ retryAt }: { retryAt: number }): JSX.Element {
  const words = useTime((now) => retryWords({ retryAt }, now));
  return <span class="nowrap">{words}</span>;
}
