import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { ProjectView } from '../../../shared/project.ts';
import { isOffered } from '../../model/project.ts';
import { useShell } from '../../view/context.ts';
import { Failure } from '../../view/parts.tsx';
import { rich } from '../../view/rich.tsx';
import { useAction } from '../../view/use-action.ts';
import { useModal } from '../../view/use-modal.ts';
import { ProjectTunnel } from './project-tunnel.tsx';

const TITLE = 'project-title';

/** Asks which tunnels of a project shall be started: Enter and Esc start none. */
export function ProjectDialog({ project }: { project: ProjectView }): JSX.Element {
  const { say } = useShell();
  const dialog = useModal();
  const cancel = useRef<HTMLButtonElement>(null);
  const start = useAction();
  const dismiss = useAction();
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  // Before it shows: a key that is pressed right then must not do what it asks about.
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
