import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import type { CommandContext, Files } from '../cli/command-line/command.ts';
import { COMMANDS } from '../cli/commands/commands.ts';
import type { PrintedOutput } from '../cli/output/reporter.ts';
import type { Prompt } from '../client/config/relay-access.ts';
import { StoredLogin } from '../client/config/stored-login.ts';

/**
 * Keeps what a command prints.
 *
 * @param failure why standard output cannot be written
 * @param columns of the terminal, if it is one
 */
export function record(
  failure?: Error,
  columns?: number,
): { printed: { out: string; err: string }; output: PrintedOutput } {
  const printed = { out: '', err: '' };
  const output: PrintedOutput = {
    out: (text) => void (printed.out += text),
    err: (text) => void (printed.err += text),
    flush: () => Promise.resolve(failure),
    columns,
  };
  return { printed, output };
}

const unanswered = (): never => assert.fail('nobody answers');
const NO_PROMPT: Prompt = { isInteractive: false, ask: unanswered, askSecret: unanswered };

/** A signed-out program without a terminal. */
export function contextOf(output: PrintedOutput, prompt = NO_PROMPT): CommandContext {
  return {
    output,
    commands: COMMANDS,
    stored: new StoredLogin(tmpdir(), () => {}),
    interruptible: () => new AbortController().signal,
    hasTerminal: false,
    prompt,
  };
}

/** A signed-out machine, in a folder without a `culvert.yml`. */
export const NO_FILES: Files = {
  readLogin: () => undefined,
  readProject: () => assert.fail('nobody asked for culvert.yml'),
};
