import { type Mutation, protocol, unit } from '../mutation.ts';

const PATHS = 'desktop/share/shared-path.ts';
const HANDLER = 'desktop/share/folder-handler.ts';

export const SHARE: readonly Mutation[] = [
  {
    part: 'engine',
    notice: 'a link in a shared folder leads out of it',
    file: PATHS,
    find: 'if (!isWithin(root, path)) return undefined;',
    replace: '',
    tests: unit('shareFolder does not find /sub/outside', 'shareFolder does not find /sub/up/secret.txt'),
  },
  {
    part: 'engine',
    notice: 'a link in a shared folder leads to its .env',
    file: PATHS,
    find: 'below.split(sep).every((name) => isPublicName(name))',
    replace: "below.split(sep)[0] !== '..'",
    tests: unit('shareFolder does not find /sub/to-dot'),
  },
  {
    part: 'engine',
    notice: 'the .env of a shared folder is there for every visitor',
    file: PATHS,
    find: 'if (!names.every((name) => isPublicName(name))) return undefined;',
    replace: '',
    tests: unit('shareFolder does not find /.env', 'shareFolder does not find /sub/../digits.txt'),
  },
  {
    part: 'engine',
    notice: 'a pipe in a shared folder stops the command: it is read until somebody writes',
    file: PATHS,
    find: 'if (!found.isFile() && !found.isDirectory()) return undefined;',
    replace: '',
    tests: unit('shareFolder lists a folder without an index, escaped, with what visitors can open'),
  },
  {
    part: 'engine',
    notice: 'a file of a shared folder that is replaced by a link while it is looked at is followed out',
    file: PATHS,
    find: '(await realpath(path)) === path && isSameFile(stats, await lstat(path))',
    replace: 'path !== undefined',
    tests: unit('shareFolder opens a file only where nothing else has taken its place since it was found'),
  },
  {
    part: 'engine',
    notice: 'each visit to a shared file leaves it open, until the system has no more',
    file: HANDLER,
    find: "response.on('close', () => void opened.file.close());",
    replace: '',
    tests: protocol('culvert share keeps no file open that it has sent, or has not'),
  },
  {
    part: 'engine',
    notice: 'whoever uses the machine reads a shared folder past its password',
    file: HANDLER,
    find: 'if (request.headers.host !== host) return refuse(response, 403);',
    replace: '',
    tests: unit('shareFolder takes requests through the tunnel only'),
  },
  {
    part: 'engine',
    notice: 'a folder with a million files holds the command up, and its page never comes',
    file: 'desktop/share/listing.ts',
    find: 'if (looked > SHARE_LISTED_MAX) return { entries: sorted(entries), isComplete: false };',
    replace: '',
    tests: unit('shareFolder lists 1,000 names at most, and says that there are more'),
  },
  {
    part: 'engine',
    notice: 'the name of a shared file runs as a script in the list',
    file: 'desktop/share/listing.ts',
    find: '<bdi>${escapeHtml(name)}</bdi>',
    replace: '<bdi>${name}</bdi>',
    tests: unit('shareFolder lists a folder without an index, escaped, with what visitors can open'),
  },
  {
    part: 'engine',
    notice: "somebody else's culvert.yml shares the home folder through a link",
    file: 'desktop/config/project-folders.ts',
    find: "if (!isAbsolute(below) && below.split(sep)[0] !== '..') return found;",
    replace: 'if (below !== undefined) return found;',
    tests: unit(
      'the folder of a tunnel in culvert.yml is within the folder of the file, wherever links lead',
    ),
  },
];
