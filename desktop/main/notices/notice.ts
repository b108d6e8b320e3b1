/** What a user is told outside the window. */
import { t } from '../../i18n/translate.ts';
import { agentWords } from '../../shared/agent.ts';
import type { KnockView } from '../../shared/lock.ts';

export interface Notice {
  readonly kind:
    | 'first-visitor'
    | 'expires-soon'
    | 'expired'
    | 'lost'
    | 'back'
    | 'knock'
    | 'key-refused'
    | 'tray-hint'
    | 'new-version';
  /** id of the tunnel; `undefined` if it is about no particular one */
  readonly key: string | undefined;
  readonly title: string;
  readonly text: string;
  /** id of the visitor whom it is about */
  readonly knock?: string;
}

/** Somebody waits to be let into a tunnel. */
export function knockNotice(key: string, slug: string, { id, address, agent }: KnockView): Notice {
  return {
    kind: 'knock',
    key,
    knock: id,
    title: t('notice.knock', { slug }),
    text: t('notice.knockFrom', { agent: agentWords(agent), address }),
  };
}

export function keyRefusedNotice(): Notice {
  return {
    kind: 'key-refused',
    key: undefined,
    title: t('notice.keyRefused'),
    text: t('notice.keyRefused.text'),
  };
}

/** For an app that does not install newer versions itself. */
export function newVersionNotice(version: string): Notice {
  return {
    kind: 'new-version',
    key: undefined,
    title: t('notice.updateOut', { version }),
    text: t('notice.updateOut.text'),
  };
}

/** Shown once in the life of an installation. */
export function trayHint(): Notice {
  return { kind: 'tray-hint', key: undefined, title: t('notice.trayHint'), text: t('notice.trayHint.text') };
}
