/** What the page may ask main to do with folders: share them, or open the projects in them. */
import { t } from '../../i18n/translate.ts';
import type { Drops } from '../drops.ts';
import { CallFailure } from '../failure.ts';
import type { Platform } from '../platform.ts';
import type { Projects } from '../projects/projects.ts';
import type { AppStore } from '../settings/app-store.ts';
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
