import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { RequestDetail } from '../../../engine/inspector/records.ts';
import { hiddenSecrets, replayProblem } from '../../model/request-detail.ts';
import { useShell } from '../../view/context.ts';
import { Failure } from '../../view/parts.tsx';
import { useAction } from '../../view/use-action.ts';
import { useCopied } from '../../view/use-copied.ts';
import { KeepDialog } from '../sets/keep-dialog.tsx';
import { useExport } from '../transfer/use-export.ts';

/** What can be done with a request: send it again, copy it, see its secrets. */
export function RequestActions({
  tunnelKey,
  detail,
  canReach,
  reveal,
  setReveal,
}: {
  tunnelKey: string;
  detail: RequestDetail;
  /** whether the tunnel is online */
  canReach: boolean;
  /** whether the values of secrets are shown, and copied */
  reveal: boolean;
  setReveal: (reveal: boolean) => void;
}): JSX.Element {
  const { say, go } = useShell();
  const action = useAction();
  const { isCopied, setCopied } = useCopied();
  const har = useExport(tunnelKey);
  const [replayed, setReplayed] = useState<number>();
  const [isKeeping, setKeeping] = useState(false);
  const { id } = detail;
  const problem = replayProblem(detail, canReach);
  const secrets = hiddenSecrets(detail.request);
  const canReveal =
    reveal || secrets + (detail.response === undefined ? 0 : hiddenSecrets(detail.response)) > 0;

  const copy = async (): Promise<void> => {
    const answer = await action.run('log:copy-curl', { key: tunnelKey, id, reveal });
    if (!answer.ok) return;
    setCopied();
    say(answer.value.hidesSecrets ? t('request.copiedCurlClean') : t('request.copiedCurl'));
  };
  const replay = async (): Promise<void> => {
    const answer = await action.run('log:replay', { key: tunnelKey, id });
    if (!answer.ok) return;
    setReplayed(answer.value.id);
    say(t('request.sentAgain'));
  };

  return (
    <>
      <div class="buttons">
        <button
          type="button"
          class="button"
          disabled={problem !== undefined}
          aria-disabled={action.isBusy}
          onClick={() => void (action.isBusy || replay())}
        >
          {t('request.replay')}
        </button>
        <button
          type="button"
          id="edit-request"
          class="button"
          onClick={() => go({ screen: 'edit', key: tunnelKey, id })}
        >
          {t('request.edit')}
        </button>
        <button type="button" class="button" onClick={() => void copy()}>
          {isCopied ? t('request.copied') : t('request.copyCurl')}
        </button>
        <button
          type="button"
          class="button"
          aria-disabled={har.isBusy}
          onClick={() => void har.run([id], reveal)}
        >
          {t('request.exportHar')}
        </button>
        <button type="button" id="keep-request" class="button" onClick={() => setKeeping(true)}>
          {t('sets.keepDots')}
        </button>
        {canReveal && (
          <button type="button" class="button" aria-pressed={reveal} onClick={() => setReveal(!reveal)}>
            {reveal ? t('request.hideSecrets') : t('request.showSecrets')}
          </button>
        )}
        {replayed !== undefined && (
          <button
            type="button"
            id="replayed"
            class="link"
            onClick={() => go({ screen: 'request', key: tunnelKey, id: replayed })}
          >
            {t('request.sentAgainShow')}
          </button>
        )}
      </div>
      {problem !== undefined && <p class="hint">{problem}</p>}
      {secrets > 0 && <p class="hint">{t('request.leavesOut', { secrets })}</p>}
      {har.words !== '' && <p class="hint file-words">{har.words}</p>}
      <Failure problem={action.error ?? har.error} />
      {isKeeping && <KeepDialog tunnelKey={tunnelKey} request={detail} close={() => setKeeping(false)} />}
    </>
  );
}
