import { type ComponentChildren, Fragment, type JSX } from 'preact';
import { memo } from 'preact/compat';
import { useLayoutEffect } from 'preact/hooks';
import { keptNames, type TunnelView, type UpdateView } from '../../../ipc/snapshot.ts';
import type { KeptNameView } from '../../../ipc/tunnel-views.ts';
import { t } from '../../../messages/translate.ts';
import { settingsAction } from '../../model/actions.ts';
import { programName } from '../../model/create-form.ts';
import { outageView, type OutageView } from '../../model/diagnostics.ts';
import { filterNames, filterOthers, filterTunnels } from '../../model/filter.ts';
import { nameToAskAbout } from '../../model/kept-names.ts';
import { logAt } from '../../model/route.ts';
import { byActivity, byProject, foldsIdle, retryWords } from '../../model/tunnel-state.ts';
import { useTime } from '../../view/clock.ts';
import { useAction, useShell, useWindow } from '../../view/context.ts';
import { FindOutWhy, keysText, SearchField } from '../../view/controls.tsx';
import { Mark } from '../../view/icons.tsx';
import { isTyping, useKey } from '../../view/keyboard.ts';
import { Aside, Button, Failure, IconButton, List, Notice } from '../../view/kit.tsx';
import { UndoDock } from '../../view/screen.tsx';
import { CreateBar } from './create-bar.tsx';
import { InPlace } from './options.tsx';
import { AskAsleep, KeptNames } from './kept-names.tsx';
import { Others } from './others.tsx';
import { SignIns } from './sign-ins.tsx';
import { TunnelCard } from './tunnel-card.tsx';
import { TunnelRow } from './tunnel-row.tsx';

/** From this number on, users search a list instead of reading it. */
const SEARCHED_FROM = 8;

/** The main screen: one list and one action. Beside another screen, each tunnel is a row that opens its log there. */
export function TunnelsScreen({
  isPane,
  isHidden,
  divider,
  logKey,
}: {
  /** whether another screen is beside it, which is then the main one */
  isPane: boolean;
  /** whether another screen covers it */
  isHidden: boolean;
  /** at its end, to resize it */
  divider: ComponentChildren;
  /** key of the tunnel whose log is beside it */
  logKey: string | undefined;
}): JSX.Element {
  const { snapshot, search, setSearch } = useWindow();
  const shell = useShell();
  const { isOfCommand, bridge } = shell;
  const settings = settingsAction();
  const { tunnels, others, names } = snapshot;
  const kept = keptNames(tunnels, names);
  const unused = names.filter((name) => !name.isLive && ![...kept.values()].includes(name));
  // A page in a browser is not told that the computer sleeps.
  const asked = bridge.browser === undefined ? nameToAskAbout(snapshot) : undefined;
  const all = tunnels.length + others.length + unused.length;
  const outage = outageView(snapshot);
  const typed = all < SEARCHED_FROM ? '' : search;
  // Rows are all of the same height, so they stay where they are.
  const ordered = isPane ? tunnels : byActivity(tunnels, Date.now());
  const shown = filterTunnels(ordered, typed, Date.now());
  const mayFold = foldsIdle(tunnels);
  const shownOthers = filterOthers(others, typed);
  const shownNames = filterNames(unused, typed);
  // At the start and after signing in nothing has the focus yet: Enter exposes the suggested port, or copies an address.
  useLayoutEffect(() => {
    if (document.activeElement !== document.body) return;
    (document.getElementById('port') ?? document.querySelector<HTMLElement>('.cards button'))?.focus();
  }, []);
  useKey(
    (event) => !isHidden && event.key === '/' && !isTyping(event) && all >= SEARCHED_FROM,
    () => document.getElementById('search-tunnels')?.focus(),
  );

  return (
    // An element without a name is no landmark.
    <section class="screen" aria-label={isPane ? 'Culvert' : undefined} hidden={isHidden}>
      <header class="bar home" role={isPane ? undefined : 'banner'}>
        <Mark />
        <h1 translate={false}>Culvert</h1>
        <SignIns />
        <IconButton
          id="settings"
          icon="settings"
          name={settings.title}
          title={keysText(`${settings.title} (${settings.keys ?? ''})`)}
          act={() => settings.run(shell)}
        />
      </header>
      <div class="scroll" role={isPane ? 'region' : 'main'} aria-label={t('tunnels.tunnels')}>
        {outage !== undefined && <OutageNotice outage={outage} />}
        {snapshot.update !== undefined && <UpdateNotice update={snapshot.update} />}
        {snapshot.isTrayMissing && snapshot.settings.saysTrayMissing && <TrayNotice />}
        {asked !== undefined && <AskAsleep name={asked} />}
        {all >= SEARCHED_FROM && (
          <SearchField
            id="search-tunnels"
            label={t('tunnels.search')}
            placeholder={t('tunnels.searchAll', { all })}
            value={search}
            onChange={setSearch}
          />
        )}
        {all === 0 && !isPane && <Empty />}
        {all > 0 && typed !== '' && shown.length + shownOthers.length + shownNames.length === 0 && (
          <p class="dim nothing">{t('tunnels.noMatch', { search })}</p>
        )}
        {isPane ? (
          <Rail tunnels={shown} kept={kept} logKey={logKey} />
        ) : (
          // What it would hold is elsewhere then, with the same ids.
          !isHidden && (
            <List after="port" class="cards stack s3">
              {shown.map((tunnel) => (
                <TunnelCard
                  key={tunnel.key}
                  tunnel={tunnel}
                  kept={kept.get(tunnel.key)}
                  mayFold={mayFold}
                  isQuiet={outage !== undefined}
                />
              ))}
            </List>
          )
        )}
        <KeptNames names={shownNames} />
        <Others tunnels={shownOthers} areRows={isPane} />
      </div>
      <UndoDock />
      {!isOfCommand && <CreateBar isPane={isPane} isHidden={isHidden} />}
      {divider}
    </section>
  );
}

/** The tunnels as rows, those of a project below its name. */
function Rail({
  tunnels,
  kept,
  logKey,
}: {
  tunnels: readonly TunnelView[];
  /** by key of the tunnel */
  kept: ReadonlyMap<string, KeptNameView>;
  logKey: string | undefined;
}): JSX.Element {
  return (
    <>
      {byProject(tunnels).map(({ project, tunnels: own }) => (
        <Fragment key={project}>
          {project !== undefined && <p class="others-title dim">{t('tunnels.project', { name: project })}</p>}
          <List after="port" class="cards" aria-label={project}>
            {own.map((tunnel) => (
              <RailRow
                key={tunnel.key}
                tunnel={tunnel}
                kept={kept.get(tunnel.key)}
                isShown={tunnel.key === logKey}
              />
            ))}
          </List>
        </Fragment>
      ))}
    </>
  );
}

const RailRow = memo(function RailRow({
  tunnel,
  kept,
  isShown,
}: {
  tunnel: TunnelView;
  kept: KeptNameView | undefined;
  isShown: boolean;
}): JSX.Element {
  const { setTrail } = useWindow();
  return (
    <li data-slug={tunnel.slug}>
      <TunnelRow
        tunnel={tunnel}
        kept={kept}
        id={`log-${tunnel.key}`}
        aria-current={isShown ? 'true' : undefined}
        act={() => setTrail(logAt(tunnel.key))}
      />
    </li>
  );
});

/** The list before the first tunnel: what to do, in two lines; or what the command is doing. */
export function Empty(): JSX.Element {
  const { isOfCommand } = useShell();
  const [likeliest] = useWindow().snapshot.ports;
  const words =
    likeliest === undefined
      ? t('tunnels.startServer')
      : t('tunnels.isRunning', {
          program: programName(likeliest) ?? t('tunnels.aServer'),
          port: likeliest.port,
        });
  return (
    <div class="empty stack middle">
      <Mark size={72} />
      <h2>{t('tunnels.nothingExposed')}</h2>
      <p class="dim">{isOfCommand ? t('tunnels.commandStarts') : words}</p>
      {!isOfCommand && <InPlace />}
    </div>
  );
}

/** The only banner during an outage: the cause, the time of the next attempt, and a button to try immediately. */
function OutageNotice({ outage: { text, retryAt } }: { outage: OutageView }): JSX.Element {
  const action = useAction();
  return (
    <Notice>
      <Aside
        text={
          <>
            {text} {retryAt !== undefined && <Countdown retryAt={retryAt} />}
          </>
        }
      >
        <div class="line">
          {retryAt !== undefined && (
            <Button look="button small" act={() => action.run('relay:try', undefined)}>
              {t('tunnels.tryNow')}
            </Button>
          )}
          <FindOutWhy />
        </div>
      </Aside>
      <Failure problem={action.error} />
    </Notice>
  );
}

function Countdown({ retryAt }: { retryAt: number }): JSX.Element {
  const words = useTime((now) => retryWords({ retryAt }, now));
  return <span class="nowrap">{words}</span>;
}

/** Announces a newer version of the app, with a link to it. */
function UpdateNotice({ update: { version, isReady } }: { update: UpdateView }): JSX.Element {
  const action = useAction();
  const act = (): unknown =>
    isReady ? action.run('app:update', undefined) : action.run('app:open-link', { link: 'releases' });
  return (
    <Notice kind="news">
      <Aside text={t(isReady ? 'tunnels.updateReady' : 'tunnels.updateOut', { version })}>
        <Button look="button small" act={act}>
          {t(isReady ? 'tunnels.restartNow' : 'tunnels.getIt')}
        </Button>
      </Aside>
      <Failure problem={action.error} />
    </Notice>
  );
}

/** Explains what to do if the desktop shows no tray icons, until the user has read it. */
function TrayNotice(): JSX.Element {
  const action = useAction();
  const dismiss = () => action.run('settings:change', { saysTrayMissing: false });
  return (
    <Notice kind="news">
      <Aside text={t('tunnels.noTray')}>
        <Button look="button small" act={dismiss}>
          {t('tunnels.noTray.dismiss')}
        </Button>
      </Aside>
      <Failure problem={action.error} />
    </Notice>
  );
}
