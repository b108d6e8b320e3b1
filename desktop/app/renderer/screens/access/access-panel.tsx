import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { TOKEN_NAME_MAX_LENGTH, TOKEN_NAME_RULE } from '../../../../../shared/access.ts';
import { agentWords, type TunnelView } from '../../../ipc/snapshot.ts';
import type { AccessKind, AgentView, ApprovedView, TokenView } from '../../../ipc/tunnel-views.ts';
import { t } from '../../../messages/translate.ts';
import {
  type AccessDraft,
  accessDraft,
  accessKinds,
  accessWords,
  agentHint,
  agentUse,
  asksFor,
  isSameAccess,
  readAccessDraft,
  type ListedPart,
  tokenProblem,
  tokenUse,
} from '../../model/access.ts';
import { timeLeftWords } from '../../model/time-left.ts';
import { useTime } from '../../view/clock.ts';
import { useAction, useDraft } from '../../view/context.ts';
import { Button, described, Failed, Failure, Form, Input, List, Note } from '../../view/kit.tsx';
import { useLoaded } from '../../view/use-loaded.ts';
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
  const action = useAction();
  const { key, slug, lock } = tunnel;
  const [draft, setDraft] = useDraft(key, () => accessDraft(lock));
  const [problem, setProblem] = useState<string>();
  const id = `lock-form-${key}`;
  const isSame = isSameAccess(draft, lock);

  // A policy of several parts cannot be chosen in the form, which then starts with another one.
  const shows = (part: ListedPart): boolean =>
    asksFor(lock, part) && (lock.kind === 'other' || draft.kind === part);
  // Creating a link also applies the choice that it needs.
  const showsLinks = draft.kind === 'links' || shows('links');
  const change = (next: AccessDraft): void => {
    setDraft(next);
    setProblem(undefined);
    action.clear();
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
      const said = t('lock.whoNow', { slug, lock: accessWords(read.lock) });
      const answer = await action.run('lock:set', { key, lock: read.lock }, said);
      if (!answer.ok) return undefined;
    }
    return read.lock.kind;
  };
  const submit = async (): Promise<void> => {
    const kind = await apply();
    // Links and tokens are created and copied in this panel, which now shows more.
    if (kind === 'links') document.getElementById(linkNoteId(key))?.focus();
    else if (kind === 'tokens') setDraft(accessDraft({ kind: 'tokens' }));
    else if (kind !== undefined) onDone(kind);
  };

  return (
    <div class="below stack s3">
      <Form class="lock-form stack s3" aria-label={t('lock.whoTo', { slug })} submit={submit}>
        <AccessFields
          id={id}
          kinds={accessKinds(tunnel)}
          draft={draft}
          problem={action.error?.field === 'lock' ? action.error.text : undefined}
          detailProblem={problem}
          change={change}
        />
        {action.error?.field !== 'lock' && <Failure problem={action.error} />}
        {!isSame && (
          <div class="lock-apply line split">
            <span class="hint">{t('lock.atOnce')}</span>
            <Button
              look={draft.kind === 'links' ? 'button small' : 'button primary small'}
              isBusy={action.isBusy}
            >
              {t(action.isBusy ? 'lock.applying' : 'lock.apply')}
            </Button>
          </div>
        )}
      </Form>
      {showsLinks && <Links tunnel={tunnel} apply={draft.kind === 'links' && !isSame ? apply : undefined} />}
      {shows('tokens') && <Tokens tunnel={tunnel} />}
      {shows('knock') && <ApprovedVisitors tunnel={tunnel} />}
      {shows('agents') && <Agents tunnel={tunnel} />}
    </div>
  );
}

/** The approved visitors, with the end of each approval and a button to revoke it. */
function ApprovedVisitors({ tunnel: { key, slug, knocks } }: { tunnel: TunnelView }): JSX.Element {
  const action = useAction();
  // An approved visitor is no longer waiting.
  const visitors = useLoaded('knock:admitted', { key }, { again: knocks });
  const sendOut = async ({ id, agent }: ApprovedView): Promise<void> => {
    const said = t('admitted.sentOut', { agent: agentWords(agent) });
    if ((await action.run('knock:refuse', { key, id }, said)).ok)
      visitors.set((before) => before?.filter((visitor) => visitor.id !== id));
  };

  return (
    <div class="stack">
      <Failure problem={action.error} />
      <Failed of={visitors} />
      {visitors.value?.length === 0 && <p class="hint">{t('admitted.nobody')}</p>}
      <List after={`lock-${key}`} class="link-list stack s1" aria-label={t('admitted.visitors', { slug })}>
        {visitors.value?.map((visitor) => (
          <Visitor key={visitor.id} visitor={visitor} onSendOut={() => sendOut(visitor)} />
        ))}
      </List>
    </div>
  );
}

function Visitor({
  visitor: { agent, address, endsAt },
  onSendOut,
}: {
  visitor: ApprovedView;
  onSendOut: () => unknown;
}): JSX.Element {
  const left = useTime((now) => timeLeftWords(endsAt, now));
  const who = agentWords(agent);
  return (
    <li class="line">
      <span class="grow">
        {who}
        <div class="hint" dir="ltr">
          {address}
        </div>
      </span>
      <span class="dim nowrap">{left}</span>
      <Button look="link last" aria-label={t('admitted.sendOutOf', { who, address })} act={onSendOut}>
        {t('admitted.sendOut')}
      </Button>
    </li>
  );
}

/** The agents that have access, with a button to revoke each. */
function Agents({ tunnel: { key, slug, url, knocks } }: { tunnel: TunnelView }): JSX.Element {
  const action = useAction();
  // An approved agent is no longer waiting.
  const agents = useLoaded('agent:list', { key }, { again: knocks });
  const revoke = async ({ id, host }: AgentView): Promise<void> => {
    if ((await action.run('agent:revoke', { key, id }, t('agents.revoked', { host }))).ok)
      agents.set((before) => before?.filter((agent) => agent.id !== id));
  };

  return (
    <div class="stack">
      <Failure problem={action.error} />
      <Failed of={agents} />
      {agents.value?.length === 0 && <p class="hint">{t('agents.nobody', { url })}</p>}
      <List after={`lock-${key}`} class="link-list stack" aria-label={t('agents.of', { slug })}>
        {agents.value?.map((agent) => (
          <AgentRow key={agent.id} agent={agent} onRevoke={() => revoke(agent)} />
        ))}
      </List>
    </div>
  );
}

function AgentRow({ agent, onRevoke }: { agent: AgentView; onRevoke: () => unknown }): JSX.Element {
  const { host, name, user, returnsTo } = agent;
  const use = useTime((now) => agentUse(agent, now));
  return (
    <li class="line">
      <span class="grow">
        <span dir="ltr">{host}</span>
        <div class="hint">{agentHint(name, returnsTo)}</div>
        {user !== null && <div class="hint">{t('agents.approvedBy', { user })}</div>}
        <div class="hint">{use}</div>
      </span>
      <Button look="link last" aria-label={t('agents.revokeOf', { host })} act={onRevoke}>
        {t('agents.revoke')}
      </Button>
    </li>
  );
}

/** The tokens of a tunnel: creates them, copies each new one once, shows when they were used, and revokes them. */
function Tokens({ tunnel: { key, slug, tokens } }: { tunnel: TunnelView }): JSX.Element {
  const action = useAction();
  const [name, setName] = useState('');
  const [problem, setProblem] = useState<string>();
  const nameId = `token-name-${key}`;
  const problemId = `${nameId}-problem`;

  const create = async (): Promise<void> => {
    if (action.isBusy) return;
    const wanted = name.trim();
    const isTaken = tokens.some((token) => token.name === wanted);
    const wrong = isTaken ? t('tokens.taken', { name: wanted }) : tokenProblem();
    if (isTaken || !TOKEN_NAME_RULE.accepts(wanted)) {
      setProblem(wrong);
      document.getElementById(nameId)?.focus();
      return;
    }
    const said = t('tokens.made', { name: wanted });
    if ((await action.run('token:create', { key, name: wanted }, said)).ok) setName('');
  };
  const copy = ({ name: of }: TokenView) =>
    action.run('token:copy', { key, name: of }, t('tokens.copied', { name: of }));
  const revoke = ({ name: of }: TokenView) =>
    action.run('token:revoke', { key, name: of }, t('tokens.revoked', { name: of }));

  return (
    <div class="stack">
      <Form class="link-form line low" aria-label={t('tokens.newTo', { slug })} submit={create}>
        <Input
          id={nameId}
          aria-label={t('tokens.name')}
          {...described(problemId, problem)}
          placeholder={t('tokens.nameExample')}
          maxLength={TOKEN_NAME_MAX_LENGTH}
          value={name}
          change={(text) => {
            setName(text);
            setProblem(undefined);
          }}
        />
        <Button look="button primary small" isBusy={action.isBusy}>
          {t('tokens.create')}
        </Button>
      </Form>
      <Note id={problemId} problem={problem} />
      <Failure problem={action.error} />
      {/* A row disappears when its token is revoked, and its first button when the token is copied. */}
      <List after={nameId} class="link-list stack s1" aria-label={t('tokens.tokensOf', { slug })}>
        {tokens.map((token) => (
          <TokenRow
            key={token.name}
            token={token}
            onCopy={() => copy(token)}
            onRevoke={() => revoke(token)}
          />
        ))}
      </List>
    </div>
  );
}

function TokenRow({
  token: { name, usedAt, canCopy },
  onCopy,
  onRevoke,
}: {
  token: TokenView;
  onCopy: () => unknown;
  onRevoke: () => unknown;
}): JSX.Element {
  const used = useTime((now) => tokenUse(usedAt, now));
  return (
    <li class="line">
      <span class="link-name grow cut" dir="ltr">
        {name}
      </span>
      {canCopy ? (
        <Button look="button small" aria-label={t('tokens.copyOf', { name })} act={onCopy}>
          {t('tokens.copy')}
        </Button>
      ) : (
        <span class="dim nowrap">{used}</span>
      )}
      <Button look="link last" aria-label={t('tokens.revokeOf', { name })} act={onRevoke}>
        {t('tokens.revoke')}
      </Button>
    </li>
  );
}
