/** Names that the account keeps while they have no tunnel, and what their visitors read. */
import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { useState } from 'preact/hooks';
import { firstLine } from '../../../../../shared/names.ts';
import type { KeptNameView } from '../../../ipc/tunnel-views.ts';
import { t } from '../../../messages/translate.ts';
import { type BackChoice, backChoices, backTime, keptWord } from '../../model/kept-names.ts';
import { useAction, useDraft, useWindow } from '../../view/context.ts';
import { rich } from '../../view/controls.tsx';
import { StateShape } from '../../view/icons.tsx';
import { Aside, Button, Failure, Field, Form, List, Notice, Select, TextArea } from '../../view/kit.tsx';
import { CardLink, useUnfolded } from './stay.tsx';

/** The kept names that no tunnel of the list has had. */
export function KeptNames({ names }: { names: readonly KeptNameView[] }): JSX.Element | null {
  if (names.length === 0) return null;
  return (
    <section aria-label={t('names.title')}>
      <p class="others-title dim" aria-hidden="true">
        {t('names.title')}
      </p>
      <List after="port" class="cards stack s3">
        {names.map((kept) => (
          <NameCard key={kept.key} kept={kept} />
        ))}
      </List>
    </section>
  );
}

const NameCard = memo(function NameCard({ kept }: { kept: KeptNameView }): JSX.Element {
  const action = useAction();
  const { nameDomain } = useWindow().session.account;
  const { key: name } = kept;
  const message = useMessage(kept, `name-${name}`);
  const { onKeyDown } = useUnfolded(`name-${name}`);
  const titleId = `title-name-${name}`;
  const release = () => action.run('name:release', { name }, t('names.releasesSoon', { name }));
  return (
    <li
      class="card box card-other card-ended"
      aria-labelledby={titleId}
      data-slug={name}
      onKeyDown={onKeyDown}
    >
      <div class="card-top">
        <StateShape shape="ended" />
        <h2 id={titleId} class="address" dir="ltr">
          <b class="cut">{name}</b>
          <span class="dim cut">.{nameDomain}</span>
        </h2>
      </div>
      <p class="meta line spaced small-text dim">
        <span class="word strong">{keptWord(kept, false)}</span>
      </p>
      <div class="time-row line dim">
        <span class="grow">
          <Read kept={kept} />
        </span>
        <span class="actions line s1">
          {message?.button}
          <CardLink of={name} look="link apart" act={release}>
            {t('names.release')}
          </CardLink>
        </span>
      </div>
      {message?.form}
      <Failure problem={action.error} />
    </li>
  );
});

/** Asks once whether the app may set the message of names while this computer sleeps. */
export function AskAsleep({ name }: { name: string }): JSX.Element {
  const action = useAction();
  const choose = (saysAsleep: 'yes' | 'no') => () =>
    action.run('settings:change', { saysAsleep }, t('names.asleep.settings'));
  return (
    <Notice kind="news">
      <Aside text={t('names.asleep.ask', { name })}>
        <div class="line">
          <Button look="button small" act={choose('yes')}>
            {t('names.asleep.yes')}
          </Button>
          <Button look="button small" act={choose('no')}>
            {t('names.asleep.no')}
          </Button>
        </div>
      </Aside>
      <Failure problem={action.error} />
    </Notice>
  );
}

/** What visitors of a name read, in a line. */
export function Read({ kept: { away } }: { kept: KeptNameView }): JSX.Element {
  if (away === undefined) return <>{t('names.offline')}</>;
  return <span class="away-text">{rich('names.read', { text: firstLine(away) })}</span>;
}

/**
 * The button that unfolds the message of a name, and its form.
 *
 * @param key of the card
 */
export function useMessage(
  kept: KeptNameView | undefined,
  key: string,
): { readonly button: JSX.Element; readonly form: JSX.Element | undefined } | undefined {
  const { unfolded, toggle, fold } = useUnfolded(key);
  if (kept === undefined) return undefined;
  const isOpen = unfolded === 'away';
  return {
    button: (
      <CardLink of={kept.key} id={`away-${key}`} aria-expanded={isOpen} act={() => toggle('away')}>
        {t('names.message')}
      </CardLink>
    ),
    form: isOpen ? (
      <MessageForm
        kept={kept}
        of={key}
        onDone={() => {
          document.getElementById(`away-${key}`)?.focus();
          fold();
        }}
      />
    ) : undefined,
  };
}

function MessageForm({
  kept: { key: name, away, until },
  of: key,
  onDone,
}: {
  kept: KeptNameView;
  /** key of the card */
  of: string;
  onDone: () => void;
}): JSX.Element {
  const action = useAction();
  const id = `away-form-${key}`;
  const [text, setText] = useDraft(key, () => away ?? '');
  const [back, setBack] = useState<BackChoice>(until === undefined ? 'open' : 'same');
  const now = Date.now();
  const save = async (): Promise<void> => {
    const time = backTime(back, until, Date.now());
    const said = t('names.saved', { name });
    if ((await action.run('name:away', { name, away: text.trim(), until: time }, said)).ok) onDone();
  };
  const remove = async (): Promise<void> => {
    const said = t('names.messageRemoved', { name });
    if ((await action.run('name:away', { name, away: null, until: null }, said)).ok) onDone();
  };
  return (
    <Form class="below stack s3" aria-label={t('names.messageOf', { name })} submit={save}>
      <Field
        id={`${id}-text`}
        label={t('names.text')}
        hint={t('names.textHint')}
        problem={action.error?.field === 'away' ? action.error.text : undefined}
      >
        <TextArea
          dir="auto"
          rows={3}
          value={text}
          change={(value) => {
            setText(value);
            action.clear();
          }}
        />
      </Field>
      <Field id={`${id}-back`} label={t('names.back')}>
        <Select choices={backChoices(until, now)} value={back} choose={setBack} />
      </Field>
      {!['', away].includes(text.trim()) && (
        <p class="hint away-text">{rich('names.read', { text: firstLine(text) })}</p>
      )}
      {action.error?.field !== 'away' && <Failure problem={action.error} />}
      <div class="line">
        <Button look="button primary small" isBusy={action.isBusy}>
          {t('names.save')}
        </Button>
        {away !== undefined && (
          <Button look="button small" act={remove}>
            {t('names.removeMessage')}
          </Button>
        )}
      </div>
    </Form>
  );
}
