import { guessFramework } from './framework.ts';
import { listListeners } from './linux.ts';
import { type Listener, type PortScan, portScan } from './port-scan.ts';
import { listWithLsof, listWithNetstat } from './programs.ts';
import { SocketOwners } from './socket-owners.ts';

/** A way to list who listens. */
interface Lister {
  readonly list: () => Promise<readonly Listener[]>;
  /** see {@link PortScan.isComplete} */
  readonly isComplete: boolean;
}

/**
 * @param own process ids of Culvert itself, asked for each time
 * @returns a function that finds which ports somebody listens on now; it gives `undefined` if that cannot be found out
 */
export function createPortScan(
  platform: NodeJS.Platform,
  own: () => ReadonlySet<number>,
): () => Promise<PortScan | undefined> {
  const lister = listerOf(platform);
  return async () => {
    try {
      return lister && portScan(await lister.list(), lister.isComplete, own(), guessFramework);
    } catch {
      return undefined;
    }
  };
}

function listerOf(platform: NodeJS.Platform): Lister | undefined {
  if (platform === 'linux') {
    const owners = new SocketOwners('/proc');
    return { list: () => listListeners('/proc', owners), isComplete: true };
  }
  if (platform === 'darwin') return { list: () => listWithLsof(), isComplete: false };
  if (platform === 'win32') return { list: () => listWithNetstat(), isComplete: true };
  return undefined;
}
