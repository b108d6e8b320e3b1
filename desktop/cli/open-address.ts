/** Opens an address in the browser of this machine. */
import { spawn } from 'node:child_process';

/** The program that each system opens addresses with. */
function opener(platform: NodeJS.Platform, url: string): readonly [program: string, ...args: string[]] {
  if (platform === 'darwin') return ['open', url];
  // The shell of Windows is not asked: it would read characters of the address as its own.
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url];
  return ['xdg-open', url];
}

/**
 * @param url a web address; anything else is not opened
 * @param failed told in a sentence if nothing opens it
 */
export function openAddress(
  url: string,
  failed: (why: string) => void,
  platform: NodeJS.Platform = process.platform,
): void {
  if (!/^https?:\/\//.test(url)) return;
  const [program, ...args] = opener(platform, url);
  const child = spawn(program, args, { stdio: 'ignore', detached: true });
  child.on('error', () => failed(`${program} is not there to open ${url}`));
  // It ends soon, and says there whether a browser was found; rundll32 of Windows says nothing by that.
  child.on('exit', (code) => {
    if (platform !== 'win32' && code !== null && code > 0)
      failed(`${program} found nothing to open ${url} with`);
  });
  child.unref();
}
