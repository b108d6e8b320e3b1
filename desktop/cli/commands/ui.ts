/** `culvert ui`: shows the app's window in a browser. */
import { isIP } from 'node:net';
import { parsePort, PORT_RULE } from '../../../shared/value-rules.ts';
import { UsageError } from '../../client/failures.ts';
import { isLoopback } from '../../client/network/dial.ts';
import { type AnyLine, defineCommand } from '../command-line/command.ts';
import type { UiOptions } from '../serve/serve-window.ts';

export const uiCommand = defineCommand({
  name: 'ui',
  summary: "Show the app's window in a browser",
  options: { Window: ['port', 'no-open', 'host', 'insecure-remote'] },
  examples: {
    'culvert ui': 'open the window in your browser',
    'culvert ui --no-open': 'only print the link',
    'culvert ui --port 4050': 'use another port',
  },
  details: `
    The window creates tunnels, shows their requests and changes their access, like the desktop app. It uses the
    app's tunnels, settings and key, so only one of the two can run at a time. If the app was never used, the window
    signs in with what "culvert login" stored.

    The link works once and for one browser. To get another one, run "culvert ui" again in a second terminal. Only
    a browser that has opened a link can use the window; other users of this machine cannot.

    To see a server's window on your machine, run "ssh -L 4040:127.0.0.1:4040 server culvert ui".

    The tunnels stay open until you press Ctrl-C. If tunnels are online, the command asks what should happen to them.`,
  read: readUi,
  async run(given, context) {
    const { runUi } = await import('../serve/serve-window.ts');
    return runUi(given, context);
  },
});

/** @throws UsageError */
function readUi(line: AnyLine): UiOptions {
  const { port, host = '127.0.0.1', 'no-open': isQuiet = false, 'insecure-remote': isRemote } = line.values;
  const number = port === '0' ? 0 : port === undefined ? undefined : parsePort(port);
  if (port !== undefined && number === undefined)
    throw new UsageError(`--port "${port}" is not valid. It must be 0 or ${PORT_RULE.accepted}.`);
  if (isIP(host) === 0)
    throw new UsageError(`--host "${host}" is not valid. It must be an IP address such as 127.0.0.1.`);
  if (!isLoopback(host) && isRemote !== true)
    throw new UsageError(
      `--host ${host} would let other machines reach the window, without encryption. ` +
        'Use "ssh -L 4040:127.0.0.1:4040" instead, or allow it with --insecure-remote.',
    );
  return { port: number, host, isQuiet };
}
