import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { useContext } from 'preact/hooks';
import type { OtherTunnelView, TunnelView } from '../../../ipc/snapshot.ts';
import { t } from '../../../messages/translate.ts';
import { accessWords } from '../../model/access.ts';
import { copyAddress } from '../../model/actions.ts';
import { addressParts } from '../../model/address.ts';
import { otherState } from '../../model/tunnel-state.ts';
import { type Action, CopiedContext, useAction, useShell } from '../../view/context.ts';
import { CopiedButton, rich } from '../../view/controls.tsx';
import { StateShape } from '../../view/icons.tsx';
import { Failure, List } from '../../view/kit.tsx';
import { CardLink, Extend, Fuse, TimeLeft, useUnfolded } from './time-row.tsx';

/** The account's tunnels that this app does not serve, if there are any. */
export function Others({ tunnels }: { tunnels: readonly OtherTunnelView[] }): JSX.Element | null {
  if (tunnels.length === 0) return null;
  return (
    <section aria-label={t('others.title')}>
      <p class="others-title dim" aria-hidden="true">
        {t('others.title')}
      </p>
      <List after="port" class="cards stack s3">
        {tunnels.map((tunnel) => (
          <OtherCard key={tunnel.key} tunnel={tunnel} />
        ))}
      </List>
    </section>
  );
}

/** A tunnel that this app does not serve, with its origin and the available actions. */
const OtherCard = memo(function OtherCard({ tunnel }: { tunnel: OtherTunnelView }): JSX.Element {
  const action = useAction();
  const { go } = useShell();
  const { key, slug, log, lock, localPort, requests, isStopping, createdBy } = tunnel;
  const { unfolded, toggle, fold, onKeyDown } = useUnfolded(key);
  const isExtending = unfolded === 'extend';
  const { shape, word, where } = otherState(tunnel);
  const titleId = `title-${key}`;
  const stop = () => action.run('tunnel:stop', { key }, t('others.stopsSoon', { slug }));
  return (
    <li
      class={`card box card-other card-${shape}`}
      aria-labelledby={titleId}
      data-slug={slug}
      onKeyDown={onKeyDown}
    >
      <div class="card-top">
        <StateShape shape={shape} />
        <Address id={titleId} tunnel={tunnel} canCopy run={action.run} />
      </div>
      <p class="meta line spaced small-text dim">
        <span class="word strong">{word}</span>
        {createdBy !== null && <span>{rich('others.createdBy', { label: createdBy })}</span>}
        <span class="where">{rich('others.whereAndPort', { where, port: localPort })}</span>
        {requests > 0 && <span class="requests">{rich('meta.requests', { requests })}</span>}
        {lock.kind !== 'anyone' && <span>{accessWords(lock)}</span>}
      </p>
      <Fuse tunnel={tunnel} />
      <div class="time-row line dim">
        <TimeLeft tunnel={tunnel} />
        {!isStopping && (
          <span class="actions line s1">
            {log !== undefined && (
              <CardLink of={slug} id={`log-${key}`} act={() => go({ screen: 'log', key })}>
                {t('log.requests')}
              </CardLink>
            )}
            <CardLink of={slug} id={`extend-${key}`} aria-expanded={isExtending} act={() => toggle('extend')}>
              {t('tunnels.extend')}
            </CardLink>
            <CardLink of={slug} act={() => action.run('tunnel:open-url', { key })}>
              {t('tunnels.open')}
            </CardLink>
            <CardLink of={slug} look="link apart" act={stop}>
              {t('tunnels.stop')}
            </CardLink>
          </span>
        )}
      </div>
      {isExtending && !isStopping && <Extend tunnel={tunnel} onDone={fold} />}
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
  const { say, copied } = useShell();
  const isCopied = useContext(CopiedContext) === tunnel.key;
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
    <>
      <h2 id={id} class="address copied-by-hand" dir="ltr" title={tunnel.url}>
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
        <CopiedButton
          id={`copy-${tunnel.key}`}
          isCopied={isCopied}
          look="button copy"
          names={[t('address.copyOf', { slug: tunnel.slug }), t('address.isCopiedOf', { slug: tunnel.slug })]}
          words={[t('common.copy'), t('common.copied')]}
          act={() => copyAddress({ call: run, say, copied }, tunnel.key, t('address.copied'))}
        />
      )}
    </>
  );
}
