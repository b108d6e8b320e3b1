import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import type { TunnelView } from '../../../shared/snapshot.ts';
import { fuseFraction, timeLeftWords } from '../../model/time-left.ts';
import type { Shape } from '../../model/tunnel-state.ts';
import { useTime } from '../../view/clock.ts';
import { useShell } from '../../view/context.ts';
import type { Action } from '../../view/use-action.ts';
import { ActionLink } from '../../view/action-link.tsx';
import { Pulse } from './pulse.tsx';

/** What a card has unfolded. */
export type Unfolded = 'extend' | 'lock' | 'qr' | undefined;

/** The fuse, the time left in words, and what can be done with a live tunnel. */
export function TimeRow({
  tunnel,
  shape,
  unfolded,
  setUnfolded,
  action,
}: {
  tunnel: TunnelView;
  shape: Shape;
  unfolded: Unfolded;
  setUnfolded: (unfolded: Unfolded) => void;
  action: Action;
}): JSX.Element {
  const { say } = useShell();
  const { key, slug } = tunnel;
  const toggle = (part: Unfolded) => setUnfolded(unfolded === part ? undefined : part);
  const stop = async (): Promise<void> => {
    const answer = await action.run('tunnel:stop', { key });
    if (answer.ok) say(t('tunnels.stopped', { slug }));
  };
  return (
    <>
      <Pulse seconds={tunnel.pulse} />
      <Fuse tunnel={tunnel} />
      <div class="time-row">
        <TimeLeft tunnel={tunnel} />
        <span class="actions">
          {shape !== 'soon' && (
            <ActionLink
              id={`extend-${key}`}
              label={t('tunnels.extend')}
              of={slug}
              expanded={unfolded === 'extend'}
              onClick={() => toggle('extend')}
            />
          )}
          <ActionLink
            label={t('tunnels.open')}
            of={slug}
            onClick={() => void action.run('tunnel:open-url', { key })}
          />
          <ActionLink
            id={`qr-${key}`}
            label={t('tunnels.qr')}
            of={slug}
            expanded={unfolded === 'qr'}
            onClick={() => toggle('qr')}
          />
          <ActionLink label={t('tunnels.stop')} of={slug} apart onClick={() => void stop()} />
        </span>
      </div>
    </>
  );
}

type Timed = Pick<TunnelView, 'expiresAt' | 'isIdle' | 'ttl'>;

export function TimeLeft({ tunnel: { expiresAt, isIdle } }: { tunnel: Timed }): JSX.Element {
  const words = useTime((now) => timeLeftWords(expiresAt, now));
  return <span class="time-left">{isIdle ? t('tunnels.leftIfUnused', { left: words }) : words}</span>;
}

export function Fuse({ tunnel: { expiresAt, ttl } }: { tunnel: Timed }): JSX.Element {
  const fraction = useTime((now) => fuseFraction(expiresAt, ttl, now));
  // The words below say the same.
  return (
    <div class="fuse" aria-hidden="true">
      <div class="fuse-left" style={{ width: `${fraction * 100}%` }} />
    </div>
  );
}
