/** Whose tunnels the window shows, and the other relays and accounts that the app is signed in to. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../../../messages/translate.ts';
import { hostOf, otherSignIns, signInName, signInWords } from '../../model/sign-in.ts';
import { useAction, useShell, useWindow } from '../../view/context.ts';
import { ChipButton, Failure } from '../../view/kit.tsx';
import { Menu, type Spot, spotBelow } from '../../view/menu.tsx';
import { StateShape } from '../../view/icons.tsx';

/** A host is shortened before so many characters of its end, because its start and its end say which one it is. */
const HOST_END = 10;

/** The account and its relay, with a menu of the others. The window of a command has only one. */
export function SignIns(): JSX.Element {
  const { isOfCommand } = useShell();
  const { snapshot, session } = useWindow();
  const [spot, setSpot] = useState<Spot>();
  const action = useAction();
  const account = session.account.name;
  const host = hostOf(session.relay);
  const name = signInName({ relay: session.relay, account });
  const lines = (
    <>
      <span class="stack who-lines" aria-hidden="true">
        <bdi class="cut">{account}</bdi>
        <span class="host small-text" dir="ltr">
          <span class="cut">{host.slice(0, -HOST_END)}</span>
          {host.slice(-HOST_END)}
        </span>
      </span>
      <span class="unseen">{name}</span>
    </>
  );
  if (isOfCommand)
    return (
      <span class="who dim" title={name}>
        {lines}
      </span>
    );
  const others = otherSignIns(snapshot);
  const isTroubled = others.some((other) => other.isTroubled);
  return (
    <>
      <ChipButton
        id="sign-ins"
        look="chip fact who"
        aria-haspopup="menu"
        title={name}
        act={({ currentTarget }) => setSpot(spotBelow(currentTarget))}
      >
        {isTroubled && <StateShape shape="trouble" />}
        {lines}
        {isTroubled && <span class="unseen">{t('signIns.otherTrouble')}</span>}
      </ChipButton>
      {spot !== undefined && (
        <Menu
          label={t('signIns.title')}
          spot={spot}
          close={() => setSpot(undefined)}
          items={[
            ...others.map((other) => ({
              label: other.account,
              detail: signInWords(other, hostOf(other.relay)),
              act: () => action.run('session:choose', { id: other.id }),
            })),
            { label: t('signIns.another'), act: () => action.run('session:add', undefined) },
            ...snapshot.signIns.map((one) => ({
              label: t('signIns.signOut', { name: one.account }),
              detail: hostOf(one.relay),
              act: () => action.run('session:sign-out', { id: one.id }),
            })),
          ]}
        />
      )}
      <Failure problem={action.error} />
    </>
  );
}
