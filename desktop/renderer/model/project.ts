/** The tunnels of a project, as they are chosen and shown. */
import { t } from '../../i18n/translate.ts';
import type { ProjectTunnelView } from '../../shared/project.ts';
import type { LockView } from '../../shared/lock.ts';
import { lockLine, lockWords } from './lock.ts';

/** Whether the user can have it started. */
export function isOffered({ status: { name } }: Pick<ProjectTunnelView, 'status'>): boolean {
  return name === 'ready' || name === 'failed';
}

/** What its state is called; `undefined` while there is nothing to say. */
export function statusWord({ status }: Pick<ProjectTunnelView, 'status'>): string | undefined {
  switch (status.name) {
    case 'online':
      return t('project.online');
    case 'starting':
      return t('project.starting');
    case 'started':
      return t('project.started');
    case 'ready':
    case 'blocked':
    case 'failed':
      return undefined;
  }
}

/** Who may come in, and for how long, in a few words. */
export function rulesWords({ lock, ttl }: Pick<ProjectTunnelView, 'lock' | 'ttl'>): string {
  const who = lock === undefined ? t('project.lockUnknown') : whoWords(lock);
  return ttl === undefined ? who : `${who} · ${t('project.ttl', { ttl })}`;
}

/** With the addresses, where there are any: which they are is what has to be seen. */
function whoWords(lock: LockView): string {
  if (lock.kind !== 'addresses') return lockWords(lock);
  const { label, value } = lockLine(lock);
  return `${label} ${value}`;
}
