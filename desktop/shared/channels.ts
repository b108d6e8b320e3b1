/** The names of the channels at run time, for the preload, which exposes these and no others. */
import type { Channels, Pushes } from './ipc.ts';

const CALLS: Record<keyof Channels, true> = {
  'snapshot:get': true,
  'session:sign-in': true,
  'session:sign-out': true,
  'tunnel:create': true,
  'tunnel:stop': true,
  'tunnel:start': true,
  'tunnel:forget': true,
  'tunnel:extend': true,
  'tunnel:copy-url': true,
  'tunnel:open-url': true,
  'tunnel:copy-share': true,
  'lock:invent': true,
  'lock:set': true,
  'link:create': true,
  'link:list': true,
  'link:revoke': true,
  'knock:admitted': true,
  'knock:admit': true,
  'knock:refuse': true,
  'log:list': true,
  'log:detail': true,
  'log:copy-curl': true,
  'log:replay': true,
  'log:clear': true,
  'settings:change': true,
  'app:about': true,
  'app:open-link': true,
  'app:quit': true,
};

const PUSHES: Record<keyof Pushes, true> = {
  'snapshot:changed': true,
  'form:open': true,
  'tunnel:show': true,
};

export const CALL_NAMES = Object.keys(CALLS) as readonly (keyof Channels)[];
export const PUSH_NAMES = Object.keys(PUSHES) as readonly (keyof Pushes)[];
