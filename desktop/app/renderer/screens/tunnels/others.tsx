import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { useContext, useRef } from 'preact/hooks';
import type { OtherTunnelView, TunnelView } from '../../../ipc/snapshot.ts';
import { t } from '../../../messages/translate.ts';
import { accessWords } from '../../model/access.ts';
import { copyAddress } from '../../model/actions.ts';
import { addressParts, countedBy, isRaw } from '../../model/address.ts';
import { countText } from '../../model/numbers.ts';
import { otherState } from '../../model/tunnel-state.ts';
import { type Action, CopiedContext, useAction, useShell } from '../../view/context.ts';
import { CopiedButton, rich } from '../../view/controls.tsx';
import { StateShape } from '../../view/icons.tsx';
import { Failure, List } from '../../view/kit.tsx';
import { CardLink, Extend, FoldButton, StayChip, useFoldFocus, useUnfolded } from './stay.tsx';
import { RequestCount, RowButton } from './tunnel-row.tsx';

/** The account's tunnels that this app does not serve, if there are any. @param areRows until they are unfolded */
export function Others({
  tunnels,
  areRows,
}: {
  tunnels: readonly OtherTunnelView[];
  areRows: boolean;
}): JSX.Element | null {
  if (tunnels.length === 0) return null;
  return (
    <section aria-label={t('others.title')}>
      <p class="others-title dim" aria-hidden="true">
        {t('others.title')}
      </p>
      <List after="port" class={areRows ? 'cards' : 'cards stack s3'}>
        {tunnels.map((tunnel) => (
          <OtherCard key={tunnel.key} tunnel={tunnel} mayFold={areRows} />
        ))}
      </List>
    </section>
  );
}

/** A tunnel that this app does not serve, with its origin and the available actions. */
const OtherCard = memo(function OtherCard({
  tunnel,
  mayFold,
}: {
  tunnel: OtherTunnelView;
  mayFold: boolean;
}): JSX.Element {
  const action = useAction();
  const { go, unfold } = useShell();
  const { key, slug, log, lock, localPort, requests, isStopping, createdBy } = tunnel;
  const { unfolded, fold, onKeyDown } = useUnfolded(key);
  const { shape, word, where } = otherState(tunnel);
  const titleId = `title-${key}`;
  const stop = () => action.run('tunnel:stop', { key }, t('others.stopsSoon', { slug }));
  const isFolded = mayFold && unfolded === undefined;
  const card = useRef<HTMLLIElement>(null);
  useFoldFocus(card, isFolded);
  if (isFolded) {
    return (
      <li ref={card} data-slug={slug}>
        <RowButton shape={shape} label={slug} aria-expanded={false} act={() => unfold(key, 'card')}>
          <span class="tunnel-line line dim">
            <span class="unseen">{word}</span>
            <span class="cut">{where}</span>
            {requests > 0 && <span class="requests">{countText(requests)}</span>}
          </span>
        </RowButton>
      </li>
    );
  }
  return (
    <li
      ref={card}
      class={`card box card-other card-${shape}`}
      aria-labelledby={titleId}
      data-slug={slug}
      onKeyDown={onKeyDown}
    >
      <div class="card-top">
        <StateShape shape={shape} />
        <h2 id={titleId} class="address-line">
          <Address tunnel={tunnel} canOpen run={action.run} />
        </h2>
        <CopyAddress tunnel={tunnel} run={action.run} />
        {mayFold && <FoldButton slug={slug} fold={() => unfold(key, undefined)} />}
      </div>
      <p class="meta line spaced small-text dim">
        <span class="word strong">{word}</span>
        {createdBy !== null && <span>{rich('others.createdBy', { label: createdBy })}</span>}
        <span class="where">{rich('others.whereAndPort', { where, port: localPort })}</span>
        {requests > 0 && (
          <span class="requests">
            <RequestCount of={tunnel} />
          </span>
        )}
        {lock.kind !== 'anyone' && <span>{accessWords(lock)}</span>}
      </p>
      {!isStopping && (
        <div class="time-row line dim">
          <StayChip tunnel={tunnel} />
          <span class="actions line s1">
            {log !== undefined && (
              <CardLink of={slug} id={`log-${key}`} act={() => go({ screen: 'log', key })}>
                {t('log.requests', { kind: countedBy(tunnel) })}
              </CardLink>
            )}
            {!isRaw(tunnel) && (
              <CardLink of={slug} act={() => action.run('tunnel:open-url', { key })}>
                {t('tunnels.open')}
              </CardLink>
            )}
            <CardLink of={slug} look="link apart" act={stop}>
              {t('tunnels.stop')}
            </CardLink>
          </span>
        </div>
      )}
      {unfolded === 'extend' && !isStopping && <Extend tunnel={tunnel} onDone={fold} />}
      <Failure problem={action.error} />
    </li>
  );
});

type Addressed = Pick<TunnelView, 'key' | 'slug' | 'url'>;

/** The address with its significant part in bold. @param canOpen whether opening it is useful */
export function Address({
  tunnel,
  canOpen,
  run,
}: {
  tunnel: Addressed;
  canOpen: boolean;
  run: Action['run'];
}): JSX.Element {
  const { before, slug, after } = addressParts(tunnel.url, tunnel.slug);
  const open = (event: MouseEvent): void => {
    event.preventDefault();
    // The end of a selection, or the second click of a double click, which selects.
    if (event.detail > 1 || getSelection()?.isCollapsed === false) return;
    void run('tunnel:open-url', { key: tunnel.key });
  };
  const parts = (
    <>
      {before !== '' && <span class="dim cut">{before}</span>}
      <b class="cut">{slug}</b>
      {after !== '' && <span class="dim cut">{after}</span>}
    </>
  );
  return (
    <span class="address copied-by-hand" dir="ltr" title={tunnel.url}>
      {canOpen && !isRaw(tunnel) ? (
        // For the mouse: the keyboard has Open.
        <a href={tunnel.url} tabIndex={-1} draggable={false} onClick={open}>
          {parts}
        </a>
      ) : (
        parts
      )}
    </span>
  );
}

/** Copies the address of a tunnel completely. */
export function CopyAddress({
  tunnel: { key, slug },
  run,
}: {
  tunnel: Addressed;
  run: Action['run'];
}): JSX.Element {
  const { say, copied } = useShell();
  return (
    <CopiedButton
      id={`copy-${key}`}
      isCopied={useContext(CopiedContext) === key}
      look="button copy"
      names={[t('address.copyOf', { slug }), t('address.isCopiedOf', { slug })]}
      words={[t('common.copy'), t('common.copied')]}
      act={() => copyAddress({ call: run, say, copied }, key, t('address.copied'))}
    />
  );
}
