import type { JSX, TargetedEvent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { TOKEN_NAME_MAX_LENGTH, TOKEN_NAME_RULE } from '../../../../../shared/access.ts';
import { agentWords, type TunnelView } from '../../../ipc/snapshot.ts';
import type { AccessKind, ApprovedView, TokenView } from '../../../ipc/tunnel-views.ts';
import { t } from '../../../messages/translate.ts';
import {
  type AccessDraft,
  accessDraft,
  accessWords,
  asksFor,
  isSameAccess,
  readAccessDraft,
  tokenProblem,
  tokenUse,
} from '../../model/access.ts';
import { timeLeftWords } from '../../model/time-left.ts';
import { useTime } from '../../view/clock.ts';
import { useAction, useShell } from '../../view/context.ts';
import { Failure } from '../../view/controls.tsx';
import { useKeptFocus } from '../../view/keyboard.ts';
import { AccessFields } from './access-fields.tsx';
import { linkNoteId, Links } from './links.tsx';

/** Changes the access policy of a live tunnel, and creates links and tokens if it uses them. */
export function AccessPanel({
  tunnel,
  onDone,
}: {
  tunnel: TunnelView;
  onDone: (kind: AccessKind) => void;
}): JSX.Element {
  const { say } = useShell();
  const action = useAction();
  const { key, slug, lock } = tunnel;
  const [draft, setDraft] = useState(() => accessDraft(lock));
  const [problem, setProblem] = useState<string>();
  const id = `lock-form-${key}`;
  const isSame = isSameAccess(draft, lock);

  // A policy of several parts cannot be chosen in the form, which then starts with another one.
  const shows = (part: 'links' | 'knock' | 'tokens'): boolean =>
    asksFor(lock, part) && (lock.kind === 'other' || draft.kind === part);
  // Creating a link also applies the choice that it needs.
  const showsLinks = draft.kind === 'links' || shows('links');
  const change = (next: AccessDraft): void => {
    setDraft(next);
    setProblem(undefined);
    if (action.error !== undefined) action.clear();
  };
  /** @returns the kind of the policy, once it holds */
  const apply = async (): Promise<AccessKind | undefined> => {
    if (action.isBusy) return undefined;
    const read = readAccessDraft(draft);
    if ('problem' in read) {
      setProblem(read.problem);
      document.getElementById(`${id}-detail`)?.focus();
      return undefined;
    }
    if (!isSame) {
      const answer = await action.run('lock:set', { key, lock: read.lock });
      if (!answer.ok) return undefined;
      say(t('lock.whoNow', { slug, lock: accessWords(read.lock) }));
    }
    return read.lock.kind;
  };
  const submit = async (event: TargetedEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const kind = await apply();
    // Links and tokens are created and copied in this panel, which now shows more.
    if (kind === 'links') document.getElementById(linkNoteId(key))?.focus();
    else if (kind === 'tokens') setDraft(accessDraft({ kind: 'tokens' }));
    else if (kind !== undefined) onDone(kind);
  };

  return (
    <div class="lock-panel">
      <form
        class="lock-form"
        aria-label={t('lock.whoTo', { slug })}
        noValidate
        onSubmit={(event) => void submit(event)}
      >
        <AccessFields
          id={id}
          draft={draft}
          problem={action.error?.field === 'lock' ? action.error.text : undefined}
          detailProblem={problem}
          change={change}
        />
        {action.error?.field !== 'lock' && <Failure problem={action.error} />}
        {!isSame && (
          <div class="lock-apply">
            <span class="hint">{t('lock.atOnce')}</span>
            <button
              type="submit"
              class={draft.kind === 'links' ? 'button small' : 'button primary small'}
              aria-disabled={action.isBusy}
            >
              {action.isBusy ? t('lock.applying') : t('lock.apply')}
            </button>
          </div>
        )}
      </form>
      {showsLinks && <Links tunnel={tunnel} apply={draft.kind === 'links' && !isSame ? apply : undefined} />}
      {shows('tokens') && <Tokens tunnel={tunnel} />}
      {shows('knock') && <ApprovedVisitors tunnel={tunnel} />}
    </div>
  );
}

/** The approved visitors, with the end of each approval and a button to revoke it. */
function ApprovedVisitors({ tunnel: { key, slug, knocks } }: { tunnel: TunnelView }): JSX.Element {
  const { say } = useShell();
  const list = useAction();
  const action = useAction();
  const [visitors, setVisitors] = useState<readonly ApprovedView[]>();
  const rows = useRef<HTMLUListElement>(null);
  useKeptFocus(rows, (place) => {
    const left = rows.current?.children;
    const next = left?.[Math.min(place, left.length - 1)]?.querySelector('button');
    return next ?? document.getElementById(`lock-${key}`);
  });

  const { run } = list;
  // An approved visitor is no longer waiting.
  useEffect(() => {
    let isCurrent = true;
    const load = async (): Promise<void> => {
      const answer = await run('knock:admitted', { key });
      if (isCurrent && answer.ok) setVisitors(answer.value);
    };
    void load();
    return () => {
      isCurrent = false;
    };
  }, [run, key, knocks]);

  const sendOut = async ({ id, agent }: ApprovedView): Promise<void> => {
    const answer = await action.run('knock:refuse', { key, id });
    if (!answer.ok) return;
    setVisitors((before) => before?.filter((visitor) => visitor.id !== id));
    say(t('admitted.sentOut', { agent: agentWords(agent) }));
  };

  return (
    <div class="links">
      <Failure problem={action.error ?? list.error} />
      {visitors?.length === 0 && <p class="hint">{t('admitted.nobody')}</p>}
      <ul ref={rows} class="link-list" aria-label={t('admitted.visitors', { slug })}>
        {visitors?.map((visitor) => (
          <Visitor key={visitor.id} visitor={visitor} onSendOut={() => void sendOut(visitor)} />
        ))}
      </ul>
    </div>
  );
}

function Visitor({
  visitor: { agent, address, endsAt },
  onSendOut,
}: {
  visitor: ApprovedView;
  onSendOut: () => void;
}): JSX.Element {
  const left = useTime((now) => timeLeftWords(endsAt, now));
  const who = agentWords(agent);
  return (
    <li>
      <span class="visitor">
        {who}{' '}
        <span class="hint" dir="ltr">
          {address}
        </span>
      </span>
      <span class="dim nowrap">{left}</span>
      <button
        type="button"
        class="link"
        aria-label={t('admitted.sendOutOf', { who, address })}
        onClick={onSendOut}
      >
        {t('admitted.sendOut')}
      </button>
    </li>
  );
}

/** The tokens of a tunnel: creates them, copies each new one once, shows when they were used, and revokes them. */
function Tokens({ tunnel: { key, slug, tokens } }: { tunnel: TunnelView }): JSX.Element {
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
