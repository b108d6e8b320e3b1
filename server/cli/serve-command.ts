/** The command line of `culvert-relay serve`; serve.ts implements it, and is loaded when it runs. */
import { configured, ExitCode, type RelayUsage, type Shell } from './command.ts';
import type { StartRelay } from './serve.ts';
import { StopSignals } from './stop-signals.ts';

const DETACH = '--detach';

/** Its options are the settings, and these. */
export const SERVE_USAGE: RelayUsage = {
  words: 'serve',
  forms: ['[options]'],
  summary: 'Run the relay',
  options: {
    replace: {
      text: 'Take over from the relay that uses the same data folder and port, without losing a request.',
    },
    detach: { text: 'Run in the background. The command returns as soon as the relay accepts requests.' },
  },
  examples: {
    'culvert-relay': 'run a relay at http://localhost:8080, for this machine only',
    'culvert-relay serve --port 9000': 'run the relay on a different port',
    'culvert-relay serve --replace --detach': 'replace the running relay, for example after an upgrade',
  },
  details: `
    You can leave out "serve". The command prints "listening on http://HOST:PORT" as soon as it accepts requests. You
    can set every setting as an option or as an environment variable; the option takes precedence.

    A relay that others can reach needs a server, two DNS records that point to it (relay.example.com and
    *.tunnels.example.com), CULVERT_PUBLIC_URL, CULVERT_TUNNEL_DOMAIN, CULVERT_HOST=:: and CULVERT_PORT=443. With
    CULVERT_ACME_EMAIL, it obtains certificates. The package contains systemd units in server/deploy.`,
};

/** @throws CommandError */
export async function serveCommand(
  shell: Shell,
  argv: readonly string[],
  startRelay: StartRelay,
): Promise<number> {
  if (argv.includes(DETACH))
    return await shell.startDetached(['serve', ...argv.filter((each) => each !== DETACH)]);
  shell.limitMemory();
  if (shell.primary !== undefined) {
    // Those of a terminal or a service manager reach all processes of the relay; the first one decides.
    shell.onSignals({ stop: () => {}, reload: undefined });
    const { loadConfig, serveWorker } = await import('./serve.ts');
    return await serveWorker(
      shell,
      configured(loadConfig(shell.env, argv.slice(0, -1))).config,
      shell.primary,
    );
  }
  const signals = new StopSignals();
  shell.onSignals(signals);
  const run = async (): Promise<number> => {
    const { loadConfig, serve } = await import('./serve.ts');
    const { config, flags } = configured(loadConfig(shell.env, argv, { replace: { type: 'boolean' } }));
    return await serve(shell, config, startRelay, flags['replace'] === true, signals);
  };
  return await Promise.race([run(), signals.startEnded.then(() => ExitCode.ok)]);
}
