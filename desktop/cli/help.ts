/** The text of `culvert help`. */
import { COMMAND_NAMES, COMMANDS, type CommandName, OPTIONS, type OptionName } from './options.ts';

/** Columns up to the explanations. */
const INDENT = 28;
const WIDTH = 100;

/** @param topic the command to explain; without it, a summary of all */
export function helpText(topic: CommandName | undefined): string {
  return topic === undefined ? overview() : commandHelp(topic);
}

function overview(): string {
  const commands = COMMAND_NAMES.map((name) => row(usage(name), COMMANDS[name].summary));
  return `culvert: puts a local port on the internet through a Culvert relay

Usage:
${commands.join('')}${row('culvert help COMMAND', 'explain a command, its options and what it prints')}
Options of most commands; they override the environment, which overrides what login has stored:
${optionRows(['relay', 'key', 'json', 'help', 'version'])}
Files:
${row('  culvert.yml', 'tunnels of a project, see "culvert help start"')}${row('  login.json', 'the relay and the key that login has stored, in ~/.config/culvert (XDG_CONFIG_HOME), ~/Library/Application Support/Culvert or %APPDATA%\\Culvert')}
${EXIT_CODES}`;
}

function commandHelp(name: CommandName): string {
  const { summary, options } = COMMANDS[name];
  const details = DETAILS[name];
  return (
    `${usage(name)}: ${summary}\n\nOptions:\n${optionRows([...options, 'help'])}` +
    (details === undefined ? '' : `\n${details}`)
  );
}

function usage(name: CommandName): string {
  return `culvert ${name} ${COMMANDS[name].operands}`.trimEnd();
}

function optionRows(names: readonly OptionName[]): string {
  return names
    .map((name) => {
      const { short, value, text } = OPTIONS[name];
      const long = `--${name}${value === undefined ? '' : ` ${value}`}`;
      return row(short === undefined ? `  ${long}` : `  -${short}, ${long}`, text);
    })
    .join('');
}

/** A word and its explanation beside it, wrapped. */
function row(word: string, text: string): string {
  const lines = [''];
  for (const part of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && INDENT + line.length + 1 + part.length > WIDTH) lines.push(part);
    else lines[lines.length - 1] = line === '' ? part : `${line} ${part}`;
  }
  const head = word.length < INDENT ? word.padEnd(INDENT) : `${word}\n${' '.repeat(INDENT)}`;
  return `${head}${lines.join(`\n${' '.repeat(INDENT)}`)}\n`;
}

const EXIT_CODES = `Exit codes:
  0 ended by Ctrl-C, or done   1 failed   2 wrong usage   3 API key refused
  4 tunnel closed or expired   5 taken over by another client
`;

const EVENTS = `Events of --json, one per line:
  {"event":"online","tunnel":{…}}    visitors reach the port; the first event, and again after reconnecting;
    with "password" where --password has made one up
  {"event":"reconnecting","attempt":1,"retry_in_ms":250,"message":"…"}
  {"event":"problem","code":"local-refused","message":"…"}    one visitor could not be served, the tunnel stays
    codes: local-refused local-reset local-slow host-blocked visitor-gone data-refused data-failed
           too-many-connections
  {"event":"knock","tunnel":"ID","id":"KNOCK","address":"…","agent":"…","at":"…"}    a visitor waits to be let in:
    "culvert knock ID KNOCK --admit" or --refuse answers, within 5 minutes
  {"event":"expiring","in_seconds":600,"expires_at":"…"}    10 and 2 minutes before the end: "culvert extend ID" extends
  {"event":"offline","reason":"stopped","message":"…"}    always the last event
    reasons: stopped closed expired gone replaced key-refused refused failed
`;

const DETAILS: Readonly<Partial<Record<CommandName, string>>> = {
  http: `Who may come in: everybody, unless one of --auth, --password, --links and --knock is given; then visitors need one of
those that are. --allow is needed besides. On a terminal, a admits who knocks and x refuses; ? shows all keys.

${EVENTS}
${EXIT_CODES}`,
  share: `Visitors get index.html of a folder, or a list of what is in it. Names that begin with a dot are not there for them, nor
are culvert.yml and links that lead out of the folder. Nothing can be changed. Who may come in, and what is printed, is as with "culvert http".

${EXIT_CODES}`,
  access: `Without --auth, --password, --allow, --links, --knock and --open it shows who may come in. With them, it replaces all that was
said before, within a second; visitors have to pass again, and those in WebSockets who do not are cut.
`,
  link: `Links let visitors in where --links is set. They are good for --ttl (24h), until the tunnel ends, or until they are revoked.
`,
  domain: `"add" prints two records: one leads the domain to the relay, the other proves that it is yours. Enter them where its DNS is
kept, then "verify" has the relay look at them, and says what is missing (exit code 1). --domain gives a tunnel the domain.
The relay looks again each day, and lets go of a domain whose records were wrong for 7 days. "remove" ends its tunnel.
`,
  start: `culvert.yml:
  relay: https://relay.example.com   # optional; never a key, which "culvert login" keeps
  tunnels:
    web:                 # a name for this file, 1-32 letters, digits, hyphens and underscores
      port: 3000         # the only field a tunnel needs; or, in its place,
                         # share: ./public   for the files of a folder, as "culvert share"
      name: my-app       # as --name of "culvert http"
      domain: app.example.com   # of yours, see "culvert help domain"
      ttl: 4h
      idle: true
      host_header: local
      local_host: 192.0.2.7   # another machine: needs --allow-other-hosts
      local_https: true
      wait: 10           # seconds
      auth: "ann:\${ANN_PASSWORD}"   # or a list; who may come in is as in the options of "culvert http",
      password: \${DOOR}  # and may name variables of the environment; true: three words that are made up
      allow: [10.0.0.0/8, 192.0.2.7]
      links: true
      knock: true

The relay of a culvert.yml gets the key of CULVERT_API_KEY or --key only if you name that relay, too (CULVERT_RELAY,
--relay, login). Another user's culvert.yml is used only if --config names it.

Events of --json are those of "culvert http", each with "name", what culvert.yml calls the tunnel; every
tunnel has its own "offline" event. Tunnels are opened one after the other, and wait if the relay limits how
many may be created per minute. When one ends, the others keep running.

Exit codes are those of "culvert http". When tunnels end differently, the worst code counts: 3, 1, 5, 4, 0.
`,
  login: `Asks for the relay, unless it is given, and for the key, which is not shown. Without a terminal it reads the key
from the first line of standard input. A key is kept for its relay and sent to no other.

ADDRESS is an invitation (https://relay.example.com/invite/…), which brings the key: nothing is asked, and it is good once. Whoever runs
the relay sees the key under the name of this machine. The address of a relay stands for --relay.
`,
  inspect: `"edit" opens request N in $VISUAL or $EDITOR and sends it to the local port once that is saved and closed; --method, --path,
--header and --body change it without one. Host, Content-Length and what concerns the connection are written by culvert.
[redacted] stands for the secret that was there, also where the request is edited.

"export" writes a HAR with the requests that are named, or all of them (--filter chooses), to standard output. "import" reads
FILE, or standard input: a HAR, or a curl command as browsers copy it. It goes into the list and is not sent: "replay" does.
Files that a curl command names are not read, and nothing in it is run.
`,
  completion: `  bash        source <(culvert completion bash)            in ~/.bashrc
  zsh         source <(culvert completion zsh)             in ~/.zshrc, after compinit
  fish        culvert completion fish | source             in ~/.config/fish/config.fish
  powershell  culvert completion powershell | Out-String | Invoke-Expression    in $PROFILE
`,
  man: `  culvert man | man -l -
`,
  logout: `The key stays valid: "culvert-relay key revoke" revokes it.
`,
};
