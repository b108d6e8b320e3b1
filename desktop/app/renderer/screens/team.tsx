import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { MemberView, NewInvitationView, OpenInvitationView } from '../../ipc/ipc.ts';
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
import { useAction } from '../view/context.ts';
import { CopyButton, rich } from '../view/controls.tsx';
import { Button, Dialog, Failure, Field, Form, Input, List, Select } from '../view/kit.tsx';
import { useLoaded } from '../view/use-loaded.ts';

const TITLE = 'team-title';
const NAME = 'team-name';

/** What can be revoked: a key, or an invitation without a hint of its key. */
type Revocable = OpenInvitationView | MemberView;

/**
 * The people of the account, for its owners; nothing for other keys.
 *
 * @param isReachable whether the relay can be reached
 */
export function Team({ isReachable }: { isReachable: boolean }): JSX.Element | null {
  const { value: team, error, reload } = useLoaded('team:show', undefined, { again: isReachable });
  const [made, setMade] = useState<readonly NewInvitationView[]>([]);
  const [asked, setAsked] = useState<Revocable>();
  if (team === undefined) return null;
  const { members, invitations, acts, hasMore } = team;

  const onMade = (invitation: NewInvitationView): void => {
    setMade((before) => [invitation, ...before]);
    void reload();
  };
  const onRevoked = (of: Revocable): void => {
    setAsked(undefined);
    setMade((before) => before.filter(({ id }) => id !== of.id));
    void reload();
  };
  return (
    <section class="group team box stack s3" aria-labelledby={TITLE}>
      <h2 id={TITLE}>{t('team.title')}</h2>
      <Failure problem={error} />
      <List after={NAME} class="team-list stack" aria-label={t('team.members')}>
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
      </List>
      {hasMore && <p class="hint">{t('team.more', { max: members.length })}</p>}
      <InviteForm onMade={onMade} />
      {made.map((invitation) => (
        <Made key={invitation.id} invitation={invitation} />
      ))}
      <h3>{t('team.acts')}</h3>
      {acts.length === 0 && <p class="hint">{t('team.noActs')}</p>}
      <ul class="stack" aria-label={t('team.acts')}>
        {acts.map((act, index) => (
          // Entries have no id, and two can be the same.
          <li key={`${act.at} ${index}`} class="stack s1">
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

function Row({
  of,
  ask,
  children,
}: {
  of: Revocable;
  ask: (of: Revocable) => void;
  children: ComponentChildren;
}): JSX.Element {
  const name = memberName(of);
  return (
    <li class="line">
      <div class="grow">
        <bdi class={of.label === '' ? 'dim' : 'strong'}>{name}</bdi>
        <div class="dim">{children}</div>
      </div>
      <Button
        look="link last"
        aria-label={t('team.revokeOf', { name })}
        aria-haspopup="dialog"
        act={() => ask(of)}
      >
        {t('team.revoke')}
      </Button>
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
  const submit = async (): Promise<void> => {
    if (invite.isBusy) return;
    const answer = await invite.run('team:invite', { label: label.trim(), ttl }, (made) =>
      t('team.made', { name: made.label }),
    );
    if (!answer.ok) {
      document.getElementById(NAME)?.focus();
      return;
    }
    setLabel('');
    onMade(answer.value);
  };
  const change = (text: string): void => {
    setLabel(text);
    invite.clear();
  };
  return (
    <Form class="stack s4" aria-label={t('team.invite')} submit={submit}>
      <Field
        id={NAME}
        label={t('team.name')}
        hint={t('team.nameHint')}
        problem={problem}
        beside={
          <>
            <Select
              aria-label={t('team.howLong')}
              choices={invitationChoices()}
              value={ttl}
              choose={setTtl}
            />
            <Button isBusy={invite.isBusy}>{t(invite.isBusy ? 'team.inviting' : 'team.invite')}</Button>
          </>
        }
      >
        <Input dir="auto" value={label} change={change} />
      </Field>
      <Failure problem={problem === undefined ? invite.error : undefined} />
    </Form>
  );
}

/** The address of a new invitation, until the screen is left. */
function Made({ invitation: { label, url, expiresAt } }: { invitation: NewInvitationView }): JSX.Element {
  return (
    <div class="team-made notice notice-news stack s1">
      <p>{rich('team.send', { name: label, moment: momentText(expiresAt) })}</p>
      <code class="copied-by-hand" dir="ltr">
        {url}
      </code>
      <div class="line">
        <CopyButton
          look="button primary"
          label={t('team.copyInvitation')}
          what={{ kind: 'invitation', name: label }}
          text={() => url}
        />
      </div>
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
  const action = useAction();
  const name = memberName(of);
  const revoke = async (): Promise<void> => {
    if ((await action.run('team:revoke', { id: of.id }, t('team.revoked', { name }))).ok) onRevoked();
  };
  return (
    <Dialog
      title={rich('hint' in of ? 'team.revokeMember' : 'team.revokeInvitation', { name })}
      close={close}
      closeWord={t('common.cancel')}
      isBusy={action.isBusy}
      problem={action.error}
      buttons={
        <Button look="button primary" isBusy={action.isBusy} act={revoke}>
          {t(action.isBusy ? 'team.revoking' : 'team.revokeNow')}
        </Button>
      }
    >
      <p>{consequence(of)}</p>
    </Dialog>
  );
}

function consequence(of: Revocable): string {
  if (!('hint' in of)) return t('team.revokeInvitation.hint');
  const { hint, isOwn } = of;
  return isOwn ? t('team.revokeOwn.hint', { hint }) : t('team.revokeMember.hint', { hint });
}
