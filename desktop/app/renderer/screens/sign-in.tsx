import type { JSX, RefObject, TargetedEvent, TargetedInputEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { InvitationView, KeyKept, SessionView } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import {
  hostOf,
  keepWords,
  pastedInvitation,
  type SignInProblems,
  signInProblems,
} from '../model/sign-in.ts';
import { useAction, useShell } from '../view/context.ts';
import { Failure, Field, fieldControl, Mark, Notice, rich } from '../view/controls.tsx';
import { useModal } from '../view/keyboard.ts';
import { UndoDock } from '../view/screen.tsx';

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
  // A user who has cancelled needs no message.
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

/** One line of text, with its label, hint and problem. */
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

/** The available ways to store a key, also used while signing in. */
function useKeeps(session: Session): readonly KeyKept[] {
  const known = useRef<readonly KeyKept[]>([]);
  if (session.state === 'signed-out') known.current = session.keeps;
  return known.current;
}

const TITLE = 'invitation-title';

/**
 * Asks whether to accept an invitation: any web page can open one, so nothing happens before, and Enter accepts
 * nothing.
 *
 * @param leaving what happens to the current sign-in
 */
export function InvitationDialog({
  invitation,
  leaving,
}: {
  invitation: InvitationView;
  leaving: string | undefined;
}): JSX.Element {
  const { say } = useShell();
  const dialog = useModal();
  const notNow = useRef<HTMLButtonElement>(null);
  const [keep, setKeep] = useState<KeyKept>();
  const accept = useAction();
  const dismiss = useAction();
  // A layout effect, so that a key pressed now cannot confirm.
  useLayoutEffect(() => notNow.current?.focus(), []);
  const { id, relay } = invitation;
  const close = (): void => {
    if (!accept.isBusy) void dismiss.run('invitation:dismiss', { id });
  };
  const take = async (kept: KeyKept): Promise<void> => {
    if (accept.isBusy) return;
    const answer = await accept.run('invitation:accept', { id, keep: kept });
    if (answer.ok) say(t('invitation.signedInTo', { host: hostOf(relay) }));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    close();
  };
  const keeps = invitation.state === 'open' ? invitation.keeps : [];
  const kept = keep ?? keeps[0] ?? 'session';
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={TITLE} onKeyDown={onKeyDown}>
      <Question invitation={invitation} />
      {leaving !== undefined && <p>{leaving}</p>}
      {keeps.length > 0 && <KeepChoice keeps={keeps} value={kept} onChange={setKeep} />}
      <Failure problem={accept.error} />
      <div class="dialog-buttons">
        <button ref={notNow} type="button" class="button" aria-disabled={accept.isBusy} onClick={close}>
          {invitation.state === 'failed' ? t('common.close') : t('invitation.notNow')}
        </button>
        {invitation.state === 'open' && (
          <button
            type="button"
            class="button primary"
            aria-disabled={accept.isBusy}
            onClick={() => void take(kept)}
          >
            {accept.isBusy ? t('signIn.signingIn') : t('signIn.signIn')}
          </button>
        )}
      </div>
    </dialog>
  );
}

function Question({ invitation }: { invitation: InvitationView }): JSX.Element {
  const host = hostOf(invitation.relay);
  switch (invitation.state) {
    case 'looking':
      return (
        <>
          <h2 id={TITLE}>{rich('invitation.to', { host })}</h2>
          <p role="status">{t('invitation.asking')}</p>
        </>
      );
    case 'open':
      return (
        <>
          <h2 id={TITLE}>{rich('invitation.signInTo', { host, account: invitation.account })}</h2>
          <p>{t('invitation.explained')}</p>
        </>
      );
    case 'failed':
      return (
        <>
          <h2 id={TITLE}>{rich('invitation.to', { host })}</h2>
          <Failure problem={invitation.problem} />
        </>
      );
  }
}

/** Where to store the key, with the meaning of each choice. */
function KeepChoice({
  keeps,
  value,
  onChange,
}: {
  keeps: readonly KeyKept[];
  value: KeyKept;
  onChange: (keep: KeyKept) => void;
}): JSX.Element {
  return (
    <fieldset class="choices">
      <legend>{t('signIn.keepKey')}</legend>
      {!keeps.includes('system') && <p class="hint">{t('signIn.notEncrypted')}</p>}
      {keeps.map((keep) => (
        <label key={keep} class="choice">
          <input type="radio" name="keep" checked={keep === value} onChange={() => onChange(keep)} />
          <span>
            {keepWords(keep).label}
            <span class="hint">{keepWords(keep).hint}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
