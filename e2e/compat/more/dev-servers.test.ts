/** Further dev servers (docs/guides/frameworks.md). */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { testFramework, VITE_SCRIPT } from '../project.ts';

interface Server {
  readonly command: string;
  readonly path?: string;
  readonly frame?: string;
  readonly change: string;
  readonly ready: string;
  readonly setting: string;
  /** `$VITE_SCRIPT` stands for {@link VITE_SCRIPT} */
  readonly files: Readonly<Record<string, string>>;
}

const SERVERS = parse(readFileSync(new URL('dev-servers.yml', import.meta.url), 'utf8')) as Record<
  string,
  Server
>;

for (const [name, { command, ready, setting, files, ...more }] of Object.entries(SERVERS))
  testFramework({
    ...more,
    name,
    apps: 'more',
    command: command.split(' '),
    ready: new RegExp(ready),
    setting: new RegExp(setting),
    files: Object.fromEntries(
      Object.entries(files).map(([path, text]) => [path, text === '$VITE_SCRIPT' ? VITE_SCRIPT : text]),
    ),
  });
