import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { RequestDetail } from '../../../engine/inspector/records.ts';
import { replayProblem } from '../../model/request-detail.ts';
import { signatureTone, signatureWords } from '../../model/signature.ts';
import { useShell } from '../../view/context.ts';
import { Icon } from '../../view/icons.tsx';
import { Failure } from '../../view/parts.tsx';
import { useAction } from '../../view/use-action.ts';
import { Secrets } from './secrets.tsx';
import { useSignature } from './use-signature.ts';

const ICONS = { good: 'check', bad: 'close', open: 'locked' } as const;

/** The signature of a webhook: what it says, the secrets it is checked with, and a repetition with a new one. Else nothing. */
export function Signature({
  tunnelKey,
  detail,
  canReach,
}: {
  tunnelKey: string;
  detail: RequestDetail;
  /** whether the tunnel is online */
  canReach: boolean;
}): JSX.Element | null {
  const { go, say } = useShell();
  const action = useAction();
  const [replayed, setReplayed] = useState<number>();
  const { check, reload } = useSignature(tunnelKey, detail);
  if (check === undefined) return null;
  const { signature, name, secrets, isKept } = check;
  const title = t('signature.of', { name });
  const tone = signatureTone(signature);
  const problem = replayProblem(detail, canReach);

  const signAgain = async (): Promise<void> => {
    const answer = await action.run('signature:replay', { key: tunnelKey, id: detail.id });
    if (!answer.ok) return;
    setReplayed(answer.value.id);
    say(t('signature.sentAgain'));
  };

  return (
    <section class="message signature" aria-label={title}>
      <h2>{title}</h2>
      <p class={`verdict verdict-${tone}`}>
        <Icon name={ICONS[tone]} />
        <span>{signatureWords(signature)}</span>
      </p>
      {secrets.length > 0 && (
        <div class="buttons">
          <button
            type="button"
            class="button"
            disabled={problem !== undefined}
            aria-disabled={action.isBusy}
            onClick={() => void (action.isBusy || signAgain())}
          >
            {t('signature.signAndSend')}
          </button>
          {replayed !== undefined && (
            <button
              type="button"
              id="signed-again"
              class="link"
              onClick={() => go({ screen: 'request', key: tunnelKey, id: replayed })}
            >
              {t('request.sentAgainShow')}
            </button>
          )}
        </div>
      )}
      <Failure problem={action.error} />
      <Secrets
        tunnelKey={tunnelKey}
        signature={signature}
        secrets={secrets}
        isKept={isKept}
        onChange={reload}
      />
    </section>
  );
}
