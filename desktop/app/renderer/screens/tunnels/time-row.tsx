import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { useContext, useState } from 'preact/hooks';
import type { TrafficSecond } from '../../../../client/inspector/records.ts';
import type { TunnelView } from '../../../ipc/snapshot.ts';
import { t } from '../../../messages/translate.ts';
import {
  extendChoices,
  fuseFraction,
  readLifetime,
  SPARKLINE_HEIGHT,
  SPARKLINE_WIDTH,
  sparklineDrawing,
  timeLeftWords,
} from '../../model/time-left.ts';
import type { CardPart } from '../../model/actions.ts';
import type { Shape } from '../../model/tunnel-state.ts';
import { useTime } from '../../view/clock.ts';
import { type Action, UnfoldedContext, useAction, useShell, useWindow } from '../../view/context.ts';
import { useMedia } from '../../view/keyboard.ts';
import { Button, type ButtonProps, described, Form, Input } from '../../view/kit.tsx';

interface Unfolding {
  readonly unfolded: CardPart | undefined;
  /** unfolds another part, or folds this one */
  readonly toggle: (part: CardPart) => void;
  readonly fold: () => void;
  /** folds a part with Escape */
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

/** The unfolded part of a card. */
export function useUnfolded(key: string): Unfolding {
  const { unfold } = useShell();
  const unfolded = useContext(UnfoldedContext)[key];
  const fold = (): void => unfold(key, undefined);
  return {
    unfolded,
    fold,
    toggle: (part) => unfold(key, unfolded === part ? undefined : part),
    onKeyDown(event) {
      if (event.key !== 'Escape' || event.defaultPrevented || unfolded === undefined) return;
      event.preventDefault();
      document.getElementById(`${unfolded}-${key}`)?.focus();
      fold();
    },
  };
}

/** The fuse, the time left in words, and the actions of a live tunnel. */
export function TimeRow({
  tunnel,
  shape,
  action,
}: {
  tunnel: TunnelView;
  shape: Shape;
  action: Action;
}): JSX.Element {
  const { isOfCommand } = useShell();
  const { allowsNames } = useWindow().session.account;
  const { key, slug, name } = tunnel;
  // A random name would be another one after the pause.
  const canPause = !isOfCommand && allowsNames && name !== '';
  const { unfolded, toggle } = useUnfolded(key);
  return (
    <>
      <Sparkline seconds={tunnel.pulse} />
      <Fuse tunnel={tunnel} />
      <div class="time-row line dim">
        <TimeLeft tunnel={tunnel} />
        <span class="actions line s1">
          {shape !== 'soon' && (
            <CardLink
              of={slug}
              id={`extend-${key}`}
              aria-expanded={unfolded === 'extend'}
              act={() => toggle('extend')}
            >
              {t('tunnels.extend')}
            </CardLink>
          )}
          <CardLink of={slug} act={() => action.run('tunnel:open-url', { key })}>
            {t('tunnels.open')}
          </CardLink>
          <CardLink of={slug} id={`qr-${key}`} aria-expanded={unfolded === 'qr'} act={() => toggle('qr')}>
            {t('tunnels.qr')}
          </CardLink>
          {canPause && (
            <CardLink
              of={slug}
              id={`pause-${key}`}
              title={t('names.pauseHint')}
              look="link apart"
              act={() => action.run('tunnel:pause', { key }, t('undo.paused', { slug }))}
            >
              {t('names.pause')}
            </CardLink>
          )}
          {!isOfCommand && (
            <CardLink
              of={slug}
              look={canPause ? 'link' : 'link apart'}
              act={() => action.run('tunnel:stop', { key })}
            >
              {t('tunnels.stop')}
            </CardLink>
          )}
        </span>
      </div>
    </>
  );
}

/** A word on a card. Its name for screen readers includes the tunnel. */
export function CardLink({ of: slug, ...rest }: ButtonProps & { of: string; children: string }): JSX.Element {
  const label = t('tunnels.actionOf', { action: rest.children, slug });
  return <Button look="link" aria-label={label} {...rest} />;
}

type Timed = Pick<TunnelView, 'expiresAt' | 'isIdle' | 'ttl'> & Partial<Pick<TunnelView, 'isKeptOpen'>>;

export function TimeLeft({ tunnel: { expiresAt, isIdle, isKeptOpen } }: { tunnel: Timed }): JSX.Element {
  const left = useTime((now) => timeLeftWords(expiresAt, now));
  const words = isIdle
    ? t('tunnels.leftIfUnused', { left })
    : isKeptOpen === true
      ? t('tunnels.leftKeptOpen', { left })
      : left;
  return <span class="time-left">{words}</span>;
}

export function Fuse({ tunnel: { expiresAt, ttl } }: { tunnel: Timed }): JSX.Element {
  const fraction = useTime((now) => fuseFraction(expiresAt, ttl, now));
  // Decorative, because the words below contain the same.
  return (
    <div class="fuse" aria-hidden="true">
      <div class="fuse-left" style={{ width: `${fraction * 100}%` }} />
    </div>
  );
}

const STILL = '(prefers-reduced-motion: reduce)';
/** The interval of redraws, in s, for users who prefer reduced motion. */
const STILL_SECONDS = 15;

/** The traffic of the last minute, above the fuse. Without traffic nothing moves. */
const Sparkline = memo(function Pulse({ seconds }: { seconds: readonly TrafficSecond[] }): JSX.Element {
  const step = useMedia(STILL) ? STILL_SECONDS : 1;
  const last = seconds.at(-1)?.id ?? 0;
  const until = useTime((now) => {
    const second = Math.ceil(Math.floor(now / 1000) / step) * step;
    // After the last traffic has left the drawing, it is not redrawn each second.
    return Math.min(second, last + SPARKLINE_WIDTH);
  });
  const drawing = sparklineDrawing(seconds, until);
  if (drawing === undefined) return <div class="pulse" />;
  return (
    <div class="pulse" role="img" aria-label={drawing.words} title={drawing.words}>
      <svg
        viewBox={`0 0 ${SPARKLINE_WIDTH} ${SPARKLINE_HEIGHT}`}
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        <path d={drawing.requests} />
        <path class="pulse-refused" d={drawing.refused} />
        <path class="pulse-errors" d={drawing.errors} />
      </svg>
    </div>
  );
});

/** Extends a tunnel: three durations at one click, or any other. */
export function Extend({
  tunnel,
  onDone,
}: {
  tunnel: Pick<TunnelView, 'key' | 'slug' | 'expiresAt'>;
  onDone: () => void;
}): JSX.Element {
  const { maxTtl } = useWindow().session.account;
  const action = useAction();
  const [custom, setCustom] = useState('');
  const [problem, setProblem] = useState<string>();
  const noteId = `extend-note-${tunnel.key}`;

  const extend = async (ttl: string, words: string): Promise<void> => {
    setProblem(undefined);
    const { key, slug } = tunnel;
    const answer = await action.run('tunnel:extend', { key, ttl }, t('tunnels.extended', { slug, words }));
    if (!answer.ok) return;
    setCustom('');
    onDone();
  };
  const submit = async (): Promise<void> => {
    const read = readLifetime(custom, maxTtl);
    if ('problem' in read) setProblem(read.problem);
    else await extend(read.ttl, custom.trim());
  };
  const text = problem ?? action.error?.text;

  return (
    <Form class="extend line low" aria-label={t('tunnels.extendOf', { slug: tunnel.slug })} submit={submit}>
      <span class="extend-choices">
        {extendChoices(tunnel.expiresAt, maxTtl, Date.now()).map(([ttl, label]) => (
          <Button key={ttl} look="button small" act={() => extend(ttl, label)}>
            +{label}
          </Button>
        ))}
      </span>
      <Input
        aria-label={t('tunnels.anotherTime')}
        {...described(noteId, text)}
        placeholder={t('tunnels.timeExample')}
        value={custom}
        change={setCustom}
      />
      <Button look="button small">{t('tunnels.addTime')}</Button>
      <span id={noteId} class="problem" role="alert">
        {text}
      </span>
    </Form>
  );
}
