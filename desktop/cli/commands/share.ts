/** `culvert share`: opens a tunnel to a folder, and serves it until it ends. */
import { SPEC_DEFAULTS } from '../../client/config/tunnel-spec.ts';
import { readAccessOptions } from '../command-line/access-options.ts';
import { defineCommand } from '../command-line/command.ts';
import { ACCESS_POLICY, COMMON, HEADERS, REQUESTS, WHEN_ONLINE } from '../command-line/options.ts';
import { readAccessOrLogin } from './login.ts';
import { ADDRESS, ofAnyTunnel, onceOnline, serve } from './tunnel-options.ts';

export const shareCommand = defineCommand({
  name: 'share',
  operands: {
    folder: {
      shown: 'FOLDER',
      isFolder: true,
      missing: 'FOLDER is missing. Specify the folder to share.',
    },
  },
  summary: "Share a folder's files through a tunnel, read-only",
  options: {
    Address: ADDRESS,
    Files: ['compress'],
    Headers: HEADERS,
    Access: ACCESS_POLICY,
    'When online': WHEN_ONLINE,
    Requests: REQUESTS,
    ...COMMON,
  },
  examples: {
    'culvert share .': 'share this folder',
    'culvert share ./public --name preview --password':
      'share a folder under a chosen name, with a generated password',
  },
  details: `
    The command shares the folder until you press Ctrl-C. For each folder, visitors see its index.html or a list of
    its files. They cannot change anything. Files and folders whose names begin with a dot, culvert.yml, and links that point outside the folder are hidden from visitors.

    Access options, events and exit codes are the same as for "culvert http".`,
  read(line) {
    const { folder } = line.operands;
    const wanted = readAccessOptions(line.values);
    const { madePassword } = wanted;
    const tunnel = { ...SPEC_DEFAULTS, ...ofAnyTunnel(line), target: { folder }, madePassword };
    const access = readAccessOrLogin(line.accessSources());
    return { tunnel, wanted, onceOnline: onceOnline(line.values), ui: line.values.ui ?? false, ...access };
  },
  run: serve,
});
