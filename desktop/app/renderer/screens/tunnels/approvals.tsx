import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { agentWords, type TunnelView } from '../../../ipc/snapshot.ts';
import type { ApprovalRequestView } from '../../../ipc/tunnel-views.ts';
import { t } from '../../../messages/translate.ts';
import { type ApprovalChoice, APPROVAL_CHOICES, approvalTtl, approvalWords } from '../../model/access.ts';
import { useShell } from '../../view/context.ts';
import { useKeptFocus } from '../../view/focus.ts';
import { rich } from '../../view/rich.tsx';
import type { Action } from '../../view/use-action.ts';

/** The waiting visitors, with what is known about them, and buttons to answer. */
export function ApprovalRequests({
  tunnel,
  action,
}: {
  tunnel: TunnelView;
  action: Action;
}): JSX.Element | null {
  const { key, slug, knocks } = tunnel;
  const list = useRef<HTMLUListElement>(null);
  useKeptFocus(list, (place) => {
    const left = list.current?.children;
    const next = left?.[Math.min(place, left.length - 1)]?.querySelector('button');
    return next ?? document.getElementById(`lock-${key}`);
  });
  if (knocks.length === 0) return null;
  return (
    <ul ref={list} class="knocks" aria-label={t('knocks.waiting', { slug })}>
      {knocks.map((knock, index) => (
        <ApprovalRequest
          key={knock.id}
          knock={knock}
          tunnelKey={key}
          admitId={index === 0 ? `admit-${key}` : undefined}
          action={action}
        />
      ))}
    </ul>
  );
}

function ApprovalRequest({
  knock: { id, address, agent },
  tunnelKey: key,
  admitId,
  action,
}: {
  knock: ApprovalRequestView;
  tunnelKey: string;
  /** id by which a notification finds it */
  admitId: string | undefined;
  action: Action;
}): JSX.Element {
  const { say } = useShell();
  const [admission, setAdmission] = useState<ApprovalChoice>('hour');
  const who = agentWords(agent);
  const label = `${who}, ${address}`;
  const admit = async (): Promise<void> => {
    const ttl = approvalTtl(admission, Date.now());
    const answer = await action.run('knock:admit', { key, id, ttl });
    if (answer.ok) say(t('knocks.admitted', { who }));
  };
  const refuse = async (): Promise<void> => {
    const answer = await action.run('knock:refuse', { key, id });
    if (answer.ok) say(t('knocks.refused', { who }));
  };
  return (
    <li>
      <span class="who-knocks">
        {rich('knocks.wantsIn', { who })} <span class="from">{t('knocks.from', { address })}</span>
      </span>
      <span class="answers">
        <button
          type="button"
          id={admitId}
          class="button primary small"
          aria-label={t('knocks.admitOf', { label })}
          onClick={() => void admit()}
        >
          {t('knocks.admit')}
        </button>
        <select
          aria-label={t('knocks.howLong', { label })}
          value={admission}
          onChange={(event) => setAdmission(event.currentTarget.value as ApprovalChoice)}
        >
          {APPROVAL_CHOICES.map((choice) => (
            <option key={choice} value={choice}>
              {approvalWords(choice)}
            </option>
          ))}
        </select>
        <button
          type="button"
          class="button small"
          aria-label={t('knocks.refuseOf', { label })}
          onClick={() => void refuse()}
        >
          {t('knocks.refuse')}
        </button>
      </span>
    </li>
  );
}
