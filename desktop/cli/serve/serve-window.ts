/** Runs `culvert ui` in a terminal: shows the link, opens the browser, and ends with Ctrl-C. */
import { homedir } from 'node:os';
import { onStopSignals } from '../../../shared/stop-signals.ts';
import { AlreadyRunning, type OpenWindow, openWindow } from '../../app/browser/open-window.ts';
import { Quit } from '../../app/main/electron/quit.ts';
import { ExitCode } from '../../client/failures.ts';
import type { AskOwner } from '../../client/owner-questions.ts';
import type { CommandContext } from '../command-line/command.ts';
import { askAt } from '../mcp/ask-on-terminal.ts';
import { hasBrowser, openFile } from '../output/prompt.ts';

/** How the window is served. */
export interface UiOptions {
  /** `undefined` for the usual one; 0 for any */
  readonly port: number | undefined;
  /** an IP address */
  readonly host: string;
  /** whether the browser is not opened */
  readonly isQuiet: boolean;
}

/** @throws Error with what to do, if the window cannot be opened */
export async function runUi(
  { port, host, isQuiet }: UiOptions,
  { output, prompt, stored, hasTerminal }: CommandContext,
): Promise<ExitCode> {
  const machine = { platform: process.platform, env: process.env, home: homedir() };
  const say = (text: string): void => output.err(`culvert: ${text}\n`);
  let opened: OpenWindow;
  try {
    opened = await openWindow({ machine, login: stored.read(), port, host, say, ask: askHere });
  } catch (error) {
    if (error instanceof AlreadyRunning) return sayWhereItRuns(error, output);
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new Error(`Another program uses port ${port}. Choose another one with --port`, {
      cause: error,
    });
  }
  const end = ended(opened, prompt, hasTerminal);
  output.out(`${opened.createLink()}\n`);
  output.err(
    'This link opens the window once. For another one, run "culvert ui" in a second terminal. Press Ctrl-C to end.\n',
  );
  if (!isQuiet && hasBrowser(process.env)) openFile(await opened.createLinkFile(), (why) => say(`${why}.`));
  await end;
  await opened.close();
  return ExitCode.ok;
}

/** Asks on the terminal of this command. */
const askHere: AskOwner = async (question, noLonger) =>
  process.stdin.isTTY ? askAt(process.stdin, process.stderr, question, noLonger) : undefined;

function sayWhereItRuns({ owner }: AlreadyRunning, output: CommandContext['output']): ExitCode {
  const { program, pid, link } = owner;
  if (program === 'culvert ui' && link !== undefined) {
    output.out(`${link}\n`);
    output.err(`"culvert ui" is already running as process ${pid}. This link opens its window once.\n`);
    return ExitCode.ok;
  }
  const words = {
    app: `The desktop app is running as process ${pid}, with the same tunnels. Its window is in front now.`,
    'culvert ui': `"culvert ui" is just starting as process ${pid}.`,
    unknown: 'Another program of Culvert uses the same files, and does not answer. End it first.',
  };
  output.err(`culvert: ${words[program]}\n`);
  return ExitCode.failed;
}

/**
 * Resolves once the command may end: tunnels are closed, or stay at the relay, as the user wants. Ctrl-C asks on a
 * terminal, and does not ask a second time; without a terminal, tunnels are closed.
 */
function ended(
  { core, platform }: OpenWindow,
  prompt: CommandContext['prompt'],
  hasTerminal: boolean,
): Promise<void> {
  return new Promise((resolve) => {
    let canAsk = prompt.isInteractive;
    const quit = new Quit({
      core,
      platform,
      exit: resolve,
      dialog: {
        showMessageBox: async () => ({
          response: canAsk ? await askWhatToClose(core.liveCount, prompt) : CLOSE,
          checkboxChecked: false,
        }),
      },
    });
    const request = (): void => void quit.request();
    const force = (): void => {
      canAsk = false;
      request();
    };
    onStopSignals(process, hasTerminal, {
      stop: (signal) => (signal === 'SIGTERM' ? force() : request()),
      hangUp: force,
    });
    core.quitRequested.listen(request);
  });
}

/** As {@link CHOICES} of the app's question has them. */
const CLOSE = 0;
const LEAVE = 1;
const STAY = 2;

async function askWhatToClose(count: number, prompt: CommandContext['prompt']): Promise<number> {
  const tunnels = count === 1 ? '1 tunnel is' : `${count} tunnels are`;
  try {
    const answer = await prompt.ask(
      `\n${tunnels} online. Close (c), keep until they expire (k), or continue (n)? [c] `,
    );
    const letter = answer.trim().toLowerCase().slice(0, 1);
    return letter === 'k' ? LEAVE : letter === 'n' ? STAY : CLOSE;
  } catch {
    // Ctrl-C again, or the end of the input.
    return CLOSE;
  }
}
