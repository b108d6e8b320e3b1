import type { JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import type { DropView, SignInView } from '../../ipc/snapshot.ts';
import type { ProjectTunnelView, ProjectView } from '../../ipc/tunnel-views.ts';
import { t } from '../../messages/translate.ts';
import type { Bridge } from '../bridge.ts';
import { isOffered, rulesWords, statusWord } from '../model/tunnel-state.ts';
import { useAction } from '../view/context.ts';
import { rich } from '../view/controls.tsx';
import { Icon } from '../view/icons.tsx';
import { Button, Choice, Dialog, Failure, Field, Input } from '../view/kit.tsx';

/** Asks which tunnels of a project to start: Enter and Esc start none. */
export function ProjectDialog({
  project,
  signIns,
}: {
  project: ProjectView;
  signIns: readonly SignInView[];
}): JSX.Element {
  const start = useAction();
  const dismiss = useAction();
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const move = useAction();
  const { id, name } = project;
  const close = (): void => void dismiss.run('project:dismiss', { id });
  if (project.state === 'refused')
    return (
      <Dialog
        title={t('project.cannot')}
        close={close}
        problem={move.error}
        buttons={signIns
          .filter(({ isSignedIn, relay }) => isSignedIn && relay === project.relay)
          .map((signIn) => (
            <Button
              key={signIn.id}
              isBusy={move.isBusy}
              act={() => move.run('project:move', { id, signIn: signIn.id })}
            >
              {t('project.openAs', { name: signIn.account })}
            </Button>
          ))}
      >
        <div class="project-problem">
          <Failure problem={{ text: project.why }} />
        </div>
      </Dialog>
    );
  const { tunnels } = project;
  const chosen = tunnels.filter((tunnel) => isOffered(tunnel) && !left.has(tunnel.label));
  const run = async (): Promise<void> => {
    const labels = chosen.map(({ label }) => label);
    await start.run('project:start', { id, labels }, ({ started, failed }) =>
      failed > 0 ? t('project.someFailed', { failed }) : t('project.allStarted', { count: started }),
    );
  };
  const toggle = (label: string): void => {
    const now = new Set(left);
    if (!now.delete(label)) now.add(label);
    setLeft(now);
  };
  return (
    <Dialog
      title={rich('project.question', { name })}
      close={close}
      problem={start.error}
      buttons={
        <Button look="button primary" isBusy={start.isBusy || chosen.length === 0} act={run}>
          {start.isBusy ? t('project.isStarting') : t('project.start', { count: chosen.length })}
        </Button>
      }
    >
      <p>{t('project.explained')}</p>
      <ul class="stack s3" aria-label={t('project.tunnels', { name })}>
        {tunnels.map((tunnel) => (
          <ProjectTunnel
            key={tunnel.label}
            tunnel={tunnel}
            isChosen={!left.has(tunnel.label)}
            isBusy={start.isBusy}
            toggle={() => toggle(tunnel.label)}
          />
        ))}
      </ul>
    </Dialog>
  );
}

/** One tunnel of a project: its target, address and access policy. */
function ProjectTunnel({
  tunnel,
  isChosen,
  isBusy,
  toggle,
}: {
  tunnel: ProjectTunnelView;
  isChosen: boolean;
  /** whether tunnels are being started */
  isBusy: boolean;
  toggle: () => void;
}): JSX.Element {
  const { label, address, leadsTo, status } = tunnel;
  const offered = isOffered(tunnel);
  const word = statusWord(tunnel);
  const note = `project-${label}`;
  return (
    <li>
      <Choice
        label={
          <span class="line">
            <b translate={false}>{label}</b>
            {word !== undefined && <span class="dim">{word}</span>}
          </span>
        }
        checked={offered && isChosen}
        disabled={!offered || isBusy}
        aria-describedby={note}
        change={toggle}
      />
      <div id={note} class="project-facts stack s1">
        <span>
          {address === undefined ? t('project.randomName') : <bdi translate={false}>{address}</bdi>}{' '}
          <span aria-hidden="true">→</span> <span class="unseen">{t('project.leadsTo')} </span>
          <bdi class="mono" dir="ltr" translate={false}>
            {leadsTo}
          </bdi>
        </span>
        <span>{rulesWords(tunnel)}</span>
        {'why' in status && (
          <span class={status.name === 'failed' ? 'problem' : 'project-why'} role="status">
            {status.why}
          </span>
        )}
      </div>
    </li>
  );
}

/** Asks whether to share a dropped folder, to prevent mistakes: Enter and Esc share nothing. */
export function DropDialog({ drop }: { drop: DropView }): JSX.Element {
  const share = useAction();
  const dismiss = useAction();
  const open = useAction();
  const { id } = drop;
  const close = (): void => void dismiss.run('folder:dismiss', { id });
  if (drop.state !== 'folder')
    return (
      <Dialog title={t('drop.cannot')} close={close}>
        <Failure problem={drop.problem} />
      </Dialog>
    );
  const { name, isProject } = drop;
  const publish = () => share.run('folder:share', { id }, t('drop.shared', { name }));
  return (
    <Dialog
      title={rich('drop.question', { name })}
      close={close}
      closeWord={t('common.cancel')}
      isBusy={share.isBusy}
      problem={share.error ?? open.error}
      buttons={
        <>
          {isProject && (
            <Button isBusy={share.isBusy} act={() => open.run('project:open', { id })}>
              {t('drop.openProject')}
            </Button>
          )}
          <Button look="button primary" isBusy={share.isBusy} act={publish}>
            {t(share.isBusy ? 'drop.sharing' : 'drop.share')}
          </Button>
        </>
      }
    >
      <p>{t('drop.explained')}</p>
      {isProject && <p>{t('drop.isProject')}</p>}
    </Dialog>
  );
}

interface FolderQuestion {
  readonly question: string;
  readonly answer: (path: string | undefined) => void;
}

/** Asks for the path of a folder, which no browser tells. Esc chooses none. */
export function FolderDialog({ question, answer }: FolderQuestion): JSX.Element {
  const [path, setPath] = useState('');
  const submit = (): Promise<void> => Promise.resolve(answer(path.trim() === '' ? undefined : path.trim()));
  return (
    <Dialog
      title={t('browser.chooseFolder')}
      close={() => answer(undefined)}
      closeWord={t('common.cancel')}
      buttons={<Button look="button primary">{t('browser.openFolder')}</Button>}
      submit={submit}
    >
      <Field id="folder-path" label={question}>
        <Input class="mono" value={path} change={setPath} />
      </Field>
    </Dialog>
  );
}

/** What main asks the user of a browser. */
export function useFolderQuestion({ browser }: Bridge): FolderQuestion | undefined {
  const [asked, setAsked] = useState<FolderQuestion>();
  useLayoutEffect(() => {
    if (browser === undefined) return undefined;
    browser.askForFolder = (question) =>
      new Promise((resolve) =>
        setAsked({
          question,
          answer(path) {
            setAsked(undefined);
            resolve(path);
          },
        }),
      );
    return () => delete browser.askForFolder;
  }, [browser]);
  return asked;
}

/** Covers the window while something is dragged over it, and describes what dropping it does. */
export function DropHere(): JSX.Element {
  return (
    <div class="drop-here middle strong" aria-hidden="true">
      <p>
        <Icon name="folder" /> {t('drop.here')}
      </p>
    </div>
  );
}

/**
 * Accepts files that are dropped anywhere on the window, and passes them to main.
 *
 * @returns whether something that can be dropped is being dragged over the window
 */
export function useDrops(bridge: Bridge): boolean {
  const [isOver, setOver] = useState(false);
  // A layout effect, because effects run a frame later and would miss drags until then.
  useLayoutEffect(() => {
    if (bridge.drop === undefined) return;
    const offer = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = 'copy';
      setOver(true);
    };
    const leave = (event: DragEvent): void => {
      // Moving between parts of the window does not leave it.
      if (event.relatedTarget === null) setOver(false);
    };
    const take = (event: DragEvent): void => {
      setOver(false);
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      event.preventDefault();
      // The next snapshot describes problems.
      bridge.drop?.([...event.dataTransfer.files]).catch(() => undefined);
    };
    addEventListener('dragover', offer);
    addEventListener('dragleave', leave);
    addEventListener('drop', take);
    return () => {
      removeEventListener('dragover', offer);
      removeEventListener('dragleave', leave);
      removeEventListener('drop', take);
    };
  }, [bridge]);
  return isOver;
}
