import type { JSX, RefObject, TargetedEvent, TargetedInputEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { KeyKept, SessionView } from '../../../shared/snapshot.ts';
import { pastedInvitation } from '../../model/invitation.ts';
import { type SignInProblems, signInProblems } from '../../model/sign-in.ts';
import { Mark } from '../../view/icons.tsx';
import { Failure, Field, fieldControl, Notice } from '../../view/parts.tsx';
import { UndoDock } from '../../view/undo-dock.tsx';
import { useAction } from '../../view/use-action.ts';
import { KeepChoice } from './keep-choice.tsx';

type Session = Exclude<SessionView, { state: 'signed-in' }>;

/** The first screen: asks for the relay, the key, and where to store the key. */
export function SignIn({ session, hasNetwork }: { session: Session; hasNetwork: boolean }): JSX.Element {
  const keeps = useKeeps(session);
  const [relay, setRelay] = useState(session.relay ?? '');
  const [key, setKey] = useState('');
  const [keep, setKeep] = useState<KeyKept>();
  const [problems, setProblems] = useState<SignInProblems>({});
  const signIn = useAction();
  const open = useAction();
  const cancel = useAction();
  const relayInput = useRef<HTMLInputElement>(null);
  const keyInput = useRef<HTMLInputElement>(null);
  const invitation = pastedInvitation(relay) ?? pastedInvitation(key);
  const isBusy = signIn.isBusy || session.state === 'signing-in';

  useLayoutEffect(() => (relay === '' ? relayInput : keyInput).current?.focus(), []);

  const submit = async (event: TargetedEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    if (isBusy) return;
    if (invitation !== undefined) {
      setProblems({});
      await open.run('invitation:open', { address: invitation });
      return;
    }
    const found = signInProblems(relay, key);
    setProblems(found);
    if (found.relay !== undefined) relayInput.current?.focus();
    else if (found.key !== undefined) keyInput.current?.focus();
    else {
      const keptIn = keep ?? keeps[0] ?? 'session';
      const answer = await signIn.run('session:sign-in', {
        relay: relay.trim(),
        key: key.trim(),
        keep: keptIn,
      });
      if (answer.ok) return;
      const { field, text } = answer.error;
      if (field === 'relay' || field === 'key') {
        setProblems({ [field]: text });
        (field === 'relay' ? relayInput : keyInput).current?.focus();
      }
    }
  };
  // Whoever has cancelled it knows.
  const failure = signIn.error?.code === 'cancelled' ? undefined : signIn.error;
  const general = failure?.field === undefined ? failure : undefined;
  const problem = session.state === 'signed-out' ? session.problem : undefined;

  return (
    <>
      <main class="screen scroll sign-in">
        <div class="welcome">
          <Mark size={44} />
          <h1 translate={false}>Culvert</h1>
          <p class="dim">{t('signIn.welcome')}</p>
        </div>
        {problem !== undefined && general === undefined && <Notice>{problem.text}</Notice>}
        {!hasNetwork && <Notice>{t('signIn.noNetwork')}</Notice>}
        <form class="stack" noValidate onSubmit={(event) => void submit(event)}>
          <TextField
            id="relay"
            label={t('signIn.relay')}
            hint={pastedInvitation(relay) === undefined ? t('signIn.relayHint') : t('signIn.isInvitation')}
            problem={problems.relay}
            control={relayInput}
            value={relay}
            onChange={setRelay}
          />
          <TextField
            id="key"
            label={t('signIn.key')}
            hint={pastedInvitation(key) === undefined ? t('signIn.keyHint') : t('signIn.isInvitation')}
            problem={problems.key}
            control={keyInput}
            isSecret
            value={key}
            onChange={setKey}
          />
          {keeps.length > 0 && invitation === undefined && (
            <KeepChoice keeps={keeps} value={keep ?? keeps[0] ?? 'session'} onChange={setKeep} />
          )}
          <button type="submit" class="button primary wide" aria-disabled={isBusy}>
            {isBusy
              ? t('signIn.signingIn')
              : invitation === undefined
                ? t('signIn.signIn')
                : t('signIn.openInvitation')}
          </button>
          {isBusy && (
            <button
              type="button"
              class="button wide"
              onClick={() => void cancel.run('session:cancel', undefined)}
            >
              {t('common.cancel')}
            </button>
          )}
          <Failure problem={general ?? open.error} />
        </form>
      </main>
      <UndoDock />
    </>
  );
}

/** One line of text, with its label and what is to be said about it. */
function TextField({
  id,
  label,
  hint,
  problem,
  control,
  isSecret = false,
  value,
  onChange,
}: {
  id: string;
  label: string;
  hint: string;
  problem: string | undefined;
  control: RefObject<HTMLInputElement | null>;
  isSecret?: boolean;
  value: string;
  onChange: (value: string) => void;
}): JSX.Element {
  const input = {
    ...fieldControl(id, problem),
    ref: control,
    spellcheck: false,
    value,
    onInput: (event: TargetedInputEvent<HTMLInputElement>) => onChange(event.currentTarget.value),
  };
  return (
    <Field id={id} label={label} hint={hint} problem={problem}>
      {isSecret ? (
        <input {...input} type="password" autocomplete="off" />
      ) : (
        <input {...input} type="url" autocomplete="url" placeholder="https://" />
      )}
    </Field>
  );
}

/** How a key can be stored here; known from before while signing in. */
function useKeeps(session: Session): readonly KeyKept[] {
  const known = useRef<readonly KeyKept[]>([]);
  if (session.state === 'signed-out') known.current = session.keeps;
  return known.current;
}
