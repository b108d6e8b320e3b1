import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { LINK_NOTE_MAX_LENGTH } from '../../../../../shared/links.ts';
import type { TunnelView } from '../../../ipc/snapshot.ts';
import type { LinkView, NewLinkView } from '../../../ipc/tunnel-views.ts';
import { t } from '../../../messages/translate.ts';
import { LINK_DEFAULT_TTL, linkChoices, linkEnd, linkName, linkUse } from '../../model/access.ts';
import { useTime } from '../../view/clock.ts';
import { useAction } from '../../view/context.ts';
import { QrCode } from '../../view/icons.tsx';
import { Button, Choice, Failed, Failure, Form, Input, List, Select } from '../../view/kit.tsx';
import { useLoaded } from '../../view/use-loaded.ts';

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
  const action = useAction();
  const links = useLoaded('link:list', { key }, { isOn: apply === undefined, keep: withNewer });
  const [note, setNote] = useState('');
  const [ttl, setTtl] = useState(LINK_DEFAULT_TTL);
  const [isOnce, setIsOnce] = useState(false);
  const [made, setMade] = useState<NewLinkView>();
  const noteId = linkNoteId(key);

  const make = async (): Promise<void> => {
    if (action.isBusy) return;
    if (apply !== undefined && (await apply()) === undefined) return;
    const answer = await action.run(
      'link:create',
      { key, note: note.trim(), ttl, once: isOnce },
      t('links.made'),
    );
    if (!answer.ok) return;
    links.set((before = []) => [answer.value, ...before]);
    setMade(answer.value);
    setNote('');
  };
  const revoke = async (link: LinkView): Promise<void> => {
    const said = t('links.revoked', { link: linkName(link) });
    if ((await action.run('link:revoke', { key, id: link.id }, said)).ok)
      links.set((before) => before?.filter(({ id }) => id !== link.id));
    if (made?.id === link.id) setMade(undefined);
  };

  return (
    <div class="stack">
      <Form class="link-form line low" aria-label={t('links.newTo', { slug })} submit={make}>
        <Input
          id={noteId}
          aria-label={t('links.whatFor')}
          placeholder={t('links.whatForExample')}
          maxLength={LINK_NOTE_MAX_LENGTH}
          value={note}
          change={setNote}
        />
        <Choice label={t('links.once')} hint={t('links.onceHint')} checked={isOnce} change={setIsOnce} />
        <Select aria-label={t('links.howLong')} choices={linkChoices()} value={ttl} choose={setTtl} />
        <Button look="button primary small" isBusy={action.isBusy}>
          {t('links.makeAndCopy')}
        </Button>
      </Form>
      <Failure problem={action.error} />
      {made !== undefined && (
        <div>
          <QrCode text={made.url} />
          <p class="hint">{t('links.scan')}</p>
        </div>
      )}
      <Failed of={links} />
      {links.value?.length === 0 && <p class="hint">{t('links.noneYet')}</p>}
      <List after={noteId} class="link-list stack s1" aria-label={t('links.linksTo', { slug })}>
        {links.value?.map((link) => (
          <LinkRow key={link.id} link={link} isCopied={link.id === made?.id} onRevoke={() => revoke(link)} />
        ))}
      </List>
    </div>
  );
}

/** A link that was created in the meantime may be missing in the list. */
function withNewer(before: readonly LinkView[] = [], next: readonly LinkView[]): LinkView[] {
  return [...before.filter(({ id }) => !next.some((link) => link.id === id)), ...next];
}

function LinkRow({
  link,
  isCopied,
  onRevoke,
}: {
  link: LinkView;
  isCopied: boolean;
  onRevoke: () => Promise<void>;
}): JSX.Element {
  const end = useTime((now) => linkEnd(link, now));
  const { once } = link;
  const use = useTime((now) => (once === undefined ? '' : linkUse(once.usedAt, now)));
  return (
    <li class="line">
      {link.note === '' ? (
        <span class="link-name grow cut dim">{linkName(link)}</span>
      ) : (
        <bdi class="link-name grow cut" title={link.note}>
          {link.note}
        </bdi>
      )}
      {use !== '' && <span class="dim nowrap">{use}</span>}
      <span class="dim nowrap">{isCopied ? t('common.copied') : end}</span>
      <Button look="link last" aria-label={t('links.revokeOf', { link: linkName(link) })} act={onRevoke}>
        {t('links.revoke')}
      </Button>
    </li>
  );
}
