import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { useRef, useState } from 'preact/hooks';
import type { OtherTunnelView, TunnelView } from '../../../ipc/snapshot.ts';
import { t } from '../../../messages/translate.ts';
import { accessWords } from '../../model/access.ts';
import { addressParts } from '../../model/address.ts';
import { otherState } from '../../model/tunnel-state.ts';
import { type Action, useAction, useShell } from '../../view/context.ts';
import { ActionLink, Failure, rich, StateShape, useCopied } from '../../view/controls.tsx';
import { useKeptFocus } from '../../view/keyboard.ts';
import { Extend, Fuse, TimeLeft } from './time-row.tsx';

/** The account's tunnels that this app does not serve, if there are any. */
export function Others({
  tunnels,
  maxTtl,
}: {
  tunnels: readonly OtherTunnelView[];
  /** seconds */
  maxTtl: number;
}): JSX.Element | null {
  const cards = useRef<HTMLUListElement>(null);
  useKeptFocus(cards, (place) => {
    const list = cards.current?.children;
    const next = list?.[Math.min(place, list.length - 1)];
    return next?.querySelector('button') ?? document.getElementById('port');
  });
  if (tunnels.length === 0) return null;
  return (
    <section class="others" aria-label={t('others.title')}>
      <p class="others-title dim" aria-hidden="true">
        {t('others.title')}
      </p>
      <ul ref={cards} class="cards">
        {tunnels.map((tunnel) => (
          <OtherCard key={tunnel.key} tunnel={tunnel} maxTtl={maxTtl} />
        ))}
      </ul>
    </section>
  );
}

/** A tunnel that this app does not serve, with its origin and the available actions. */
const OtherCard = memo(function OtherCard({
  tunnel,
  maxTtl,
}: {
  tunnel: OtherTunnelView;
  /** seconds */
  maxTtl: number;
}): JSX.Element {
  const { say } = useShell();
  const action = useAction();
  const [isExtending, setExtending] = useState(false);
  const { key, slug, lock, localPort, requests, isStopping, createdBy } = tunnel;
  const { shape, word, where } = otherState(tunnel);
  const titleId = `title-${key}`;
  const stop = async (): Promise<void> => {
    const answer = await action.run('tunnel:stop', { key });
    if (answer.ok) say(t('others.stopsSoon', { slug }));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || event.defaultPrevented || !isExtending) return;
    event.preventDefault();
    document.getElementById(`extend-${key}`)?.focus();
    setExtending(false);
  };
  return (
    <li
      class={`card card-other card-${shape}`}
      aria-labelledby={titleId}
      data-slug={slug}
      onKeyDown={onKeyDown}
    >
      <div class="card-top">
        <StateShape shape={shape} />
        <Address id={titleId} tunnel={tunnel} canCopy run={action.run} />
      </div>
      <p class="meta">
        <span class="word">{word}</span>
        {createdBy !== null && <span class="owner">{rich('others.createdBy', { label: createdBy })}</span>}
        <span class="where">{rich('others.whereAndPort', { where, port: localPort })}</span>
        {requests > 0 && <span class="requests">{rich('meta.requests', { requests })}</span>}
        {lock.kind !== 'anyone' && <span>{accessWords(lock)}</span>}
      </p>
      <Fuse tunnel={tunnel} />
      <div class="time-row">
        <TimeLeft tunnel={tunnel} />
        {!isStopping && (
          <span class="actions">
            <ActionLink
              id={`extend-${key}`}
              label={t('tunnels.extend')}
              of={slug}
              expanded={isExtending}
              onClick={() => setExtending(!isExtending)}
            />
            <ActionLink
              label={t('tunnels.open')}
              of={slug}
              onClick={() => void action.run('tunnel:open-url', { key })}
            />
            <ActionLink label={t('tunnels.stop')} of={slug} apart onClick={() => void stop()} />
          </span>
        )}
      </div>
      {isExtending && !isStopping && (
        <Extend tunnel={tunnel} maxTtl={maxTtl} onDone={() => setExtending(false)} />
      )}
      <Failure problem={action.error} />
    </li>
  );
});

/** The address with its significant part in bold, and a button that copies it completely. */
export function Address({
  id,
  tunnel,
  canCopy,
  run,
}: {
  id: string;
  tunnel: Pick<TunnelView, 'key' | 'slug' | 'url'>;
  /** whether copying it is useful */
  canCopy: boolean;
  run: Action['run'];
}): JSX.Element {
  const { say } = useShell();
  const { isCopied, setCopied } = useCopied();
  const { before, slug, after } = addressParts(tunnel.url, tunnel.slug);

  const copy = async (): Promise<void> => {
    const answer = await run('tunnel:copy-url', { key: tunnel.key });
    if (!answer.ok) return;
    setCopied();
    say(t('address.copied'));
  };

  const open = (event: MouseEvent): void => {
    event.preventDefault();
    // The end of a selection, or the second click of a double click, which selects.
    if (event.detail > 1 || getSelection()?.isCollapsed === false) return;
    void run('tunnel:open-url', { key: tunnel.key });
  };
  const parts = (
    <>
      {before !== '' && <span class="dim">{before}</span>}
      <b>{slug}</b>
      {after !== '' && <span class="dim">{after}</span>}
    </>
  );

  return (
    <>
      <h2 id={id} class="address" dir="ltr" title={tunnel.url}>
        {canCopy ? (
          // For the mouse: the keyboard has Open.
          <a href={tunnel.url} tabIndex={-1} draggable={false} onClick={open}>
            {parts}
          </a>
        ) : (
          parts
        )}
      </h2>
      {canCopy && (
        <button
          type="button"
          id={`copy-${tunnel.key}`}
          class="button copy"
          // The accessible name contains the visible word (WCAG 2.5.3).
          aria-label={t(isCopied ? 'address.isCopiedOf' : 'address.copyOf', { slug: tunnel.slug })}
          onClick={() => void copy()}
        >
          {isCopied ? t('common.copied') : t('common.copy')}
        </button>
      )}
    </>
  );
}
