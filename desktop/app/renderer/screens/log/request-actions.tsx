import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { RequestDetail } from '../../../../client/inspector/records.ts';
import { t } from '../../../messages/translate.ts';
import { hiddenSecrets, replayProblem } from '../../model/request.ts';
import { useShell } from '../../view/context.ts';
import { Failure, useCopied } from '../../view/controls.tsx';
import { isLetter, useKey } from '../../view/keys.ts';
import { Menu, type Spot, spotBelow } from '../../view/menu.tsx';
import { useAction } from '../../view/use-action.ts';
import { KeepDialog } from '../collections/save-dialog.tsx';
import { useExport } from '../transfer.tsx';

/** Id of the button that sends the request again. */
export const REPLAY_ID = 'replay-request';

/** The actions of a request in one row: send it again, edit it, copy it; the others are in a menu. */
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
  /** whether secrets are shown and copied */
  reveal: boolean;
  setReveal: (reveal: boolean) => void;
}): JSX.Element {
  const { say, go, replace, isOfCommand } = useShell();
  const action = useAction();
  const { isCopied, setCopied } = useCopied();
  const har = useExport(tunnelKey);
  const row = useRef<HTMLDivElement>(null);
  const [menu, setMenu] = useState<Spot>();
  const [isKeeping, setKeeping] = useState(false);
  const { id } = detail;
  const problem = replayProblem(detail, canReach);
  const canReveal =
    reveal ||
    hiddenSecrets(detail.request) + (detail.response === undefined ? 0 : hiddenSecrets(detail.response)) > 0;

  const copy = async (): Promise<void> => {
    const answer = await action.run('log:copy-curl', { key: tunnelKey, id, reveal });
    if (!answer.ok) return;
    setCopied();
    say(answer.value.hidesSecrets ? t('request.copiedCurlClean') : t('request.copiedCurl'));
  };
  const replay = async (): Promise<void> => {
    const answer = await action.run('log:replay', { key: tunnelKey, id });
    if (!answer.ok) return;
    say(t('request.sentAgain'));
    // What people want to see next is the result.
    const screen = 'request' as const;
    replace({ screen, key: tunnelKey, id }, { screen, key: tunnelKey, id: answer.value.id }, REPLAY_ID);
  };

  const edit = (): void => go({ screen: 'edit', key: tunnelKey, id });
  const actOf = (event: KeyboardEvent): (() => unknown) | undefined => {
    // In a log beside the request, the keys belong to the rows.
    const isHere =
      event.target === document.body || row.current?.closest('.screen') === screenOf(event.target);
    if (!isHere) return undefined;
    if (isLetter(event, 'r')) return () => (problem === undefined ? action.isBusy || replay() : say(problem));
    if (isLetter(event, 'e')) return edit;
    return isLetter(event, 'c') ? copy : undefined;
  };
  useKey(
    (event) => actOf(event) !== undefined,
    (event) => void actOf(event)?.(),
  );

  return (
    <>
      <div ref={row} class="buttons request-actions">
        <button
          type="button"
          id={REPLAY_ID}
          class="button primary"
          disabled={problem !== undefined}
          aria-disabled={action.isBusy}
          onClick={() => void (action.isBusy || replay())}
        >
          {t('request.replay')}
        </button>
        <button type="button" id="edit-request" class="button" onClick={edit}>
          {t('request.edit')}
        </button>
        <button
          type="button"
          class="button"
          aria-label={isCopied ? undefined : t('request.copyCurl')}
          onClick={() => void copy()}
        >
          {isCopied ? t('request.copied') : t('request.curl')}
        </button>
        <button
          type="button"
          id="more-request"
          class="button more"
          aria-haspopup="menu"
          aria-label={t('request.more')}
          title={t('request.more')}
          onClick={({ currentTarget }) => setMenu(spotBelow(currentTarget))}
        >
          <span aria-hidden="true">⋯</span>
        </button>
      </div>
      {problem !== undefined && <p class="hint">{problem}</p>}
      {har.words !== '' && <p class="hint file-words">{har.words}</p>}
      <Failure problem={action.error ?? har.error} />
      {menu !== undefined && (
        <Menu
          label={t('request.more')}
          spot={menu}
          items={[
            { label: t('request.exportHar'), act: () => har.run([id], reveal) },
            ...(isOfCommand ? [] : [{ label: t('sets.keepDots'), act: () => setKeeping(true) }]),
            ...(canReveal
              ? [
                  {
                    label: reveal ? t('request.hideSecrets') : t('request.showSecrets'),
                    act: () => setReveal(!reveal),
                  },
                ]
              : []),
          ]}
          close={() => setMenu(undefined)}
        />
      )}
      {isKeeping && <KeepDialog tunnelKey={tunnelKey} request={detail} close={() => setKeeping(false)} />}
    </>
  );
}

function screenOf(target: EventTarget | null): Element | null {
  return target instanceof Element ? target.closest('.screen') : null;
}
