/** `culvert run`: starts a command with a tunnel to the port that it listens on. */
import { parsePort, PORT_RULE } from '../../../shared/value-rules.ts';
import { WAIT_MAX_SECONDS } from '../../client/config/tunnel-spec.ts';
import { type AnyLine, defineCommand } from '../command-line/command.ts';
import { readOption } from '../command-line/parse.ts';
import type { RunTunnel } from '../serve/child-command.ts';
import { completeLogin } from './login.ts';
import { HTTP_OPTIONS, limitHeap, readService, withPort } from './tunnel-options.ts';

export const runCommand = defineCommand({
  name: 'run',
  operands: {
    command: {
      shown: '[options] -- COMMAND…',
      count: 'some',
      missing: 'COMMAND is missing. Put it after --, as in "culvert run -- npm run dev".',
      absent: 'COMMAND is missing',
    },
  },
  summary: 'Start a command with a tunnel to its port',
  options: { Command: ['port'], ...HTTP_OPTIONS },
  meanings: {
    port: 'Port that the command listens on. Default: the port in its arguments, otherwise a free port.',
    name: "Name in the address. Default: the package's name and the branch, if your plan allows names and the name is free; otherwise a random name.",
    wait: `How many seconds (0 to ${WAIT_MAX_SECONDS}) requests wait if nothing is listening on the port, for example while the command starts. Default: ${WAIT_MAX_SECONDS}.`,
    json: 'Print one line of JSON on standard error when visitors can reach the tunnel.',
  },
  examples: {
    'culvert run -- npm run dev': 'start a development server with a public address',
    'culvert run --port 8000 -- python3 -m http.server 8000': 'start a server that listens on a fixed port',
    'culvert run --password -- npm run dev': 'protect the address with a generated password',
  },
  details: `
    Culvert opens the tunnel and then starts COMMAND. COMMAND finds the port to listen on in PORT, the public address in
    CULVERT_URL, and its host name in CULVERT_HOST.

    For frameworks that read other variables or options, Culvert sets those as well. Nuxt and Flask get the port in a variable.
    Vite, Astro, Angular, React Router, Storybook, webpack and Django get it as an argument, even if a simple script in
    package.json starts them. A port that the arguments already contain stays as it is. Vite, Astro, SvelteKit, Nuxt and
    Rails get the host name that they should accept in a variable, and webpack as an argument. Django, Storybook and
    Next.js in development get the Host header "localhost", as with --host-header local.

    COMMAND keeps the terminal. Culvert prints its own lines on standard error. When COMMAND ends, the tunnel closes. If
    the tunnel ends first, COMMAND continues. Culvert passes signals such as Ctrl-C on to COMMAND and to all processes that it
    has started, except SIGHUP when there is no terminal, so that nohup works. After SIGTERM or SIGHUP, COMMAND has 10
    seconds to end before it is killed.

    The exit code is the exit code of COMMAND, or 128 plus the number of the signal that ended it. If COMMAND cannot be
    started, the exit code is 127 or 126. If the tunnel cannot be opened, COMMAND is not started, and the exit code is
    the same as for "culvert http".`,
  sections: {
    'Line of --json': `{"event":"online","url":"https://…","port":3000,"tunnel":{…}}
    Contains "password" if --password generated one.
`,
  },
  read: (line) => readRun(line, line.operands.command),
  async run(given, context) {
    limitHeap();
    const complete = given.login === undefined ? given : await completeLogin(given, context);
    const { runWithTunnel } = await import('../serve/child-command.ts');
    return runWithTunnel(complete, context);
  },
});

/** @throws UsageError */
function readRun(line: AnyLine, command: readonly string[]): RunTunnel {
  const { values } = line;
  const port = values.port === undefined ? undefined : readPort(values.port);
  const given = readService(line, { host: 'localhost', https: false }, WAIT_MAX_SECONDS);
  if (port !== undefined) withPort(given, port);
  return { ...given, command, port, hasHostHeader: values['host-header'] !== undefined };
}

function readPort(text: string): number {
  readOption('port', text, { accepted: PORT_RULE.accepted, accepts: () => parsePort(text) !== undefined });
  return Number(text);
}
