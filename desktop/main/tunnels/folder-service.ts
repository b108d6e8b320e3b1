/** The folder that a tunnel leads to, as its local service. */
import { t } from '../../i18n/translate.ts';
import type { LocalTarget } from '../../engine/local/local-target.ts';
import { FolderUnreadable, secretHost, shareFolder, type SharedFolder } from '../../share/shared-folder.ts';
import { localTarget, type Serve, type Served } from './serve.ts';

/** What the relay is told in place of a local port, which a folder has only while it is served. */
export const FOLDER_PORT = 80;

export class FolderService {
  /** where it is now; no port while the tunnel is not served */
  readonly target: LocalTarget & { port: number };
  readonly #path: string;
  /** stays, so that requests can be repeated after the tunnel was stopped and started again */
  readonly #host = secretHost();

  constructor(path: string) {
    this.#path = path;
    this.target = localTarget({ port: 0, folder: path });
  }

  /** Serves tunnels together with the folder: its server is there exactly as long as the tunnel is served. */
  serving(serve: Serve): Serve {
    return (options) => {
      let isStopped = false;
      let folder: SharedFolder | undefined;
      let served: Served | undefined;
      const start = async (): Promise<void> => {
        const opened = await shareFolder(this.#path, { host: this.#host });
        if (isStopped) return opened.close();
        folder = opened;
        this.target.port = opened.port;
        const form = { ...options.form, port: opened.port, hostHeader: this.#host };
        served = serve({ ...options, form });
      };
      start().catch((error: unknown) => {
        if (isStopped) return;
        const why =
          error instanceof FolderUnreadable
            ? error.said
            : t('problem.folderNotServed', { why: String(error) });
        // The relay still has the tunnel, which Start again takes back.
        options.onState({ name: 'offline', reason: 'refused', why });
      });
      return {
        suspend: () => served?.suspend(),
        wake: () => served?.wake(),
        stop: () => {
          isStopped = true;
          served?.stop();
          this.target.port = 0;
          void folder?.close();
        },
      };
    };
  }
}
