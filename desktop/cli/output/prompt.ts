/** Asks for a line on the terminal, or takes it from standard input. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Prompt } from '../../client/config/relay-access.ts';
import { UsageError } from '../../client/failures.ts';

/**
 * Maximum number of characters read from standard input: the longest key has 204, the longest password 128;
 * longer text is something else.
 */
const INPUT_MAX = 4096;

/**
 * @param input standard input
 * @param screen where questions go: standard error, so that standard output carries results only
 */
export function terminalPrompt(input: NodeJS.ReadStream, screen: NodeJS.WriteStream): Prompt {
  return {
    isInteractive: input.isTTY,
    ask: (question) => readLine(input, screen, question, true),
    askSecret: (question) => readLine(input, screen, question, false),
  };
}

/** Resolves with the first line; later input is lost with the terminal's mode. */
function readLine(
  input: NodeJS.ReadStream,
  screen: NodeJS.WriteStream,
  question: string,
  isShown: boolean,
): Promise<string> {
  const { isTTY } = input;
  // Without an output, readline echoes nothing.
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: isShown ? screen : silent, terminal: isTTY });
  if (isTTY && !isShown) screen.write(question);
  return new Promise((resolve, reject) => {
    let size = 0;
    const limit = (chunk: string | Buffer): void => {
      size += chunk.length;
      if (size <= INPUT_MAX) return;
      reject(new UsageError(`The input is too long. It can have at most ${INPUT_MAX} characters.`));
      lines.close();
    };
    input.on('data', limit);
    lines.once('line', (line) => {
      resolve(line);
      lines.close();
    });
    lines.once('close', () => {
      input.off('data', limit);
      if (isTTY && !isShown) screen.write('\n');
      reject(new UsageError('The input ended before you answered.'));
    });
    if (isTTY && isShown) {
      lines.setPrompt(question);
      lines.prompt();
    }
  });
}

/* Opens an address in the browser of this machine. */

/** The program that each system opens addresses with. */
function opener(platform: NodeJS.Platform, url: string): readonly [program: string, ...args: string[]] {
  if (platform === 'darwin') return ['open', url];
  // The shell of Windows is not asked: it would read characters of the address as its own.
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url];
  return ['xdg-open', url];
}

/**
 * @param url a web address; anything else is not opened
 * @param failed told in a sentence, without its full stop, if nothing opens it
 */
export function openAddress(
  url: string,
  failed: (why: string) => void,
  platform: NodeJS.Platform = process.platform,
): void {
  if (/^https?:\/\//.test(url)) openWith(opener(platform, url), url, failed, platform);
  else failed('A browser can open only the addresses of tunnels for HTTP');
}

/** Whether a browser can be seen where this command runs, and somebody looks. */
export function hasBrowser(env: NodeJS.ProcessEnv): boolean {
  if (!process.stdout.isTTY || env['SSH_CONNECTION'] !== undefined) return false;
  if (process.platform !== 'linux') return true;
  return [env['DISPLAY'], env['WAYLAND_DISPLAY'], env['WSL_DISTRO_NAME']].some((value) => Boolean(value));
}

/** Opens a file of HTML in the browser. @param path absolute; `failed` as for {@link openAddress} */
export function openFile(
  path: string,
  failed: (why: string) => void,
  platform: NodeJS.Platform = process.platform,
): void {
  openWith(opener(platform, path), path, failed, platform);
}

function openWith(
  [program, ...args]: ReturnType<typeof opener>,
  what: string,
  failed: (why: string) => void,
  platform: NodeJS.Platform,
): void {
  const child = spawn(program, args, { stdio: 'ignore', detached: true });
  child.on('error', () => failed(`${program} is not installed, so ${what} cannot be opened`));
  // It ends soon, and says there whether a browser was found; rundll32 of Windows says nothing by that.
  child.on('exit', (code) => {
    if (platform !== 'win32' && code !== null && code > 0)
      failed(`${program} found no browser to open ${what}`);
  });
  child.unref();
}
