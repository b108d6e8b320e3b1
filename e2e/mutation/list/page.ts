import { type Mutation, visitors } from '../mutation.ts';

/** What a visitor sees where a site cannot answer. */
export const PAGE: readonly Mutation[] = [
  {
    part: 'page',
    notice: 'error pages are bright in a dark browser',
    file: 'shared/page.ts',
    find: '@media(prefers-color-scheme:dark)',
    replace: '@media(prefers-color-scheme:none)',
    tests: visitors(
      'error pages in a browser 503 tunnel-offline: readable in every view, alone, without a script',
    ),
  },
  {
    part: 'page',
    notice: 'a visitor is told a wrong port with nobody behind it',
    file: 'desktop/engine/local/local-error.ts',
    find: 'The port is ${port}.',
    replace: 'The port is ${port + 1}.',
    tests: visitors(
      'error pages in a browser 502 local-refused: readable in every view, alone, without a script',
    ),
  },
  {
    part: 'page',
    notice: 'links and forms lead out of a site at its path address',
    file: 'server/edge/heads/path-form.ts',
    find: 'return prefix + path;',
    replace: 'return path;',
    tests: visitors(
      'a site in a browser works at its path: styles, scripts, pictures, data, WebSocket, forms, redirects, cookies',
    ),
  },
];
