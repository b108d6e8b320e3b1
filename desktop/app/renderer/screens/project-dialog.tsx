import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ProjectTunnelView, ProjectView } from '../../ipc/tunnel-views.ts';
import { t } from '../../messages/translate.ts';
import { isOffered, rulesWords, statusWord } from '../model/tunnel-state.ts';
import { useShell } from '../view/context.ts';
import { Failure } from '../view/controls.tsx';
import { useModal } from '../view/focus.ts';
import { rich } from '../view/rich.tsx';
import { useAction } from '../view/use-action.ts';

const TITLE = 'project-title';

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
    <dialog ref={dialog} class="dialog" aria-labelledby={TITLE} onKeyDown={onKeyDown}>
      {project.state === 'refused' ? (
        <>
          <h2 id={TITLE}>{t('project.cannot')}</h2>
          <div class="project-problem">
            <Failure problem={{ text: project.why }} />
          </div>
        </>
      ) : (
        <>
          <h2 id={TITLE}>{rich('project.question', { name })}</h2>
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
export function ProjectTunnel({
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
          <span class="turns" aria-hidden="true">
            →
          </span>{' '}
          <span class="unseen">{t('project.leadsTo')} </span>
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
