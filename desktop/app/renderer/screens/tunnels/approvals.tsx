import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { hostsOf, type TunnelView, whoAsks } from '../../../ipc/snapshot.ts';
import type { ApprovalRequestView } from '../../../ipc/tunnel-views.ts';
import { t } from '../../../messages/translate.ts';
import { agentHint, APPROVAL_CHOICES, type ApprovalChoice, approvalTtl } from '../../model/access.ts';
import type { Action } from '../../view/context.ts';
import { rich } from '../../view/controls.tsx';
import { Button, List, Select } from '../../view/kit.tsx';

/** The waiting visitors, with what is known about them, and buttons to answer. */
export function ApprovalRequests({
  tunnel,
  action,
}: {
  tunnel: TunnelView;
  action: Action;
}): JSX.Element | null {
  const { key, slug, knocks } = tunnel;
  if (knocks.length === 0) return null;
  return (
    <List after={`lock-${key}`} class="knocks stack" aria-label={t('knocks.waiting', { slug })}>
      {knocks.map((knock, index) => (
        <ApprovalRequest
          key={knock.id}
          knock={knock}
          tunnelKey={key}
          admitId={index === 0 ? `admit-${key}` : undefined}
          action={action}
        />
      ))}
    </List>
  );
}

function ApprovalRequest({
  knock,
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
  const [admission, setAdmission] = useState<ApprovalChoice>('hour');
  const { id, address, client } = knock;
  const who = whoAsks(knock);
  const label = `${who}, ${address}`;
  const admit = () => {
    const ttl = approvalTtl(admission, Date.now());
    return action.run('knock:admit', { key, id, ttl }, t('knocks.admitted', { who }));
  };
  const refuse = () => action.run('knock:refuse', { key, id }, t('knocks.refused', { who }));
  return (
    <li class="notice notice-news line">
      <span class="grow">
        {rich('knocks.wantsIn', { who })} <span class="from">{t('knocks.from', { address })}</span>
        {client !== undefined && <div class="hint">{agentHint(client.name, hostsOf(client).returnsTo)}</div>}
      </span>
      <span class="line low">
        <Button
          id={admitId}
          look="button primary small"
          aria-label={t('knocks.admitOf', { label })}
          act={admit}
        >
          {t('knocks.admit')}
        </Button>
        {/* An agent has access until it is revoked. */}
        {client === undefined && (
          <Select
            aria-label={t('knocks.howLong', { label })}
            choices={APPROVAL_CHOICES.map((choice) => [choice, t(`knocks.for.${choice}`)])}
            value={admission}
            choose={setAdmission}
          />
        )}
        <Button look="button small" aria-label={t('knocks.refuseOf', { label })} act={refuse}>
          {t('knocks.refuse')}
        </Button>
      </span>
    </li>
  );
}
