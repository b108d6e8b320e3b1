import type { JSX, TargetedEvent } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { MemberView, NewInvitationView, OpenInvitationView, TeamView } from '../../ipc/ipc.ts';
import { t } from '../../messages/translate.ts';
import { tokenUse } from '../model/access.ts';
import { dayText, momentText } from '../model/numbers.ts';
import {
  actText,
  INVITATION_DEFAULT_TTL,
  invitationChoices,
  memberAccess,
  memberName,
} from '../model/team.ts';
import { useTime } from '../view/clock.ts';
import { useAction, useShell } from '../view/context.ts';
import { CopyButton, Failure, Field, fieldControl, rich } from '../view/controls.tsx';
import { closeOnEscape, useKeptFocus, useModal } from '../view/keyboard.ts';

const TITLE = 'team-title';
const NAME = 'team-name';
const QUESTION = 'team-question';

/** What can be revoked: a key, or an invitation without a hint of its key. */
type Revocable = OpenInvitationView | MemberView;

/**
 * The people of the account, for its owners; nothing for other keys.
 *
 * @param isReachable whether the relay can be reached
 */
export function Team({ isReachable }: { isReachable: boolean }): JSX.Element | null {
  const { say } = useShell();
  const { team, load, error } = useTeam(isReachable);
  const [made, setMade] = useState<readonly NewInvitationView[]>([]);
  const [asked, setAsked] = useState<Revocable>();
  const rows = useRef<HTMLUListElement>(null);
  // A row disappears when its key or invitation is revoked.
  useKeptFocus(rows, (place) => {
    const left = rows.current?.children;
    return left?.[Math.min(place, left.length - 1)]?.querySelector('button') ?? document.getElementById(NAME);
  });
  if (team === undefined) return null;
  const { members, invitations, acts, hasMore } = team;

  const onMade = (invitation: NewInvitationView): void => {
    setMade((before) => [invitation, ...before]);
    say(t('team.made', { name: invitation.label }));
    void load();
  };
  const onRevoked = (of: Revocable): void => {
    setAsked(undefined);
    setMade((before) => before.filter(({ id }) => id !== of.id));
    say(t('team.revoked', { name: memberName(of) }));
    void load();
  };
  return (
    <section class="group team" aria-labelledby={TITLE}>
      <h2 id={TITLE}>{t('team.title')}</h2>
      <Failure problem={error} />
      <ul ref={rows} class="team-list" aria-label={t('team.members')}>
        {members.map((member) => (
          <Row key={member.id} of={member} ask={setAsked}>
            <MemberDetails member={member} />
          </Row>
        ))}
        {invitations.map((invitation) => (
          <Row key={invitation.id} of={invitation} ask={setAsked}>
            {t('team.invited', { moment: momentText(invitation.expiresAt) })}
          </Row>
        ))}
      </ul>
      {hasMore && <p class="hint">{t('team.more', { max: members.length })}</p>}
      <InviteForm onMade={onMade} />
      {made.map((invitation) => (
        <Made key={invitation.id} invitation={invitation} />
      ))}
      <h3>{t('team.acts')}</h3>
      {acts.length === 0 && <p class="hint">{t('team.noActs')}</p>}
      <ul class="team-acts" aria-label={t('team.acts')}>
        {acts.map((act, index) => (
          // Entries have no id, and two can be the same.
          <li key={`${act.at} ${index}`}>
            <bdi class="dim">{momentText(act.at)}</bdi>
            <bdi>{actText(act, members)}</bdi>
          </li>
        ))}
      </ul>
      {asked !== undefined && (
        <RevokeDialog of={asked} onRevoked={() => onRevoked(asked)} close={() => setAsked(undefined)} />
      )}
    </section>
  );
}

/** Asks main for the team when it is shown or the relay can be reached again; call `load` after changes. */
function useTeam(isReachable: boolean) {
  const { run, error } = useAction();
  const [team, setTeam] = useState<TeamView>();
  const latest = useRef(0);
  const load = useCallback(async () => {
    latest.current += 1;
    const turn = latest.current;
    const answer = await run('team:show', undefined);
    if (turn === latest.current && answer.ok) setTeam(answer.value);
  }, [run]);
  useEffect(() => {
    void load();
    return () => {
      latest.current += 1;
    };
  }, [load, isReachable]);
  return { team, load, error };
}

function Row({
  of,
  ask,
  children,
}: {
  of: Revocable;
  ask: (of: Revocable) => void;
  children: JSX.Element | string;
}): JSX.Element {
  const name = memberName(of);
  return (
    <li>
      <div class="team-who">
        <bdi class={of.label === '' ? 'dim' : 'team-name'}>{name}</bdi>
        <div class="dim">{children}</div>
      </div>
      <button
        type="button"
        class="link"
        aria-label={t('team.revokeOf', { name })}
        aria-haspopup="dialog"
        onClick={() => ask(of)}
      >
        {t('team.revoke')}
      </button>
    </li>
  );
}

function MemberDetails({ member }: { member: MemberView }): JSX.Element {
  const { createdAt, usedAt, expiresAt, isOwn } = member;
  const used = useTime((now) => tokenUse(usedAt, now));
  const parts = [
    isOwn ? `${memberAccess(member)} (${t('team.you')})` : memberAccess(member),
    t('team.created', { day: dayText(createdAt) }),
    used,
    expiresAt === undefined ? undefined : t('team.expires', { day: dayText(expiresAt) }),
  ];
  return <>{parts.filter((part) => part !== undefined).join(' · ')}</>;
}

function InviteForm({ onMade }: { onMade: (invitation: NewInvitationView) => void }): JSX.Element {
  const invite = useAction();
  const [label, setLabel] = useState('');
  const [ttl, setTtl] = useState(INVITATION_DEFAULT_TTL);
  const problem = invite.error?.field === 'label' ? invite.error.text : undefined;
  const submit = async (event: TargetedEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    if (invite.isBusy) return;
    const answer = await invite.run('team:invite', { label: label.trim(), ttl });
    if (!answer.ok) {
      document.getElementById(NAME)?.focus();
      return;
    }
    setLabel('');
    onMade(answer.value);
  };
  return (
    <form class="stack" noValidate aria-label={t('team.invite')} onSubmit={(event) => void submit(event)}>
      <Field id={NAME} label={t('team.name')} hint={t('team.nameHint')} problem={problem}>
        <div class="with-button">
          <input
            {...fieldControl(NAME, problem)}
            autocomplete="off"
            dir="auto"
            value={label}
            onInput={(event) => {
              setLabel(event.currentTarget.value);
              if (invite.error !== undefined) invite.clear();
            }}
          />
          <select
            aria-label={t('team.howLong')}
            value={ttl}
            onChange={(event) => setTtl(event.currentTarget.value)}
          >
            {invitationChoices().map((choice) => (
              <option key={choice.ttl} value={choice.ttl}>
                {choice.label}
              </option>
            ))}
          </select>
          <button type="submit" class="button" aria-disabled={invite.isBusy}>
            {t(invite.isBusy ? 'team.inviting' : 'team.invite')}
          </button>
        </div>
      </Field>
      <Failure problem={problem === undefined ? invite.error : undefined} />
    </form>
  );
}

/** The address of a new invitation, until the screen is left. */
function Made({ invitation: { label, url, expiresAt } }: { invitation: NewInvitationView }): JSX.Element {
  return (
    <div class="team-made">
      <p>{rich('team.send', { name: label, moment: momentText(expiresAt) })}</p>
      <span class="record-text">
        <code dir="ltr">{url}</code>
        <CopyButton what={{ kind: 'invitation', name: label }} text={() => url} />
      </span>
    </div>
  );
}

/** Asks whether to revoke a key or an invitation: Enter and Esc revoke nothing. */
function RevokeDialog({
  of,
  onRevoked,
  close,
}: {
  of: Revocable;
  onRevoked: () => void;
  close: () => void;
}): JSX.Element {
  const dialog = useModal();
  const cancel = useRef<HTMLButtonElement>(null);
  const action = useAction();
  // A layout effect, so that a key pressed now cannot confirm.
  useLayoutEffect(() => cancel.current?.focus(), []);
  const name = memberName(of);
  const revoke = async (): Promise<void> => {
    if (action.isBusy) return;
    const answer = await action.run('team:revoke', { id: of.id });
    if (answer.ok) onRevoked();
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={QUESTION} onKeyDown={closeOnEscape(action, close)}>
      <h2 id={QUESTION}>{rich('hint' in of ? 'team.revokeMember' : 'team.revokeInvitation', { name })}</h2>
      <p>{consequence(of)}</p>
      <Failure problem={action.error} />
      <div class="dialog-buttons">
        <button
          ref={cancel}
          type="button"
          class="button"
          aria-disabled={action.isBusy}
          onClick={() => action.isBusy || close()}
        >
          {t('common.cancel')}
        </button>
        <button
          type="button"
          class="button primary"
          aria-disabled={action.isBusy}
          onClick={() => void revoke()}
        >
          {t(action.isBusy ? 'team.revoking' : 'team.revokeNow')}
        </button>
      </div>
    </dialog>
  );
}

function consequence(of: Revocable): string {
  if (!('hint' in of)) return t('team.revokeInvitation.hint');
  const { hint, isOwn } = of;
  return isOwn ? t('team.revokeOwn.hint', { hint }) : t('team.revokeMember.hint', { hint });
}
