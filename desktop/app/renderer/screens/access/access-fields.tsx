import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { TOKEN_NAME_MAX_LENGTH } from '../../../../../shared/access.ts';
import type { TunnelView } from '../../../ipc/snapshot.ts';
import type { AccessKind } from '../../../ipc/tunnel-views.ts';
import { t } from '../../../messages/translate.ts';
import { asksFor, accessChoice, type AccessDraft, accessLine, accessWords } from '../../model/access.ts';
import { type Action, useAction, useShell } from '../../view/context.ts';
import { Copier } from '../../view/controls.tsx';
import { Icon } from '../../view/icons.tsx';
import { Button, ChipButton, Failure, Field, Input, Note, TextArea } from '../../view/kit.tsx';

/** The access policy: one choice, with its details. */
export function AccessFields({
  id,
  kinds,
  draft,
  problem,
  detailProblem,
  change,
}: {
  /** id of the form; its controls are `<id>-<kind>`, and `<id>-detail` if the kind has details */
  id: string;
  kinds: readonly AccessKind[];
  draft: AccessDraft;
  /** problem of the choice itself */
  problem: string | undefined;
  /** problem of the details of the choice */
  detailProblem: string | undefined;
  change: (draft: AccessDraft) => void;
}): JSX.Element {
  const { say } = useShell();
  const invent = useAction();
  // A generated password arrives later, and never replaces what the user has typed in the meantime.
  const latest = useRef(draft);
  latest.current = draft;
  const inventPassword = async (): Promise<void> => {
    const asked = latest.current.password;
    const answer = await invent.run('lock:invent', undefined);
    if (!answer.ok || latest.current.password !== asked) return;
    change({ ...latest.current, password: answer.value.password });
    say(t('lock.passwordIs', { password: answer.value.password }));
  };
  const choose = (kind: AccessDraft['kind']): void => {
    change({ ...draft, kind });
    if (kind === 'password' && draft.password === '') void inventPassword();
  };
  const hint = accessChoice(draft.kind).hint;
  return (
    <>
      <fieldset class="stack s1" aria-describedby={`${id}-note`}>
        <legend>{t('lock.whoMayComeIn')}</legend>
        <div class="line">
          {kinds.map((kind) => (
            <label key={kind} class="chip">
              <input
                type="radio"
                id={`${id}-${kind}`}
                name={`${id}-kind`}
                checked={kind === draft.kind}
                onChange={() => choose(kind)}
              />
              {accessChoice(kind).label}
            </label>
          ))}
        </div>
        <Note id={`${id}-note`} hint={hint} problem={problem} />
      </fieldset>
      {draft.kind === 'password' && (
        <Field
          id={`${id}-detail`}
          label={t('lock.password')}
          problem={detailProblem}
          beside={<Button act={inventPassword}>{t('lock.newWords')}</Button>}
        >
          <Input
            class="strong copied-by-hand"
            value={draft.password}
            change={(password) => change({ ...draft, password })}
          />
        </Field>
      )}
      {draft.kind === 'tokens' && draft.token !== undefined && (
        <Field id={`${id}-detail`} label={t('tokens.first')} problem={detailProblem}>
          <Input
            maxLength={TOKEN_NAME_MAX_LENGTH}
            value={draft.token}
            change={(token) => change({ ...draft, token })}
          />
        </Field>
      )}
      {draft.kind === 'addresses' && (
        <Field
          id={`${id}-detail`}
          label={t('lock.addresses')}
          hint={t('lock.addressesHint')}
          problem={detailProblem}
        >
          <TextArea
            rows={2}
            value={draft.addresses}
            change={(addresses) => change({ ...draft, addresses })}
          />
        </Field>
      )}
      {draft.kind === 'signIn' && (
        <Field
          id={`${id}-detail`}
          label={t('lock.signIn')}
          hint={t('lock.signInHint')}
          problem={detailProblem}
        >
          <TextArea rows={2} value={draft.signIn} change={(signIn) => change({ ...draft, signIn })} />
        </Field>
      )}
      <Failure problem={invent.error} />
    </>
  );
}

/** Who has access to a tunnel, in a word, and the button that unfolds the access policy. */
export function AccessButton({
  tunnel: { key, slug, lock },
  isOpen,
  onClick,
}: {
  tunnel: TunnelView;
  /** whether the access panel is unfolded */
  isOpen: boolean;
  onClick: () => void;
}): JSX.Element {
  const isLocked = lock.kind !== 'anyone';
  const words = accessWords(lock);
  return (
    <ChipButton
      id={`lock-${key}`}
      look={`chip fact ${isLocked ? 'locked' : ''}`}
      aria-label={t('lock.whoToIs', { slug, lock: words })}
      aria-expanded={isOpen}
      title={t('lock.whoIs', { lock: words })}
      act={onClick}
    >
      <Icon name={isLocked ? 'locked' : 'unlocked'} />
      <span class="cut">{words}</span>
    </ChipButton>
  );
}

/** The access policy of a tunnel that is not open to anyone, and what to send to visitors. */
export function AccessRow({
  tunnel,
  isOpen,
  onOpen,
  run,
}: {
  tunnel: TunnelView;
  isOpen: boolean;
  onOpen: () => void;
  run: Action['run'];
}): JSX.Element | null {
  const { lock, key, slug } = tunnel;
  if (lock.kind === 'anyone') return null;
  const { label, value } = accessLine(lock);
  // Visitors need only one of them.
  const hasPassword = 'password' in lock && lock.password !== undefined;
  const shown = asksFor(lock, 'tokens') ? 'showTokens' : asksFor(lock, 'links') ? 'makeLink' : undefined;
  return (
    <div class="lock-row line dim">
      <span>
        {label}
        {value !== '' && (
          <b class="copied-by-hand" dir="ltr">
            {' '}
            {value}
          </b>
        )}
      </span>
      {hasPassword && <CopyShare tunnel={tunnel} run={run} />}
      {shown !== undefined && !hasPassword && (
        <Button
          id={`share-${key}`}
          look="link last"
          aria-label={t(`lock.${shown}Of`, { slug })}
          aria-expanded={isOpen}
          act={onOpen}
        >
          {t(`lock.${shown}`)}
        </Button>
      )}
    </div>
  );
}

/** Copies an invitation for visitors: a sentence with the address and the password. */
function CopyShare({ tunnel: { key, slug }, run }: { tunnel: TunnelView; run: Action['run'] }): JSX.Element {
  return (
    <Copier
      id={`share-${key}`}
      look="link last"
      names={[t('lock.copyBothOf', { slug }), t('lock.isCopiedBothOf', { slug })]}
      words={[t('lock.copyBoth'), t('common.copied')]}
      copy={async () => (await run('tunnel:copy-share', { key }, t('lock.copiedBoth'))).ok}
    />
  );
}
