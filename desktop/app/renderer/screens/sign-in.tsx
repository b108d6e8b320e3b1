import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { InvitationView, KeyKept, SessionView, SignInView } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import {
  hostOf,
  pastedInvitation,
  signInWords,
  type SignInProblems,
  signInProblems,
} from '../model/sign-in.ts';
import { useAction } from '../view/context.ts';
import { rich } from '../view/controls.tsx';
import { Mark } from '../view/icons.tsx';
import { useEscape } from '../view/keyboard.ts';
import {
  Button,
  Choice,
  Dialog,
  Failure,
  Field,
  Form,
  Input,
  type InputProps,
  Notice,
} from '../view/kit.tsx';
import { UndoDock } from '../view/screen.tsx';

type Session = Exclude<SessionView, { state: 'signed-in' }>;

/** The first screen: asks for the relay, the key, and where to store the key. */
export function SignIn({
  session,
  hasNetwork,
  others,
  left,
}: {
  session: Session;
  hasNetwork: boolean;
  /** further sign-ins, which the user can show instead */
  others: readonly SignInView[];
  /** id of the one that the window showed before */
  left: string | undefined;
}): JSX.Element {
  const keeps = useKeeps(session);
  const [relay, setRelay] = useState(session.relay ?? '');
  const [key, setKey] = useState('');
  const [keep, setKeep] = useState<KeyKept>();
  const [problems, setProblems] = useState<SignInProblems>({});
  const signIn = useAction();
  const open = useAction();
  const cancel = useAction();
  const choose = useAction();
  const invitation = pastedInvitation(relay) ?? pastedInvitation(key);
  const isBusy = signIn.isBusy || session.state === 'signing-in';

  const back = others.find(({ id }) => id === left) ?? others.find(({ isSignedIn }) => isSignedIn);

  useLayoutEffect(() => focusOn(relay === '' ? 'relay' : 'key'), []);
  useEscape(isBusy || back !== undefined, () => {
    if (isBusy) void cancel.run('session:cancel', undefined);
    else if (back !== undefined) void choose.run('session:choose', { id: back.id });
  });

  const submit = async (): Promise<void> => {
    if (isBusy) return;
    if (invitation !== undefined) {
      setProblems({});
      await open.run('invitation:open', { address: invitation });
      return;
    }
    const found = signInProblems(relay, key);
    setProblems(found);
    if (found.relay !== undefined) return focusOn('relay');
    if (found.key !== undefined) return focusOn('key');
    const kept = keep ?? keeps[0] ?? 'session';
    const answer = await signIn.run('session:sign-in', { relay: relay.trim(), key: key.trim(), keep: kept });
    if (answer.ok) return;
    const { field, text } = answer.error;
    if (field !== 'relay' && field !== 'key') return;
    setProblems({ [field]: text });
    focusOn(field);
  };
  // A user who has cancelled needs no message.
  const failure = signIn.error?.code === 'cancelled' ? undefined : signIn.error;
  const general = failure?.field === undefined ? failure : undefined;
  const problem = session.state === 'signed-out' ? session.problem : undefined;
  const field = (
    id: 'relay' | 'key',
    value: string,
    change: (value: string) => void,
    attributes: InputProps,
  ): JSX.Element => (
    <Field
      id={id}
      label={t(`signIn.${id}`)}
      hint={t(pastedInvitation(value) === undefined ? `signIn.${id}Hint` : 'signIn.isInvitation')}
      problem={problems[id]}
    >
      <Input {...attributes} value={value} change={change} />
    </Field>
  );

  return (
    <>
      <main class="screen scroll sign-in">
        <div class="stack middle">
          <Mark size={44} />
          <h1 translate={false}>Culvert</h1>
          <p class="dim">{t('signIn.welcome')}</p>
        </div>
        {problem !== undefined && general === undefined && <Notice>{problem.text}</Notice>}
        {!hasNetwork && <Notice>{t('signIn.noNetwork')}</Notice>}
        <Form class="stack s4" submit={submit}>
          {field('relay', relay, setRelay, { type: 'url', autocomplete: 'url', placeholder: 'https://' })}
          {field('key', key, setKey, { type: 'password' })}
          {keeps.length > 0 && invitation === undefined && (
            <KeepChoice keeps={keeps} value={keep ?? keeps[0] ?? 'session'} choose={setKeep} />
          )}
          <Button look="button primary wide" isBusy={isBusy}>
            {isBusy
              ? t('signIn.signingIn')
              : t(invitation === undefined ? 'signIn.signIn' : 'signIn.openInvitation')}
          </Button>
          {isBusy && (
            <Button look="button wide" act={() => cancel.run('session:cancel', undefined)}>
              {t('common.cancel')}
            </Button>
          )}
          <Failure problem={general ?? open.error} />
        </Form>
        {others.length > 0 && (
          <section class="stack s2" aria-label={t('signIns.back')}>
            <p class="dim" aria-hidden="true">
              {t('signIns.back')}
            </p>
            {others.map((other) => (
              <Button
                key={other.id}
                look="button wide"
                act={() => choose.run('session:choose', { id: other.id })}
              >
                {signInWords(other)}
              </Button>
            ))}
          </section>
        )}
      </main>
      <UndoDock />
    </>
  );
}

function focusOn(id: string): void {
  document.getElementById(id)?.focus();
}

/** The available ways to store a key, also used while signing in. */
function useKeeps(session: Session): readonly KeyKept[] {
  const known = useRef<readonly KeyKept[]>([]);
  if (session.state === 'signed-out') known.current = session.keeps;
  return known.current;
}

/**
 * Asks whether to accept an invitation: any web page can open one, so nothing happens before, and Enter accepts
 * nothing.
 *
 * @param staying what becomes of the current sign-in
 */
export function InvitationDialog({
  invitation,
  staying,
}: {
  invitation: InvitationView;
  staying: string | undefined;
}): JSX.Element {
  const [keep, setKeep] = useState<KeyKept>();
  const accept = useAction();
  const dismiss = useAction();
  const { id, relay, state } = invitation;
  const host = hostOf(relay);
  const keeps = state === 'open' ? invitation.keeps : [];
  const kept = keep ?? keeps[0] ?? 'session';
  const take = () =>
    accept.run('invitation:accept', { id, keep: kept }, t('invitation.signedInTo', { host }));
  return (
    <Dialog
      title={
        state === 'open'
          ? rich('invitation.signInTo', { host, account: invitation.account })
          : rich('invitation.to', { host })
      }
      close={() => void dismiss.run('invitation:dismiss', { id })}
      closeWord={t(state === 'failed' ? 'common.close' : 'invitation.notNow')}
      isBusy={accept.isBusy}
      problem={accept.error}
      buttons={
        state === 'open' && (
          <Button look="button primary" isBusy={accept.isBusy} act={take}>
            {t(accept.isBusy ? 'signIn.signingIn' : 'signIn.signIn')}
          </Button>
        )
      }
    >
      {state === 'looking' && <p role="status">{t('invitation.asking')}</p>}
      {state === 'open' && <p>{t('invitation.explained')}</p>}
      {state === 'failed' && <Failure problem={invitation.problem} />}
      {staying !== undefined && <p>{staying}</p>}
      {keeps.length > 0 && <KeepChoice keeps={keeps} value={kept} choose={setKeep} />}
    </Dialog>
  );
}

/** Where to store the key, with the meaning of each choice. */
function KeepChoice({
  keeps,
  value,
  choose,
}: {
  keeps: readonly KeyKept[];
  value: KeyKept;
  choose: (keep: KeyKept) => void;
}): JSX.Element {
  return (
    <fieldset class="stack">
      <legend>{t('signIn.keepKey')}</legend>
      {!keeps.includes('system') && <p class="hint">{t('signIn.notEncrypted')}</p>}
      {keeps.map((keep) => (
        <Choice
          key={keep}
          type="radio"
          name="keep"
          label={t(`signIn.keep.${keep}`)}
          hint={t(`signIn.keep.${keep}.hint`)}
          checked={keep === value}
          change={() => choose(keep)}
        />
      ))}
    </fieldset>
  );
}
