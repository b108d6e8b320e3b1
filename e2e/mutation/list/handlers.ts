import { type Mutation, ui, unit } from '../mutation.ts';

export const HANDLERS: readonly Mutation[] = [
  {
    part: 'handlers',
    notice: 'Copy puts the local address on the clipboard',
    file: 'desktop/main/handlers/handlers.ts',
    find: 'platform.copy(tunnelOf(key).public_url);',
    replace: 'platform.copy(`http://localhost:${desk.find(key).form.port}`);',
    tests: ui(
      'the main job without a mouse signs in, exposes a port, copies the address, extends, stops, starts, removes, changes a setting',
    ),
  },
  {
    part: 'handlers',
    notice: 'Clear leaves the request log as it is',
    file: 'desktop/main/handlers/handlers.ts',
    find: 'const hidden = log.hide();',
    replace: 'const hidden = { show() {}, forget() {} };',
    tests: ui('the request log can be emptied'),
  },
  {
    part: 'handlers',
    notice: 'nothing, until a frame of somebody else gives the app orders',
    file: 'desktop/main/handlers/handle.ts',
    find: 'if (!isPage) return',
    replace: 'if (!isPage && payload === null) return',
    tests: unit('the contract between page and main tunnel:create refuses a foreign sender'),
  },
  {
    part: 'handlers',
    notice: 'nothing, until a page that was taken over sends what no handler expects',
    file: 'desktop/main/handlers/handle.ts',
    find: 'await fn(schema.validateSync(payload))',
    replace: "await fn(payload as Channels[C]['payload'])",
    tests: unit('the contract between page and main tunnel:create refuses a bad payload'),
  },
  {
    part: 'handlers',
    notice: 'that a name is taken is said at the port',
    file: 'desktop/main/failure.ts',
    find: "code: 'name-taken',\n        field: 'name',",
    replace: "code: 'name-taken',\n        field: 'port',",
    tests: ui('creating a tunnel exposes a port under a name, and says at the field that it is taken'),
  },
  {
    part: 'handlers',
    notice: 'after too many new tunnels nobody says when to try again',
    file: 'desktop/main/failure.ts',
    find: "text: t('problem.rateLimit', { seconds: waitSeconds(retryAfterMs) }),",
    replace: "text: t('problem.wrong'),",
    tests: ui('creating a tunnel says when the relay takes no more creates'),
  },
  {
    part: 'handlers',
    notice: 'the theme that was chosen stops at the edge of the window: menus and dialogs keep theirs',
    file: 'desktop/main/handlers/settings.ts',
    find: 'if (change.theme !== undefined) setTheme(change.theme);',
    replace: '',
    tests: ui('settings take effect at once, and stay after the next start'),
  },
];
