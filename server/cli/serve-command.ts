/** The command line of `culvert-relay serve`; serve.ts implements it, and is loaded when it runs. */
import { configured, type Shell } from './command.ts';
import type { StartRelay } from './serve.ts';

const DETACH = '--detach';

export const SERVE_USAGE = `[serve] [settings] [--replace] [--detach]
    run the relay; prints "listening on http://HOST:PORT" when it takes requests; with --replace it takes over from the
    relay that serves the same data folder and port, without losing a request; with --detach it
    runs on as a process of its own when the command has ended, which is when it serves`;

/** @throws CommandError */
export async function serveCommand(
  shell: Shell,
  argv: readonly string[],
  startRelay: StartRelay,
): Promise<number> {
  if (argv.includes(DETACH))
    return await shell.startDetached(['serve', ...argv.filter((each) => each !== DETACH)]);
  shell.limitMemory();
  const { loadConfig, serve } = await import('./serve.ts');
  const { config, flags } = configured(loadConfig(shell.env, argv, { replace: { type: 'boolean' } }));
  return await serve(shell, config, startRelay, flags['replace'] === true);
}
