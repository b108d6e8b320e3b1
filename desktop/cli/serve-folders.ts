/** Tunnels to folders, for `culvert share` and the `share` of `culvert.yml`. */
import type { TunnelSpec } from '../client/config/tunnel-spec.ts';
import { UsageError } from '../client/failures.ts';
import { FolderUnreadable, type SharedFolder, shareFolder } from '../client/share/shared-folder.ts';

/** Tunnels whose folders are now served on local ports. */
export interface ServedFolders {
  readonly tunnels: readonly TunnelSpec[];
  /** Ends the servers of the folders. */
  close(): Promise<void>;
}

/**
 * Starts file servers for tunnels to folders; tunnels to ports stay as they are.
 *
 * @param project path of the project's file, which is hidden from visitors
 * @throws UsageError for something that is not a folder, or a folder that cannot be read
 */
export async function serveFolders(
  specs: readonly TunnelSpec[],
  project: string | undefined,
): Promise<ServedFolders> {
  const servers: SharedFolder[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.close()));
  };
  const tunnels: TunnelSpec[] = [];
  try {
    for (const spec of specs) {
      if (spec.folder === undefined) {
        tunnels.push(spec);
        continue;
      }
      const server = await shareFolder(spec.folder, { own: project === undefined ? [] : [project] });
      servers.push(server);
      const { path: folder, port, host: hostHeader } = server;
      tunnels.push({ ...spec, folder, port, hostHeader, localHost: '127.0.0.1' });
    }
  } catch (error) {
    await close();
    throw error instanceof FolderUnreadable ? new UsageError(error.message) : error;
  }
  return { tunnels, close };
}
