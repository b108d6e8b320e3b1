/** Asks for a line on the terminal, or takes it from standard input. */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { KEY_INPUT_MAX } from './limits.ts';
import type { Prompt } from './login-command.ts';
import { UsageError } from './usage-error.ts';

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
      if (size <= KEY_INPUT_MAX) return;
      reject(new UsageError(`That is not a key: a key has at most ${KEY_INPUT_MAX} characters.`));
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
      reject(new UsageError('Not signed in: the input ended before there was an answer.'));
    });
    if (isTTY && isShown) {
      lines.setPrompt(question);
      lines.prompt();
    }
  });
}
