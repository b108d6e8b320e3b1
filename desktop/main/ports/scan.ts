import { guessFramework } from './framework.ts';
import { listListeners } from './linux.ts';
import { type PortScan, portScan } from './port-scan.ts';
import { listWithLsof, listWithNetstat } from './programs.ts';

/**
 * Looks which ports somebody listens on now.
 *
 * @param own process ids of Culvert itself
 * @returns `undefined` where that cannot be found out
 */
export async function scanPorts(
  platform: NodeJS.Platform,
  own: ReadonlySet<number>,
): Promise<PortScan | undefined> {
  try {
    if (platform === 'linux') return portScan(await listListeners(), true, own, guessFramework);
    if (platform === 'darwin') return portScan(await listWithLsof(), false, own, guessFramework);
    if (platform === 'win32') return portScan(await listWithNetstat(), true, own, guessFramework);
    return undefined;
  } catch {
    return undefined;
  }
}
