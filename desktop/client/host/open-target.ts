/** Makes what a tunnel forwards to something that can be dialled: a folder gets a server of its own. */
import type { FolderTarget, TunnelTarget } from '../config/tunnel-spec.ts';
import { localPort, type LocalTarget } from '../local/local-service.ts';

/** Can be dialled until it is closed. */
export interface OpenTarget {
  readonly local: LocalTarget;
  /** Ends a server that runs for the tunnel alone; never rejects. */
  close(): Promise<void>;
}

/**
 * A local service needs no opening.
 *
 * @param host the `Host` that a folder's server had before, so that recorded requests can be repeated
 * @throws FolderUnreadable for something that is not a folder, or a folder that cannot be read
 */
export function openTarget(target: TunnelTarget, host?: string): OpenTarget | Promise<OpenTarget> {
  return 'folder' in target ? openFolder(target, host) : { local: target, close: () => Promise.resolve() };
}

/** The server of files needs a list of all media types, so it is loaded only if a folder is shared. */
async function openFolder({ folder, hidden = [] }: FolderTarget, host?: string): Promise<OpenTarget> {
  const { shareFolder } = await import('../share/shared-folder.ts');
  const server = await shareFolder(folder, { own: hidden, ...(host === undefined ? {} : { host }) });
  const local = { ...localPort(server.port), host: '127.0.0.1', hostHeader: server.host };
  return { local, close: server.close };
}
