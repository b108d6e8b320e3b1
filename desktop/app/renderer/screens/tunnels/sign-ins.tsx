/** Whose tunnels the window shows, and the other relays and accounts that the app is signed in to. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../../../messages/translate.ts';
import { otherSignIns, signInName, signInWords } from '../../model/sign-in.ts';
import { useAction, useShell, useWindow } from '../../view/context.ts';
import { ChipButton, Failure } from '../../view/kit.tsx';
import { Menu, type Spot, spotBelow } from '../../view/menu.tsx';
import { StateShape } from '../../view/icons.tsx';

/** The account and its relay, with a menu of the others. The window of a command has only one. */
export function SignIns(): JSX.Element {
  const { isOfCommand } = useShell();
  const { snapshot, session } = useWindow();
  const [spot, setSpot] = useState<Spot>();
  const action = useAction();
  const name = signInName({ relay: session.relay, account: session.account.name });
  if (isOfCommand)
    return (
      <span class="who dim cut" title={session.relay}>
        {name}
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
        title={session.relay}
        act={({ currentTarget }) => setSpot(spotBelow(currentTarget))}
      >
        {isTroubled && <StateShape shape="trouble" />}
        <span class="cut">{name}</span>
        {isTroubled && <span class="unseen">{t('signIns.otherTrouble')}</span>}
      </ChipButton>
      {spot !== undefined && (
        <Menu
          label={t('signIns.title')}
          spot={spot}
          close={() => setSpot(undefined)}
          items={[
            ...others.map((other) => ({
              label: signInWords(other),
              act: () => action.run('session:choose', { id: other.id }),
            })),
            { label: t('signIns.another'), act: () => action.run('session:add', undefined) },
            ...snapshot.signIns.map((one) => ({
              label: t('signIns.signOut', { name: signInName(one) }),
              act: () => action.run('session:sign-out', { id: one.id }),
            })),
          ]}
        />
      )}
      <Failure problem={action.error} />
    </>
  );
}
