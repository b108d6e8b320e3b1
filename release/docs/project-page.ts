/** Generates culvert-yml.md from the fields of `culvert.yml`, which mean the same as options of `culvert http`. */
import { startCommand } from '../../desktop/cli/tunnel-commands.ts';
import { OPTIONS, type OptionName } from '../../desktop/cli/options.ts';
import {
  CONFIG_FILE_MAX_BYTES,
  CONFIG_TUNNELS_MAX,
  LABEL_MAX_LENGTH,
} from '../../desktop/client/config/config-limits.ts';
import { ACCESS_FIELD_MESSAGES } from '../../desktop/client/config/project-access.ts';
import { TUNNEL_FIELD_RULES } from '../../desktop/client/config/project.ts';
import { textOf, toMessage } from '../../desktop/client/messages.ts';
import { code, codeBlock, markdownTable, pageStart, prose, sentence } from './page.ts';
import { readable } from './limits-page.ts';

const INTRODUCTION = `A \`culvert.yml\` lists the tunnels of a project. [\`culvert start\`](culvert.md#culvert-start) uses the nearest one, in the working directory
or above it, or the file given with \`--config\`. [Projects](../guides/projects.md) is a guide.`;

/** Fields whose meaning is not that of the option of `culvert http`. */
const OTHER_FIELDS: Readonly<Record<string, string>> = {
  auth: 'Admit visitors who log in with HTTP Basic.',
  password: 'Admit visitors who enter this password. `true` generates three words and shows them.',
  allow: 'Admit only visitors from these addresses and networks, such as 192.0.2.7 or 10.0.0.0/8.',
  tokens:
    'Admit programs that send one of these tokens as `Authorization: Bearer`. A name alone keeps its token, or the relay makes one and shows it once.',
  port: 'Local port. Every tunnel needs `port`, `share`, or `hosts` with `*`.',
  hosts:
    'Local ports for hosts of a wildcard tunnel, by the text before the two hyphens or the domain; `"*"` for all other hosts. Includes `wildcard`.',
  share:
    'Folder to share instead of a port. It must be inside the folder that contains the file. It cannot be combined with fields that apply to a port.',
};

/** @returns the whole page */
export function projectPage(): string {
  const rules = Object.entries(TUNNEL_FIELD_RULES).map(([name, { accepted }]) => [name, accepted] as const);
  const access = Object.entries(ACCESS_FIELD_MESSAGES).map(
    ([name, message]) => [name, textOf(toMessage(message)).replace(/^(?:it takes|must be) /, '')] as const,
  );
  return [
    pageStart('culvert.yml', 'desktop/client/config and desktop/cli/options.ts', INTRODUCTION),
    codeBlock('yaml', startCommand.sections?.['culvert.yml'] ?? ''),
    '## Fields\n',
    markdownTable(
      ['field', 'accepts', 'meaning'],
      [
        [
          code('relay'),
          'http:// or https://',
          'Address of the relay. Options and environment variables take precedence.',
        ],
        [
          code('tunnels'),
          `1 to ${CONFIG_TUNNELS_MAX} tunnels by label`,
          `A label has 1 to ${LABEL_MAX_LENGTH} letters, digits, hyphens and underscores.`,
        ],
      ],
    ),
    'Fields of a tunnel:\n',
    markdownTable(
      ['field', 'accepts', 'meaning'],
      [...rules, ...access].map(([name, accepted]) => [code(name), prose(accepted), meaningOf(name)]),
    ),
    `In \`auth\`, \`password\`, \`allow\` and the tokens of \`tokens\`, \`\${NAME}\` stands for the value of an environment variable, which must be set and not empty; \`$\${\`
stands for \`\${\`. All errors are reported together, each with its file, line and field. The file may have at most ${readable('CONFIG_FILE_MAX_BYTES', CONFIG_FILE_MAX_BYTES)} and must not contain a key.
`,
    SECURITY,
  ].join('\n');
}

/** The meaning of the option of the same name. */
function meaningOf(field: string): string {
  const option = field.replaceAll('_', '-');
  return OTHER_FIELDS[field] ?? sentence(prose(OPTIONS[option as OptionName].text));
}

const SECURITY = `## Files from other people

A \`culvert.yml\` makes ports of your machine reachable from the internet, so read it before you run \`culvert start\`. Some actions need your
consent, and others are never allowed:

| action                                | allowed only if                                                                                                     |
| ------------------------------------- | ------------------------------------------------------------------------------------------------------------------- |
| send your key to the relay it names   | \`CULVERT_RELAY\` or \`--relay\` names a relay, or it is the relay you logged in to                                     |
| be used even though a different user owns it | \`--config\` names it. Under \`sudo\`, files of the caller are accepted. On Windows, owners are not checked             |
| reach another machine (\`local_host\`)  | \`--allow-other-hosts\` is given                                                                                      |
| share a folder outside its own folder | never                                                                                                               |
| contain a key, a proxy or a certificate authority | never: there are no such fields                                                                                    |

Each violation is reported on one line that names the file and the field. The command exits with code 2 before it contacts the relay.
`;
