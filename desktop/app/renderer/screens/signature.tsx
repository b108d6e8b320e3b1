import type { ComponentChildren, JSX, TargetedEvent } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { RequestDetail, SignatureView } from '../../../client/inspector/records.ts';
import type { SecretView, SignatureCheck } from '../../ipc/request-views.ts';
import { t } from '../../messages/translate.ts';
import { momentText } from '../model/numbers.ts';
import { replayProblem, secretWords, signatureTone, signatureWords } from '../model/request.ts';
import { useAction, useShell } from '../view/context.ts';
import { Failure, Field, fieldControl, Icon } from '../view/controls.tsx';
import { useKeptFocus } from '../view/keyboard.ts';

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
  const { say, replace } = useShell();
  const action = useAction();
  const { check, reload } = useSignature(tunnelKey, detail);
  if (check === undefined) return null;
  const { signature, name, secrets, isKept } = check;
  const title = t('signature.of', { name });
  const tone = signatureTone(signature);
  const problem = replayProblem(detail, canReach);

  const signAgain = async (): Promise<void> => {
    const { id } = detail;
    const answer = await action.run('signature:replay', { key: tunnelKey, id });
    if (!answer.ok) return;
    say(t('signature.sentAgain'));
    const screen = 'request' as const;
    replace({ screen, key: tunnelKey, id }, { screen, key: tunnelKey, id: answer.value.id }, SIGN_ID);
  };

  return (
    <section class="signature" aria-label={title}>
      <h2 class="unseen">{title}</h2>
      <p class={`verdict verdict-${tone}`}>
        <Icon name={ICONS[tone]} />
        <span>{signatureWords(signature)}</span>
      </p>
      <Secrets
        tunnelKey={tunnelKey}
        signature={signature}
        secrets={secrets}
        isKept={isKept}
        onChange={reload}
      >
        {secrets.length > 0 && (
          <button
            type="button"
            id={SIGN_ID}
            class="button small"
            disabled={problem !== undefined}
            aria-disabled={action.isBusy}
            onClick={() => void (action.isBusy || signAgain())}
          >
            {t('signature.signAndSend')}
          </button>
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
export function Secrets({
  tunnelKey,
  signature,
  secrets,
  isKept,
  onChange,
  children,
}: {
  tunnelKey: string;
  signature: SignatureView;
  secrets: readonly SecretView[];
  isKept: boolean;
  onChange: () => Promise<void>;
  /** beside the button that unfolds them */
  children: ComponentChildren;
}): JSX.Element {
  const { say } = useShell();
  const add = useAction();
  const remove = useAction();
  const [isOpen, setOpen] = useState(false);
  const [secret, setSecret] = useState('');
  const rows = useRef<HTMLUListElement>(null);
  // A row disappears when its secret is removed.
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
      <div class="buttons">
        {children}
        <button
          type="button"
          id={TOGGLE_ID}
          class="link"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {secrets.length > 0 ? t('secrets.count', { count: secrets.length }) : t('secrets.setDots')}
        </button>
      </div>
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
      {isOpen && (
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

/** Where secrets are stored, once there is one. */
function keptWords(count: number, isKept: boolean): string {
  if (count === 0) return t('secrets.staysHere');
  return isKept ? t('secrets.keptBySystem') : t('secrets.inMemory');
}

interface WatchedSignature {
  /** `undefined` if it is not a webhook, and until main has answered */
  readonly check: SignatureCheck | undefined;
  readonly reload: () => Promise<void>;
}

/** The signature of a request, checked again as more of the request arrives. */
function useSignature(key: string, { id, bytesIn }: Pick<RequestDetail, 'id' | 'bytesIn'>): WatchedSignature {
  const { bridge } = useShell();
  const [check, setCheck] = useState<SignatureCheck>();
  const asked = useRef(0);
  const reload = useCallback(async () => {
    asked.current += 1;
    const mine = asked.current;
    const answer = await bridge.call('signature:look', { key, id });
    // Ignore the result if a later check has started.
    if (mine === asked.current && answer.ok) setCheck(answer.value);
  }, [bridge, key, id]);
  useEffect(() => {
    // Without main there is nothing to show, and the rest of the screen reports that.
    reload().catch(() => undefined);
    return () => {
      asked.current += 1;
    };
  }, [reload, bytesIn]);
  return { check, reload };
}
