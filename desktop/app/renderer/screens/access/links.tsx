import type { JSX, TargetedEvent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { LINK_NOTE_MAX_LENGTH } from '../../../../../shared/links.ts';
import type { TunnelView } from '../../../ipc/snapshot.ts';
import type { LinkView } from '../../../ipc/tunnel-views.ts';
import { t } from '../../../messages/translate.ts';
import { LINK_DEFAULT_TTL, linkChoices, linkEnd, linkName } from '../../model/access.ts';
import { useTime } from '../../view/clock.ts';
import { useAction, useShell } from '../../view/context.ts';
import { Failure } from '../../view/controls.tsx';
import { useKeptFocus } from '../../view/keyboard.ts';

/** Id of the field for the note of a new link. */
export function linkNoteId(key: string): string {
  return `link-note-${key}`;
}

/** The links of a tunnel: creates and copies links, lists them, and revokes each. */
export function Links({
  tunnel: { key, slug },
  apply,
}: {
  tunnel: TunnelView;
  /** first makes the tunnel accept links, and returns `undefined` if that failed; without it, the tunnel does already */
  apply: (() => Promise<unknown>) | undefined;
}): JSX.Element {
  const { say } = useShell();
  const list = useAction();
  const action = useAction();
  const [links, setLinks] = useState<readonly LinkView[]>();
  const [note, setNote] = useState('');
  const [ttl, setTtl] = useState(LINK_DEFAULT_TTL);
  const [copied, setCopied] = useState<string>();
  const rows = useRef<HTMLUListElement>(null);
  const noteId = linkNoteId(key);
  // A row disappears when its link is revoked.
  useKeptFocus(rows, (place) => {
    const left = rows.current?.children;
    return (
      left?.[Math.min(place, left.length - 1)]?.querySelector('button') ?? document.getElementById(noteId)
    );
  });

  const { run } = list;
  const isOn = apply === undefined;
  useEffect(() => {
    let isCurrent = isOn;
    const load = async (): Promise<void> => {
      const answer = await run('link:list', { key });
      if (!isCurrent || !answer.ok) return;
      // One that was created in the meantime may be missing in the list.
      setLinks((before = []) => [...before.filter((link) => !hasLink(answer.value, link)), ...answer.value]);
    };
    if (isOn) void load();
    return () => {
      isCurrent = false;
    };
  }, [run, key, isOn]);

  const make = async (event: TargetedEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    if (action.isBusy) return;
    if (apply !== undefined && (await apply()) === undefined) return;
    const answer = await action.run('link:create', { key, note: note.trim(), ttl });
    if (!answer.ok) return;
    setLinks((before = []) => [answer.value, ...before]);
    setCopied(answer.value.id);
    setNote('');
    say(t('links.made'));
  };
  const revoke = async (link: LinkView): Promise<void> => {
    const answer = await action.run('link:revoke', { key, id: link.id });
    if (!answer.ok) return;
    setLinks((before) => before?.filter(({ id }) => id !== link.id));
    say(t('links.revoked', { link: linkName(link) }));
  };

  return (
    <div class="links">
      <form
        class="link-form"
        aria-label={t('links.newTo', { slug })}
        noValidate
        onSubmit={(event) => void make(event)}
      >
        <input
          id={noteId}
          aria-label={t('links.whatFor')}
          placeholder={t('links.whatForExample')}
          maxLength={LINK_NOTE_MAX_LENGTH}
          value={note}
          onInput={(event) => setNote(event.currentTarget.value)}
        />
        <select
          aria-label={t('links.howLong')}
          value={ttl}
          onChange={(event) => setTtl(event.currentTarget.value)}
        >
          {linkChoices().map((choice) => (
            <option key={choice.ttl} value={choice.ttl}>
              {choice.label}
            </option>
          ))}
        </select>
        <button type="submit" class="button primary small" aria-disabled={action.isBusy}>
          {t('links.makeAndCopy')}
        </button>
      </form>
      <Failure problem={action.error ?? list.error} />
      {links?.length === 0 && <p class="hint">{t('links.noneYet')}</p>}
      <ul ref={rows} class="link-list" aria-label={t('links.linksTo', { slug })}>
        {links?.map((link) => (
          <LinkRow
            key={link.id}
            link={link}
            isCopied={link.id === copied}
            onRevoke={() => void revoke(link)}
          />
        ))}
      </ul>
    </div>
  );
}

function hasLink(links: readonly LinkView[], { id }: LinkView): boolean {
  return links.some((link) => link.id === id);
}

function LinkRow({
  link,
  isCopied,
  onRevoke,
}: {
  link: LinkView;
  isCopied: boolean;
  onRevoke: () => void;
}): JSX.Element {
  const end = useTime((now) => linkEnd(link, now));
  return (
    <li>
      {link.note === '' ? (
        <span class="link-name dim">{linkName(link)}</span>
      ) : (
        <bdi class="link-name" title={link.note}>
          {link.note}
        </bdi>
      )}
      <span class="dim nowrap">{isCopied ? t('common.copied') : end}</span>
      <button
        type="button"
        class="link"
        aria-label={t('links.revokeOf', { link: linkName(link) })}
        onClick={onRevoke}
      >
        {t('links.revoke')}
      </button>
    </li>
  );
}
