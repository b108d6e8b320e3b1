import { type Mutation, ui, unit } from '../mutation.ts';

export const PRELOAD: readonly Mutation[] = [
  {
    part: 'preload',
    notice: 'what the page asks for arrives without what it says: nobody can sign in',
    file: 'desktop/preload/preload.ts',
    find: 'ipcRenderer.invoke(channel, payload)',
    replace: 'ipcRenderer.invoke(channel)',
    tests: ui('signing in takes a relay and a key, and shows whose account it is'),
  },
  {
    part: 'preload',
    notice: 'what main pushes never arrives: tunnels seem to hang',
    file: 'desktop/preload/preload.ts',
    find: 'ipcRenderer.on(push, receive);',
    replace: '',
    tests: ui('signing in takes a relay and a key, and shows whose account it is'),
  },
  {
    part: 'preload',
    notice: 'nothing, at first: screens that were left go on listening',
    file: 'desktop/preload/preload.ts',
    find: 'return () => void ipcRenderer.off(push, receive);',
    replace: 'return () => undefined;',
    tests: unit(
      'the contract between page and main passes what main pushes to listeners, without the event, until they stop',
    ),
  },
  {
    part: 'preload',
    notice: 'nothing, until a page that was taken over asks for more than it may',
    file: 'desktop/preload/preload.ts',
    find: "if (!calls.has(channel)) return Promise.reject(new TypeError('no such channel'));",
    replace: '',
    tests: unit('the contract between page and main exposes every channel of the table and no other'),
  },
];
