/** What unfolds below a tunnel, and how long the tunnel stays. */
import type { JSX, RefObject } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { TunnelView } from '../../../ipc/snapshot.ts';
import { t } from '../../../messages/translate.ts';
import type { CardPart } from '../../model/actions.ts';
import { extendChoices, readLifetime, stayWords, timeLeftWords } from '../../model/time-left.ts';
import { useTime } from '../../view/clock.ts';
import { UnfoldedContext, useAction, useShell, useWindow } from '../../view/context.ts';
import { useKeptFocus } from '../../view/keyboard.ts';
import { Button, type ButtonProps, ChipButton, described, FoldMark, Form, Input } from '../../view/kit.tsx';

interface Unfolding {
  readonly unfolded: CardPart | undefined;
  /** unfolds another part, or folds this one */
  readonly toggle: (part: CardPart) => void;
  /** folds a part, but not the card */
  readonly fold: () => void;
  /** folds a part with Escape */
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

/** Folds a card, which is a row from then on. */
export function FoldButton({ slug, fold }: { slug: string; fold: () => void }): JSX.Element {
  return (
    <Button look="icon-button" aria-label={t('tunnels.lessOf', { slug })} aria-expanded={true} act={fold}>
      <FoldMark isOpen />
    </Button>
  );
}

/** The unfolded part of a tunnel. */
export function useUnfolded(key: string): Unfolding {
  const { unfold } = useShell();
  const unfolded = useContext(UnfoldedContext)[key];
  const fold = (): void => unfold(key, 'card');
  return {
    unfolded,
    fold,
    toggle: (part) => unfold(key, unfolded === part ? 'card' : part),
    onKeyDown(event) {
      if (event.key !== 'Escape' || event.defaultPrevented || unfolded === undefined) return;
      const opener = document.getElementById(`${unfolded}-${key}`);
      if (opener === null) return;
      event.preventDefault();
      opener.focus();
      fold();
    },
  };
}

/** Keeps the focus in a part that unfolds from a row, or folds to one, by its first button. */
export function useFoldFocus(part: RefObject<HTMLElement | null>, isFolded: boolean): void {
  const wasFolded = useRef(isFolded);
  useKeptFocus(part, () =>
    wasFolded.current === isFolded ? undefined : part.current?.querySelector('button'),
  );
  useEffect(() => {
    wasFolded.current = isFolded;
  }, [isFolded]);
}

/** A word about a tunnel. Its name for screen readers includes the tunnel. */
export function CardLink({ of: slug, ...rest }: ButtonProps & { of: string; children: string }): JSX.Element {
  const label = t('tunnels.actionOf', { action: rest.children, slug });
  return <Button look="link" aria-label={label} {...rest} />;
}

type Timed = Pick<TunnelView, 'key' | 'slug' | 'expiresAt' | 'isIdle'> &
  Partial<Pick<TunnelView, 'isKeptOpen'>>;

/** How long a tunnel stays, and the button to extend it. */
export function StayChip({ tunnel }: { tunnel: Timed }): JSX.Element {
  const { key, slug, expiresAt, isKeptOpen } = tunnel;
  const { unfolded, toggle } = useUnfolded(key);
  const words = useTime((now) => stayWords(tunnel, now));
  const left = useTime((now) => timeLeftWords(expiresAt, now));
  return (
    <ChipButton
      id={`extend-${key}`}
      aria-label={t('tunnels.extendOfIs', { slug, words })}
      aria-expanded={unfolded === 'extend'}
      title={isKeptOpen === true ? t('tunnels.leftKeptOpen', { left }) : undefined}
      act={() => toggle('extend')}
    >
      {words}
    </ChipButton>
  );
}

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
