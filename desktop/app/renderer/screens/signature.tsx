import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import type { RequestDetail } from '../../../client/inspector/records.ts';
import type { SignatureCheck } from '../../ipc/request-views.ts';
import { t } from '../../messages/translate.ts';
import { momentText } from '../model/numbers.ts';
import { replayProblem, secretWords, signatureTone, signatureWords } from '../model/request.ts';
import { useAction, useShell } from '../view/context.ts';
import { Icon } from '../view/icons.tsx';
import { Button, Failure, Field, Form, Input, List } from '../view/kit.tsx';
import { useLoaded } from '../view/use-loaded.ts';

const ICONS = { good: 'check', bad: 'close', open: 'locked' } as const;

/**
 * The signature of a webhook: its verdict, its secrets, and a repetition with a new signature. Empty for other
 * requests.
 */
export function Signature({
  tunnelKey,
  detail,
  canReach,
}: {
  tunnelKey: string;
  detail: RequestDetail;
  /** whether the tunnel is online */
  canReach: boolean;
}): JSX.Element | null {
  const { replace } = useShell();
  const action = useAction();
  const { id, bytesIn } = detail;
  // Checked again as more of the request arrives. Without main, the rest of the screen reports that.
  const { value: check, reload } = useLoaded('signature:look', { key: tunnelKey, id }, { again: bytesIn });
  if (check === undefined) return null;
  const { signature, name, secrets } = check;
  const title = t('signature.of', { name });
  const tone = signatureTone(signature);
  const problem = replayProblem(detail, canReach);

  const signAgain = async (): Promise<void> => {
    const answer = await action.run(
      'log:replay',
      { key: tunnelKey, id, signs: true },
      t('signature.sentAgain'),
    );
    if (!answer.ok) return;
    const screen = 'request' as const;
    replace({ screen, key: tunnelKey, id }, { screen, key: tunnelKey, id: answer.value }, SIGN_ID);
  };

  return (
    <section class="signature stack s1" aria-label={title}>
      <h2 class="unseen">{title}</h2>
      <p class={`verdict verdict-${tone}`}>
        <Icon name={ICONS[tone]} />
        <span>{signatureWords(signature)}</span>
      </p>
      <Secrets tunnelKey={tunnelKey} check={check} onChange={reload}>
        {secrets.length > 0 && (
          <Button
            id={SIGN_ID}
            look="button small"
            disabled={problem !== undefined}
            isBusy={action.isBusy}
            act={signAgain}
          >
            {t('signature.signAndSend')}
          </Button>
        )}
      </Secrets>
      <Failure problem={action.error} />
    </section>
  );
}

const SIGN_ID = 'sign-again';
const FIELD_ID = 'signing-secret';
const TOGGLE_ID = 'signing-secrets';

/** The secrets of a service: added and removed, but never shown. Folded, because the verdict is what people read. */
function Secrets({
  tunnelKey,
  check: { signature, secrets, isKept },
  onChange,
  children,
}: {
  tunnelKey: string;
  check: SignatureCheck;
  onChange: () => Promise<void>;
  /** beside the button that unfolds them */
  children: ComponentChildren;
}): JSX.Element {
  const { say } = useShell();
  const add = useAction();
  const remove = useAction();
  const [isOpen, setOpen] = useState(false);
  const [secret, setSecret] = useState('');
  // A layout effect, so that the next key already belongs to the field.
  useLayoutEffect(() => {
    if (isOpen) document.getElementById(FIELD_ID)?.focus();
  }, [isOpen]);
  const { label, hint } = secretWords(signature);
  const problem = add.error?.field === 'secret' ? add.error.text : undefined;

  const submit = async (): Promise<void> => {
    if (add.isBusy) return;
    const { provider } = signature;
    const answer = await add.run('signature:add-secret', { key: tunnelKey, provider, secret: secret.trim() });
    if (!answer.ok) {
      document.getElementById(FIELD_ID)?.focus();
      return;
    }
    setSecret('');
    setOpen(false);
    await onChange();
    document.getElementById(TOGGLE_ID)?.focus();
    say(t('secrets.set'));
  };
  const forget = async (id: string): Promise<void> => {
    const payload = { key: tunnelKey, id };
    if ((await remove.run('signature:remove-secret', payload, t('secrets.removed'))).ok) await onChange();
  };
  const change = (text: string): void => {
    setSecret(text);
    add.clear();
  };

  return (
    <>
      <div class="line">
        {children}
        <Button id={TOGGLE_ID} look="link" aria-expanded={isOpen} act={() => setOpen(!isOpen)}>
          {secrets.length > 0 ? t('secrets.count', { count: secrets.length }) : t('secrets.setDots')}
        </Button>
      </div>
      {isOpen && secrets.length > 0 && (
        <List after={FIELD_ID} class="link-list stack s1" aria-label={t('secrets.title')}>
          {secrets.map(({ id, addedAt }, index) => (
            <li key={id} class="line">
              <span class="link-name grow cut">
                {index === 0 ? t('secrets.newest') : t('secrets.earlier')}
              </span>
              <span class="dim">{t('secrets.setAt', { moment: momentText(addedAt) })}</span>
              <Button
                look="link last"
                aria-label={t('secrets.removeSetAt', { moment: momentText(addedAt) })}
                act={() => forget(id)}
              >
                {t('secrets.remove')}
              </Button>
            </li>
          ))}
        </List>
      )}
      {isOpen && (
        <Form aria-label={t('secrets.new')} submit={submit}>
          <Field
            id={FIELD_ID}
            label={label}
            problem={problem}
            hint={`${hint} ${keptWords(secrets.length, isKept)}`}
            beside={
              <Button isBusy={add.isBusy}>{t(secrets.length === 0 ? 'secrets.setIt' : 'secrets.add')}</Button>
            }
          >
            <Input type="password" value={secret} change={change} />
          </Field>
        </Form>
      )}
      <Failure problem={remove.error ?? (problem === undefined ? add.error : undefined)} />
    </>
  );
}

/** Where secrets are stored, once there is one. */
function keptWords(count: number, isKept: boolean): string {
  if (count === 0) return t('secrets.staysHere');
  return isKept ? t('secrets.keptBySystem') : t('secrets.inMemory');
}
