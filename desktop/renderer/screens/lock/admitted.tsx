import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import { agentWords } from '../../../shared/agent.ts';
import type { AdmittedView } from '../../../shared/lock.ts';
import type { TunnelView } from '../../../shared/snapshot.ts';
import { timeLeftWords } from '../../model/time-left.ts';
import { useTime } from '../../view/clock.ts';
import { useShell } from '../../view/context.ts';
import { useKeptFocus } from '../../view/focus.ts';
import { Failure } from '../../view/parts.tsx';
import { useAction } from '../../view/use-action.ts';

/** Visitors who were let in, for how long they still are, and the way out for each. */
export function Admitted({ tunnel: { key, slug, knocks } }: { tunnel: TunnelView }): JSX.Element {
  const { say } = useShell();
  const list = useAction();
  const action = useAction();
  const [visitors, setVisitors] = useState<readonly AdmittedView[]>();
  const rows = useRef<HTMLUListElement>(null);
  useKeptFocus(rows, (place) => {
    const left = rows.current?.children;
    const next = left?.[Math.min(place, left.length - 1)]?.querySelector('button');
    return next ?? document.getElementById(`lock-${key}`);
  });

  const { run } = list;
  // Whoever was admitted no longer knocks.
  useEffect(() => {
    let isCurrent = true;
    const load = async (): Promise<void> => {
      const answer = await run('knock:admitted', { key });
      if (isCurrent && answer.ok) setVisitors(answer.value);
    };
    void load();
    return () => {
      isCurrent = false;
    };
  }, [run, key, knocks]);

  const sendOut = async ({ id, agent }: AdmittedView): Promise<void> => {
    const answer = await action.run('knock:refuse', { key, id });
    if (!answer.ok) return;
    setVisitors((before) => before?.filter((visitor) => visitor.id !== id));
    say(t('admitted.sentOut', { agent: agentWords(agent) }));
  };

  return (
    <div class="links">
      <Failure problem={action.error ?? list.error} />
      {visitors?.length === 0 && <p class="hint">{t('admitted.nobody')}</p>}
      <ul ref={rows} class="link-list" aria-label={t('admitted.visitors', { slug })}>
        {visitors?.map((visitor) => (
          <Visitor key={visitor.id} visitor={visitor} onSendOut={() => void sendOut(visitor)} />
        ))}
      </ul>
    </div>
  );
}

function Visitor({
  visitor: { agent, address, endsAt },
  onSendOut,
}: {
  visitor: AdmittedView;
  onSendOut: () => void;
}): JSX.Element {
  const left = useTime((now) => timeLeftWords(endsAt, now));
  const who = agentWords(agent);
  return (
    <li>
      <span class="visitor">
        {who}{' '}
        <span class="hint" dir="ltr">
          {address}
        </span>
      </span>
      <span class="dim nowrap">{left}</span>
      <button
        type="button"
        class="link"
        aria-label={t('admitted.sendOutOf', { who, address })}
        onClick={onSendOut}
      >
        {t('admitted.sendOut')}
      </button>
    </li>
  );
}
