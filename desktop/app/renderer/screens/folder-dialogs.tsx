import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { DropView } from '../../ipc/snapshot.ts';
import type { ProjectTunnelView, ProjectView } from '../../ipc/tunnel-views.ts';
import { t } from '../../messages/translate.ts';
import type { Bridge } from '../bridge.ts';
import { isOffered, rulesWords, statusWord } from '../model/tunnel-state.ts';
import { useAction, useShell } from '../view/context.ts';
import { Failure, Icon, rich } from '../view/controls.tsx';
import { useModal } from '../view/keyboard.ts';

const PROJECT_TITLE = 'project-title';

/** Asks which tunnels of a project to start: Enter and Esc start none. */
export function ProjectDialog({ project }: { project: ProjectView }): JSX.Element {
  const { say } = useShell();
  const dialog = useModal();
  const cancel = useRef<HTMLButtonElement>(null);
  const start = useAction();
  const dismiss = useAction();
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  // A layout effect, so that a key pressed now cannot confirm.
  useLayoutEffect(() => cancel.current?.focus(), []);
  const { id, name } = project;
  const tunnels = project.state === 'open' ? project.tunnels : [];
  const chosen = tunnels.filter((tunnel) => isOffered(tunnel) && !left.has(tunnel.label));
  const close = (): void => void dismiss.run('project:dismiss', { id });
  const run = async (): Promise<void> => {
    if (start.isBusy || chosen.length === 0) return;
    const answer = await start.run('project:start', { id, labels: chosen.map(({ label }) => label) });
    if (!answer.ok) return;
    const { started, failed } = answer.value;
    say(failed > 0 ? t('project.someFailed', { failed }) : t('project.allStarted', { count: started }));
  };
  const toggle = (label: string): void => {
    const now = new Set(left);
    if (!now.delete(label)) now.add(label);
    setLeft(now);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    close();
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={PROJECT_TITLE} onKeyDown={onKeyDown}>
      {project.state === 'refused' ? (
        <>
          <h2 id={PROJECT_TITLE}>{t('project.cannot')}</h2>
          <div class="project-problem">
            <Failure problem={{ text: project.why }} />
          </div>
        </>
      ) : (
        <>
          <h2 id={PROJECT_TITLE}>{rich('project.question', { name })}</h2>
          <p>{t('project.explained')}</p>
          <ul class="project-tunnels" aria-label={t('project.tunnels', { name })}>
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
        </>
      )}
      <Failure problem={start.error} />
      <div class="dialog-buttons">
        <button ref={cancel} type="button" class="button" onClick={close}>
          {t('common.close')}
        </button>
        {project.state === 'open' && (
          <button
            type="button"
            class="button primary"
            aria-disabled={start.isBusy || chosen.length === 0}
            onClick={() => void run()}
          >
            {start.isBusy ? t('project.isStarting') : t('project.start', { count: chosen.length })}
          </button>
        )}
      </div>
    </dialog>
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
      <label class="choice">
        <input
          type="checkbox"
          checked={offered && isChosen}
          disabled={!offered || isBusy}
          aria-describedby={note}
          onChange={toggle}
        />
        <span class="project-tunnel">
          <b translate={false}>{label}</b>
          {word !== undefined && <span class="project-word">{word}</span>}
        </span>
      </label>
      <div id={note} class="project-facts">
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

const DROP_TITLE = 'drop-title';

/** Asks whether to share a dropped folder, to prevent mistakes: Enter and Esc share nothing. */
export function DropDialog({ drop }: { drop: DropView }): JSX.Element {
  const { say } = useShell();
  const dialog = useModal();
  const cancel = useRef<HTMLButtonElement>(null);
  const share = useAction();
  const dismiss = useAction();
  const open = useAction();
  // A layout effect, so that a key pressed now cannot confirm.
  useLayoutEffect(() => cancel.current?.focus(), []);
  const { id } = drop;
  const close = (): void => {
    if (!share.isBusy) void dismiss.run('folder:dismiss', { id });
  };
  const publish = async (name: string): Promise<void> => {
    if (share.isBusy) return;
    const answer = await share.run('folder:share', { id });
    if (answer.ok) say(t('drop.shared', { name }));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    close();
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={DROP_TITLE} onKeyDown={onKeyDown}>
      {drop.state === 'folder' ? (
        <>
          <h2 id={DROP_TITLE}>{rich('drop.question', { name: drop.name })}</h2>
          <p>{t('drop.explained')}</p>
          {drop.isProject && <p>{t('drop.isProject')}</p>}
        </>
      ) : (
        <>
          <h2 id={DROP_TITLE}>{t('drop.cannot')}</h2>
          <Failure problem={drop.problem} />
        </>
      )}
      <Failure problem={share.error ?? open.error} />
      <div class="dialog-buttons">
        <button ref={cancel} type="button" class="button" aria-disabled={share.isBusy} onClick={close}>
          {t(drop.state === 'folder' ? 'common.cancel' : 'common.close')}
        </button>
        {drop.state === 'folder' && drop.isProject && (
          <button
            type="button"
            class="button"
            aria-disabled={share.isBusy}
            onClick={() => void (share.isBusy || open.run('project:open', { id }))}
          >
            {t('drop.openProject')}
          </button>
        )}
        {drop.state === 'folder' && (
          <button
            type="button"
            class="button primary"
            aria-disabled={share.isBusy}
            onClick={() => void publish(drop.name)}
          >
            {t(share.isBusy ? 'drop.sharing' : 'drop.share')}
          </button>
        )}
      </div>
    </dialog>
  );
}

/** Covers the window while something is dragged over it, and describes what dropping it does. */
export function DropHere(): JSX.Element {
  return (
    <div class="drop-here" aria-hidden="true">
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
