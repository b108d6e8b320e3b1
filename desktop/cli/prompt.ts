/** Asks for a line on the terminal, or takes it from standard input. */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { INPUT_MAX } from './limits.ts';
import { UsageError } from './usage-error.ts';

/** Asks the person who runs the command. */
export interface Prompt {
  /** whether a person can be asked; otherwise there are only lines */
  readonly isInteractive: boolean;
  /** @returns a line of input; throws when there is none */
  ask(question: string): Promise<string>;
  /** Like {@link Prompt.ask}, but what is typed is not shown. */
  askSecret(question: string): Promise<string>;
}

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

/** Resolves with the first line; what was typed after it is lost with the terminal's mode. */
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
      reject(new UsageError(`The input is too long: at most ${INPUT_MAX} characters are read.`));
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
      reject(new UsageError('The input ended before there was an answer.'));
    });
    if (isTTY && isShown) {
      lines.setPrompt(question);
      lines.prompt();
    }
  });
}
