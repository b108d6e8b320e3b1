/** Folders that are dropped on the window or the tray, or chosen: shown first, and shared once the user confirms. */
import { randomUUID } from 'node:crypto';
import { OPEN } from '../../../shared/access.ts';
import { SPEC_DEFAULTS } from '../../client/config/tunnel-spec.ts';
import { FolderUnreadable, locateFolder } from '../../client/share/shared-folder.ts';
import type { DropView } from '../ipc/snapshot.ts';
import { translateMessage } from '../messages/message-text.ts';
import { t } from '../messages/translate.ts';
import { CallFailure } from './failure.ts';
import { hasProject } from './projects.ts';
import { Signal } from '../../client/signal.ts';
import { folderName } from './tunnel-view.ts';
import type { TunnelList } from './tunnels/tunnel-list.ts';

interface DropsOptions {
  readonly tunnelList: Pick<TunnelList, 'create'>;
  readonly isSignedIn: () => boolean;
}

interface Dropped {
  /** of the folder; `undefined` if it cannot be shared */
  readonly path: string | undefined;
  readonly view: DropView;
}

/** How long a folder is shared. */
const SHARED_TTL = '1h';
export class Drops {
  /** The view has changed. */
  readonly changed = new Signal();
  readonly #options: DropsOptions;
  #dropped: Dropped | undefined;
  #isSharing = false;
  /** counts drops, so that only the last one is shown, however long another takes to read */
  #count = 0;

  constructor(options: DropsOptions) {
    this.#options = options;
  }

  /** The one that the user is asked about. */
  get view(): DropView | undefined {
    return this.#dropped?.view;
  }

  /**
   * Shows a drop without sharing anything. It replaces the previous one, unless that is being shared.
   *
   * @param paths of everything dropped together; empty for a drop without files, such as a picture of a page
   */
  async show(paths: readonly string[]): Promise<void> {
    if (this.#isSharing) return;
    this.#count += 1;
    const count = this.#count;
    const dropped = await this.#look(paths);
    if (count === this.#count && !this.#isSharing) this.#show(dropped);
  }

  /**
   * Shares the folder that the user has seen.
   *
   * @returns the key of its tunnel
   * @throws CallFailure, RelayRefusal, RelayUnreachable: then it can be tried again
   */
  async share(id: string): Promise<string> {
    const path = this.#pathOf(id);
    this.#isSharing = true;
    try {
      const { key } = await this.#options.tunnelList.create(
        {
          ...SPEC_DEFAULTS,
          label: undefined,
          target: { folder: path },
          name: undefined,
          domain: undefined,
          ttl: SHARED_TTL,
        },
        OPEN,
      );
      this.#show(undefined);
      return key;
    } finally {
      this.#isSharing = false;
    }
  }

  /**
   * The user wants to do something else with the folder that is shown.
   *
   * @returns its path; it is no longer shown
   * @throws CallFailure
   */
  take(id: string): string {
    const path = this.#pathOf(id);
    this.#show(undefined);
    return path;
  }

  /** The user does not want it. */
  dismiss(id: string): void {
    if (!this.#isSharing && this.view?.id === id) this.#show(undefined);
  }

  #pathOf(id: string): string {
    const { path, view } = this.#dropped ?? {};
    if (path !== undefined && view?.id === id && !this.#isSharing) return path;
    throw new CallFailure({ code: 'no-folder', text: t('problem.dropAgain') });
  }

  async #look(paths: readonly string[]): Promise<Dropped> {
    const id = randomUUID();
    const refused = (code: string, text: string): Dropped => ({
      path: undefined,
      view: { id, state: 'refused', problem: { code, text } },
    });
    const [dropped = '', ...others] = paths;
    if (!this.#options.isSignedIn()) return refused('signed-out', t('problem.dropSignIn'));
    if (others.length > 0) return refused('several', t('problem.dropSeveral'));
    if (dropped === '') return refused('no-path', t('problem.dropNoFolder'));
    try {
      const path = await locateFolder(dropped);
      return {
        path,
        view: { id, state: 'folder', name: folderName(path), isProject: await hasProject(path) },
      };
    } catch (error) {
      if (!(error instanceof FolderUnreadable)) throw error;
      return refused('unreadable', t('problem.dropOther', { why: translateMessage(error.said) }));
    }
  }

  #show(dropped: Dropped | undefined): void {
    this.#dropped = dropped;
    this.changed.emit();
  }
}
