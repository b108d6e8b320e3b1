import type { JSX, TargetedEvent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { KeyKept, SessionView } from '../../../shared/snapshot.ts';
import { type SignInProblems, signInProblems } from '../../model/sign-in.ts';
import { Mark } from '../../view/icons.tsx';
import { Failure, Field, fieldControl, Notice } from '../../view/parts.tsx';
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
  const relayInput = useRef<HTMLInputElement>(null);
  const keyInput = useRef<HTMLInputElement>(null);
  const isBusy = signIn.isBusy || session.state === 'signing-in';

  useEffect(() => (relay === '' ? relayInput : keyInput).current?.focus(), []);

  const submit = async (event: TargetedEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    if (isBusy) return;
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
  const general = signIn.error?.field === undefined ? signIn.error : undefined;
  const problem = session.state === 'signed-out' ? session.problem : undefined;

  return (
    <main class="screen scroll sign-in">
      <div class="welcome">
        <Mark size={44} />
        <h1>Culvert</h1>
        <p class="dim">Puts a port of this computer on the internet, through a relay you trust.</p>
      </div>
      {problem !== undefined && general === undefined && <Notice>{problem.text}</Notice>}
      {!hasNetwork && <Notice>This computer has no network. Connect it to sign in.</Notice>}
      <form class="stack" noValidate onSubmit={(event) => void submit(event)}>
        <Field
          id="relay"
          label="Relay"
          hint="The address you were given, such as https://relay.example.com"
          problem={problems.relay}
        >
          <input
            {...fieldControl('relay', problems.relay)}
            ref={relayInput}
            type="url"
            autocomplete="url"
            spellcheck={false}
            placeholder="https://"
            value={relay}
            onInput={(event) => setRelay(event.currentTarget.value)}
          />
        </Field>
        <Field
          id="key"
          label="API key"
          hint="It begins with cvt_. Whoever runs the relay can make one."
          problem={problems.key}
        >
          <input
            {...fieldControl('key', problems.key)}
            ref={keyInput}
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        </Field>
        {keeps.length > 0 && (
          <KeepChoice keeps={keeps} value={keep ?? keeps[0] ?? 'session'} onChange={setKeep} />
        )}
        <Failure problem={general} />
        <button type="submit" class="button primary wide" aria-disabled={isBusy}>
          {isBusy ? 'Signing in…' : 'Sign in'}
        </button>
      </form>
    </main>
  );
}

/** How a key can be stored here; known from before while signing in. */
function useKeeps(session: Session): readonly KeyKept[] {
  const known = useRef<readonly KeyKept[]>([]);
  if (session.state === 'signed-out') known.current = session.keeps;
  return known.current;
}
