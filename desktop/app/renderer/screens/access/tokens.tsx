import type { JSX, TargetedEvent } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { TOKEN_NAME_MAX_LENGTH, TOKEN_NAME_RULE } from '../../../../../shared/access.ts';
import type { TunnelView } from '../../../ipc/snapshot.ts';
import type { TokenView } from '../../../ipc/tunnel-views.ts';
import { t } from '../../../messages/translate.ts';
import { tokenProblem, tokenUse } from '../../model/access.ts';
import { useTime } from '../../view/clock.ts';
import { useShell } from '../../view/context.ts';
import { Failure } from '../../view/controls.tsx';
import { useKeptFocus } from '../../view/focus.ts';
import { useAction } from '../../view/use-action.ts';

/** The tokens of a tunnel: creates them, copies each new one once, shows when they were used, and revokes them. */
export function Tokens({ tunnel: { key, slug, tokens } }: { tunnel: TunnelView }): JSX.Element {
  const { say } = useShell();
  const action = useAction();
  const [name, setName] = useState('');
  const [problem, setProblem] = useState<string>();
  const rows = useRef<HTMLUListElement>(null);
  const nameId = `token-name-${key}`;
  // A row disappears when its token is revoked, and its first button when the token is copied.
  useKeptFocus(rows, (place) => {
    const left = rows.current?.children;
    return (
      left?.[Math.min(place, left.length - 1)]?.querySelector('button') ?? document.getElementById(nameId)
    );
  });

  const create = async (event: TargetedEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    if (action.isBusy) return;
    const wanted = name.trim();
    const isTaken = tokens.some((token) => token.name === wanted);
    const wrong = isTaken ? t('tokens.taken', { name: wanted }) : tokenProblem();
    if (isTaken || !TOKEN_NAME_RULE.accepts(wanted)) {
      setProblem(wrong);
      document.getElementById(nameId)?.focus();
      return;
    }
    const answer = await action.run('token:create', { key, name: wanted });
    if (!answer.ok) return;
    setName('');
    say(t('tokens.made', { name: wanted }));
  };
  const copy = async ({ name: of }: TokenView): Promise<void> => {
    const answer = await action.run('token:copy', { key, name: of });
    if (answer.ok) say(t('tokens.copied', { name: of }));
  };
  const revoke = async ({ name: of }: TokenView): Promise<void> => {
    const answer = await action.run('token:revoke', { key, name: of });
    if (answer.ok) say(t('tokens.revoked', { name: of }));
  };

  return (
    <div class="links">
      <form
        class="link-form"
        aria-label={t('tokens.newTo', { slug })}
        noValidate
        onSubmit={(event) => void create(event)}
      >
        <input
          id={nameId}
          aria-label={t('tokens.name')}
          aria-describedby={`${nameId}-problem`}
          aria-invalid={problem !== undefined}
          placeholder={t('tokens.nameExample')}
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          maxLength={TOKEN_NAME_MAX_LENGTH}
          value={name}
          onInput={(event) => {
            setName(event.currentTarget.value);
            setProblem(undefined);
          }}
        />
        <button type="submit" class="button primary small" aria-disabled={action.isBusy}>
          {t('tokens.create')}
        </button>
      </form>
      <div id={`${nameId}-problem`} class="problem" aria-live="polite" hidden={problem === undefined}>
        {problem}
      </div>
      <Failure problem={action.error} />
      <ul ref={rows} class="link-list" aria-label={t('tokens.tokensOf', { slug })}>
        {tokens.map((token) => (
          <TokenRow
            key={token.name}
            token={token}
            onCopy={() => void copy(token)}
            onRevoke={() => void revoke(token)}
          />
        ))}
      </ul>
    </div>
  );
}

function TokenRow({
  token: { name, usedAt, canCopy },
  onCopy,
  onRevoke,
}: {
  token: TokenView;
  onCopy: () => void;
  onRevoke: () => void;
}): JSX.Element {
  const used = useTime((now) => tokenUse(usedAt, now));
  return (
    <li>
      <span class="link-name" dir="ltr">
        {name}
      </span>
      {canCopy ? (
        <button type="button" class="button small" aria-label={t('tokens.copyOf', { name })} onClick={onCopy}>
          {t('tokens.copy')}
        </button>
      ) : (
        <span class="dim nowrap">{used}</span>
      )}
      <button type="button" class="link" aria-label={t('tokens.revokeOf', { name })} onClick={onRevoke}>
        {t('tokens.revoke')}
      </button>
    </li>
  );
}
