import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import { LOCK_KINDS, lockChoice, type LockDraft } from '../../model/lock.ts';
import { useShell } from '../../view/context.ts';
import { Failure, Field, fieldControl } from '../../view/parts.tsx';
import { useAction } from '../../view/use-action.ts';

/** Who may come in: one of five, and what that one needs. */
export function LockFields({
  id,
  draft,
  problem,
  detailProblem,
  change,
}: {
  /** of the form; its controls are `<id>-<kind>`, and `<id>-detail` if the kind needs more */
  id: string;
  draft: LockDraft;
  /** of the choice itself */
  problem: string | undefined;
  /** of what the chosen one needs */
  detailProblem: string | undefined;
  change: (draft: LockDraft) => void;
}): JSX.Element {
  const { say } = useShell();
  const invent = useAction();
  // A password arrives a moment later, when more may have been typed.
  const latest = useRef(draft);
  latest.current = draft;
  const inventPassword = async (): Promise<void> => {
    const answer = await invent.run('lock:invent', undefined);
    if (!answer.ok) return;
    change({ ...latest.current, password: answer.value.password });
    say(t('lock.passwordIs', { password: answer.value.password }));
  };
  const choose = (kind: LockDraft['kind']): void => {
    change({ ...draft, kind });
    if (kind === 'password' && draft.password === '') void inventPassword();
  };
  const hint = lockChoice(draft.kind).hint;
  return (
    <>
      <fieldset class="field" aria-describedby={`${id}-note`}>
        <legend>{t('lock.whoMayComeIn')}</legend>
        <div class="chips">
          {LOCK_KINDS.map((kind) => (
            <label key={kind} class="chip">
              <input
                type="radio"
                id={`${id}-${kind}`}
                name={`${id}-kind`}
                checked={kind === draft.kind}
                onChange={() => choose(kind)}
              />
              {lockChoice(kind).label}
            </label>
          ))}
        </div>
        <div id={`${id}-note`} class={problem === undefined ? 'hint' : 'problem'} aria-live="polite">
          {problem ?? hint}
        </div>
      </fieldset>
      {draft.kind === 'password' && (
        <Field id={`${id}-detail`} label={t('lock.password')} problem={detailProblem}>
          <div class="with-button">
            <input
              {...fieldControl(`${id}-detail`, detailProblem)}
              class="words"
              autocomplete="off"
              autocapitalize="none"
              spellcheck={false}
              value={draft.password}
              onInput={(event) => change({ ...draft, password: event.currentTarget.value })}
            />
            <button type="button" class="button" onClick={() => void inventPassword()}>
              {t('lock.newWords')}
            </button>
          </div>
        </Field>
      )}
      {draft.kind === 'addresses' && (
        <Field
          id={`${id}-detail`}
          label={t('lock.addresses')}
          hint={t('lock.addressesHint')}
          problem={detailProblem}
        >
          <textarea
            {...fieldControl(`${id}-detail`, detailProblem)}
            rows={2}
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            value={draft.addresses}
            onInput={(event) => change({ ...draft, addresses: event.currentTarget.value })}
          />
        </Field>
      )}
      <Failure problem={invent.error} />
    </>
  );
}
