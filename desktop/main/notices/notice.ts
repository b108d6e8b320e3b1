/** What a user is told outside the window. */
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
    title: `Somebody wants to see ${slug}`,
    text: `${agentWords(agent)}, from ${address}.`,
  };
}

export const KEY_REFUSED_NOTICE: Notice = {
  kind: 'key-refused',
  key: undefined,
  title: 'Your key was refused',
  text: 'Your tunnels are offline. Sign in with another key.',
};

/** For an app that does not install newer versions itself. */
export function newVersionNotice(version: string): Notice {
  return {
    kind: 'new-version',
    key: undefined,
    title: `Culvert ${version} is out`,
    text: 'This copy does not update itself, because it is not signed. Click to see where to get the new one.',
  };
}

/** Shown once in the life of an installation. */
export const TRAY_HINT: Notice = {
  kind: 'tray-hint',
  key: undefined,
  title: 'Culvert is still here',
  text: 'Your tunnels stay online. Open Culvert from the tray, or start it again; Quit in its menu ends it.',
};
