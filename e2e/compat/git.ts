import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Runs git in a folder, without settings of this machine and without questions, and gives what it prints. */
export async function git(folder: string, ...args: string[]): Promise<string> {
  const env = {
    ...process.env,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
  };
  const { stdout } = await run('git', ['-C', folder, ...args], { env, timeout: 120_000 });
  return stdout.trim();
}
