/** What the page may ask main to do. */
import { isWebAddress } from '../../engine/relay/web-address.ts';
import type { Snapshot } from '../../shared/snapshot.ts';
import { CallFailure } from '../failure.ts';
import type { Platform } from '../platform.ts';
import type { SignIn } from '../session/sign-in.ts';
import type { AppStore } from '../settings/app-store.ts';
import type { Feed } from '../snapshot/feed.ts';
import type { Admission } from '../tunnels/admission.ts';
import type { TunnelDesk } from '../tunnels/tunnel-desk.ts';
import { shareText } from '../tunnels/share-text.ts';
import { searchRequests } from '../tunnels/tunnel-log.ts';
import type { Handlers } from './handle.ts';
import { changeSettings } from './settings.ts';

export interface HandlersOptions {
  readonly platform: Pick<Platform, 'copy' | 'open' | 'autostart' | 'setTheme' | 'about' | 'links'>;
  readonly signIn: SignIn;
  readonly desk: TunnelDesk;
  readonly admission: Admission;
  /** Makes up a password. */
  readonly inventPassword: () => string;
  readonly store: AppStore;
  readonly feed: Feed<Snapshot>;
  /** The user wants the app to quit. */
  readonly quit: () => void;
}

export function createHandlers({
  platform,
  signIn,
  desk,
  admission,
  inventPassword,
  store,
  feed,
  quit,
}: HandlersOptions): Handlers {
  return {
    'snapshot:get': () => feed.make(),
    'session:sign-in': async (form) => {
      try {
        await signIn.signIn(form);
      } finally {
        // The form is disabled while somebody is being signed in: it must learn that this is over before it gets the result.
        feed.flush();
      }
      return undefined;
    },
    'session:sign-out': async () => {
      await desk.closeAll('You signed out.');
      await desk.clear();
      await signIn.signOut();
      return undefined;
    },
    'tunnel:create': async (form) => ({ key: (await desk.create(form)).key }),
    'tunnel:stop': async ({ key }) => {
      await desk.stop(key);
      return undefined;
    },
    'tunnel:start': async ({ key }) => {
      await desk.start(key);
      return undefined;
    },
    'tunnel:forget': async ({ key }) => {
      await desk.forget(key);
      return undefined;
    },
    'tunnel:extend': async ({ key, ttl }) => {
      await desk.extend(key, ttl);
      return undefined;
    },
    'tunnel:copy-url': async ({ key }) => {
      await platform.copy(desk.find(key).tunnel.public_url);
      return undefined;
    },
    'tunnel:open-url': async ({ key }) => {
      await platform.open(webAddress(desk.find(key).tunnel.public_url));
      return undefined;
    },
    'tunnel:copy-share': async ({ key }) => {
      await platform.copy(shareText(desk.find(key)));
      return undefined;
    },
    'lock:invent': () => ({ password: inventPassword() }),
    'lock:set': async ({ key, lock }) => {
      await desk.setLock(key, lock);
      // What is said about it afterwards is about what is shown.
      feed.flush();
      return undefined;
    },
    'link:create': ({ key, ...request }) => admission.createLink(key, request),
    'link:list': ({ key }) => admission.listLinks(key),
    'link:revoke': async ({ key, id }) => {
      await admission.revokeLink(key, id);
      return undefined;
    },
    'knock:admitted': ({ key }) => admission.listAdmitted(key),
    'knock:admit': async ({ key, id, ttl }) => {
      await admission.admit(key, id, ttl);
      return undefined;
    },
    'knock:refuse': async ({ key, id }) => {
      await admission.refuse(key, id);
      return undefined;
    },
    'log:list': ({ key, search }) => searchRequests(desk.find(key).log.list(), search),
    'log:detail': ({ key, id }) => desk.find(key).log.detail(id) ?? noSuchRequest(),
    'log:copy-curl': async ({ key, id }) => {
      const { log, tunnel } = desk.find(key);
      await platform.copy(log.curl(id, tunnel.public_url) ?? noSuchRequest());
      return undefined;
    },
    'log:replay': async ({ key, id }) => ({ id: await desk.find(key).log.replay(id) }),
    'log:clear': ({ key }) => {
      desk.find(key).log.clear();
      feed.changed();
      return undefined;
    },
    'settings:change': async (change) => {
      await changeSettings(change, store, platform);
      feed.changed();
      return undefined;
    },
    'app:about': () => platform.about,
    'app:open-link': async ({ link }) => {
      await platform.open(platform.links[link]);
      return undefined;
    },
    'app:quit': () => {
      quit();
      return undefined;
    },
  };
}

/** The address comes from the relay, which must not make this machine start anything but a browser. */
function webAddress(text: string): string {
  if (isWebAddress(text)) return text;
  throw new CallFailure({
    code: 'bad-address',
    text: 'The relay gave an address that is not a web address.',
  });
}

function noSuchRequest(): never {
  throw new CallFailure({ code: 'no-such-request', text: 'This request is no longer in the log.' });
}
