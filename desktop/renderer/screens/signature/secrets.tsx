import type { JSX, TargetedEvent } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { SignatureView } from '../../../engine/webhooks/verdict.ts';
import type { SecretView } from '../../../shared/signatures.ts';
import { momentText } from '../../model/numbers.ts';
import { secretWords } from '../../model/signature.ts';
import { useShell } from '../../view/context.ts';
import { useKeptFocus } from '../../view/focus.ts';
import { Failure, Field, fieldControl } from '../../view/parts.tsx';
import { useAction } from '../../view/use-action.ts';

const FIELD_ID = 'signing-secret';
const TOGGLE_ID = 'signing-secrets';

/** The secrets that a service signs with: added, and removed, but never shown. */
export function Secrets({
  tunnelKey,
  signature,
  secrets,
  isKept,
  onChange,
}: {
  tunnelKey: string;
  signature: SignatureView;
  secrets: readonly SecretView[];
  isKept: boolean;
  onChange: () => Promise<void>;
}): JSX.Element {
  const { say } = useShell();
  const add = useAction();
  const remove = useAction();
  const [isOpen, setOpen] = useState(false);
  const [secret, setSecret] = useState('');
  const rows = useRef<HTMLUListElement>(null);
  // A row goes when its secret is removed.
  useKeptFocus(rows, (place) => {
    const left = rows.current?.children;
    return (
      left?.[Math.min(place, left.length - 1)]?.querySelector('button') ?? document.getElementById(FIELD_ID)
    );
  });
  const { label, hint } = secretWords(signature);
  const problem = add.error?.field === 'secret' ? add.error.text : undefined;

  const submit = async (event: TargetedEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
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
    const answer = await remove.run('signature:remove-secret', { key: tunnelKey, id });
    if (!answer.ok) return;
    await onChange();
    say(t('secrets.removed'));
  };

  return (
    <>
      {secrets.length > 0 && (
        <p>
          <button
            type="button"
            id={TOGGLE_ID}
            class="link"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            {t('secrets.count', { count: secrets.length })}
          </button>
        </p>
      )}
      {isOpen && secrets.length > 0 && (
        <ul ref={rows} class="link-list" aria-label={t('secrets.title')}>
          {secrets.map(({ id, addedAt }, index) => (
            <li key={id}>
              <span class="link-name">{index === 0 ? t('secrets.newest') : t('secrets.earlier')}</span>
              <span class="dim">{t('secrets.setAt', { moment: momentText(addedAt) })}</span>
              <button
                type="button"
                class="link"
                aria-label={t('secrets.removeSetAt', { moment: momentText(addedAt) })}
                onClick={() => void forget(id)}
              >
                {t('secrets.remove')}
              </button>
            </li>
          ))}
        </ul>
      )}
      {(isOpen || secrets.length === 0) && (
        <form aria-label={t('secrets.new')} noValidate onSubmit={(event) => void submit(event)}>
          <Field
            id={FIELD_ID}
            label={label}
            problem={problem}
            hint={`${hint} ${keptWords(secrets.length, isKept)}`}
          >
            <div class="with-button">
              <input
                {...fieldControl(FIELD_ID, problem)}
                type="password"
                autocomplete="off"
                spellcheck={false}
                value={secret}
                onInput={(event) => {
                  setSecret(event.currentTarget.value);
                  if (add.error !== undefined) add.clear();
                }}
              />
              <button type="submit" class="button" aria-disabled={add.isBusy}>
                {secrets.length === 0 ? t('secrets.setIt') : t('secrets.add')}
              </button>
            </div>
          </Field>
        </form>
      )}
      <Failure problem={remove.error ?? (problem === undefined ? add.error : undefined)} />
    </>
  );
}

/** Where it stays: known once there is one. */
function keptWords(count: number, isKept: boolean): string {
  if (count === 0) return t('secrets.staysHere');
  return isKept ? t('secrets.keptBySystem') : t('secrets.inMemory');
}
