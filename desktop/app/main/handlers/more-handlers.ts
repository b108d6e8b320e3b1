/** What the page may ask main to do with folders: share them, or open the projects in them. */
import type { RequestDetail } from '../../../client/inspector/records.ts';
import { redactTarget } from '../../../client/inspector/redaction.ts';
import type { Settings, Snapshot } from '../../ipc/snapshot.ts';
import { chooseLocale } from '../../messages/locale.ts';
import { setLocale, t } from '../../messages/translate.ts';
import type { Collections } from '../collections/collections.ts';
import { openSaved, sendSaved } from '../collections/saved-request.ts';
import type { Drops } from '../drops.ts';
import { CallFailure } from '../failure.ts';
import type { Platform } from '../platform.ts';
import type { Projects } from '../projects.ts';
import type { AppStore } from '../settings/app-store.ts';
import type { Signatures } from '../signing/signatures.ts';
import type { SigningSecrets } from '../signing/signing-secrets.ts';
import type { Feed } from '../snapshot.ts';
import type { TunnelList } from '../tunnels/tunnel-list.ts';
import type { Handlers } from './handle.ts';

export interface FolderHandlersOptions {
  readonly drops: Drops;
  readonly projects: Projects;
  readonly platform: Pick<Platform, 'chooseFolder'>;
  readonly store: AppStore;
  /** Shows at once what has changed. */
  readonly flush: () => void;
}

type FolderChannel = Extract<keyof Handlers, `folder:${string}` | `project:${string}`>;

export function folderHandlers({
  drops,
  projects,
  platform,
  store,
  flush,
}: FolderHandlersOptions): Pick<Handlers, FolderChannel> {
  let isChoosing = false;
  /** Asks once at a time, however often that is wanted. */
  const choose = async (then: (folder: string) => Promise<void>): Promise<undefined> => {
    if (isChoosing) return undefined;
    isChoosing = true;
    let folder: string | undefined;
    try {
      folder = await platform.chooseFolder();
    } finally {
      isChoosing = false;
    }
    if (folder !== undefined) await then(folder);
    // What was chosen is shown before anything is said about it.
    flush();
    return undefined;
  };
  return {
    'folder:drop': async ({ paths }) => {
      await drops.show(paths);
      return undefined;
    },
    'folder:share': async ({ id }) => {
      try {
        return { key: await drops.share(id) };
      } finally {
        // The question goes before its button can be pressed again.
        flush();
      }
    },
    'folder:dismiss': ({ id }) => {
      drops.dismiss(id);
      return undefined;
    },
    'folder:choose': () => choose((folder) => drops.show([folder])),
    'project:choose': () => choose((folder) => projects.open(folder)),
    'project:open': async ({ id }) => {
      await projects.open(drops.take(id));
      flush();
      return undefined;
    },
    'project:reopen': async ({ folder }) => {
      // The page cannot name one that the user has not opened.
      if (!store.data.projects.includes(folder))
        throw new CallFailure({ code: 'no-project', text: t('project.openAgain') });
      await projects.open(folder);
      flush();
      return undefined;
    },
    'project:start': async ({ id, labels }) => {
      try {
        return await projects.start(id, labels);
      } finally {
        flush();
      }
    },
    'project:dismiss': ({ id }) => {
      projects.dismiss(id);
      return undefined;
    },
  };
}

/** What the page may ask about requests that are kept. No secret of theirs goes back to it. */
export function setHandlers(
  desk: Pick<TunnelList, 'find'>,
  sets: Collections,
  signatures: Pick<Signatures, 'send'>,
): Pick<Handlers, Extract<keyof Handlers, `set:${string}`>> {
  const recorded = (key: string, id: number): RequestDetail => {
    const detail = desk.find(key).log.detail(id, true);
    if (detail === undefined)
      throw new CallFailure({ code: 'no-such-request', text: t('problem.requestGone') });
    return detail;
  };
  return {
    'set:list': () => ({
      sets: sets.sets.map(({ id, name, requests }) => ({
        id,
        name,
        requests: requests.map((request) => ({
          id: request.id,
          method: request.method,
          target: redactTarget(request.target),
        })),
      })),
      isKept: sets.isKept,
    }),
    'set:create': async ({ key, id, name }) => ({ set: await sets.create(name, recorded(key, id)) }),
    'set:add': async ({ key, id, set }) => {
      await sets.add(set, recorded(key, id));
      return undefined;
    },
    'set:rename': async ({ set, name }) => {
      await sets.rename(set, name);
      return undefined;
    },
    'set:remove': async ({ set }) => {
      await sets.remove(set);
      return undefined;
    },
    'set:remove-request': async ({ set, request }) => {
      await sets.removeRequest(set, request);
      return undefined;
    },
    'set:open': ({ key, set, request }) => ({ id: openSaved(desk.find(key), sets.find(set, request)) }),
    'set:send': ({ key, set, request }) => sendSaved(desk.find(key), sets.find(set, request), signatures),
  };
}

/** Takes over what the system will do at login, which its user can also change there. @returns whether that was news */
export async function followAutostart(
  store: AppStore,
  autostart: Pick<Platform['autostart'], 'isOn'>,
): Promise<boolean> {
  const startsAtLogin = await autostart.isOn();
  if (startsAtLogin === store.data.settings.startsAtLogin) return false;
  await store.change({ settings: { ...store.data.settings, startsAtLogin } });
  return true;
}

/** Has the app speak the language that the user has chosen. */
export function followLanguage(
  store: AppStore,
  { preferredLanguages }: Pick<Platform, 'preferredLanguages'>,
): void {
  setLocale(chooseLocale(store.data.settings.language, preferredLanguages()));
}

/**
 * Settings that the system also stores are set there first: if it refuses one, that is not remembered.
 *
 * @throws CallFailure
 */
export async function changeSettings(
  change: Partial<Settings>,
  store: AppStore,
  platform: Pick<Platform, 'autostart' | 'setTheme' | 'summonKey' | 'preferredLanguages'>,
): Promise<void> {
  const { autostart, setTheme, summonKey } = platform;
  if (change.startsAtLogin !== undefined) {
    try {
      await autostart.set(change.startsAtLogin);
    } catch (error) {
      throw new CallFailure({
        code: 'autostart',
        field: 'startsAtLogin',
        text: t('problem.systemRefused', { why: error instanceof Error ? error.message : String(error) }),
      });
    }
  }
  if (change.summonShortcut !== undefined && !summonKey.use(change.summonShortcut)) {
    summonKey.use(store.data.settings.summonShortcut);
    throw new CallFailure({
      code: 'shortcut',
      field: 'summonShortcut',
      text: t('problem.shortcut'),
    });
  }
  if (change.theme !== undefined) setTheme(change.theme);
  await store.change({ settings: { ...store.data.settings, ...change } });
  if (change.language !== undefined) followLanguage(store, platform);
}

/** What the page may ask about signatures of webhooks. No secret ever goes back to it. */
export function signatureHandlers(
  desk: Pick<TunnelList, 'find'>,
  signatures: Signatures,
  secrets: Pick<SigningSecrets, 'remove'>,
  feed: Pick<Feed<Snapshot>, 'changed'>,
): Pick<
  Handlers,
  'signature:look' | 'signature:add-secret' | 'signature:remove-secret' | 'signature:replay'
> {
  /** What the log says of its webhooks is another thing now. */
  const tellAnew = (key: string): void => {
    desk.find(key).log.tellAnew();
    feed.changed();
  };
  return {
    'signature:look': ({ key, id }) => signatures.look(desk.find(key), id),
    'signature:add-secret': async ({ key, ...secret }) => {
      await signatures.addSecret(desk.find(key), secret);
      tellAnew(key);
      return undefined;
    },
    'signature:remove-secret': async ({ key, id }) => {
      await secrets.remove(desk.find(key), id);
      tellAnew(key);
      return undefined;
    },
    'signature:replay': async ({ key, id }) => ({ id: await signatures.replay(desk.find(key), id) }),
  };
}
