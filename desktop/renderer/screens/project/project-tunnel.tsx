import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import type { ProjectTunnelView } from '../../../shared/project.ts';
import { isOffered, rulesWords, statusWord } from '../../model/project.ts';

/** One tunnel of a project: what visitors would reach, at which address, and who of them. */
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
