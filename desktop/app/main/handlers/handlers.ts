/** What the page may ask main to do. */
import { isWebAddress } from '../../../../shared/fields.ts';
import type { Tunnel } from '../../../../shared/tunnel.ts';
import { REDACTED } from '../../../../shared/version.ts';
import type { LocalService } from '../../../client/diagnostics/hop.ts';
import type { Snapshot } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import type { Collections } from '../collections/collections.ts';
import type { Diagnostics } from '../diagnostics.ts';
import type { Domains } from '../domains.ts';
import type { Drops } from '../drops.ts';
import { CallFailure } from '../failure.ts';
import type { Platform } from '../platform.ts';
import type { Projects } from '../projects.ts';
import { editView, sendEdited } from '../requests/edit.ts';
import { exportHar, importFile, importInto } from '../requests/transfer.ts';
import { type Invitations, leave } from '../session/invitations.ts';
import type { SignIn } from '../session/sign-in.ts';
import type { AppStore } from '../settings/app-store.ts';
import type { Signatures } from '../signing/signatures.ts';
import type { SigningSecrets } from '../signing/signing-secrets.ts';
import type { Feed } from '../snapshot.ts';
import { detailView } from '../tunnel-view.ts';
import { accessOf } from '../tunnels/access.ts';
import type { Approvals } from '../tunnels/approvals.ts';
import { localTarget } from '../tunnels/folder-service.ts';
import { type OtherTunnels, shareText } from '../tunnels/other-tunnels.ts';
import type { TunnelItem } from '../tunnels/tunnel-item.ts';
import type { TunnelList } from '../tunnels/tunnel-list.ts';
import type { UndoList } from '../undo-list.ts';
import type { Handlers } from './handle.ts';
import { changeSettings, folderHandlers, setHandlers, signatureHandlers } from './more-handlers.ts';

export interface HandlersOptions {
  readonly platform: Pick<
    Platform,
    | 'copy'
    | 'chooseFileToWrite'
    | 'chooseFolder'
    | 'chooseHarToRead'
    | 'open'
    | 'autostart'
    | 'setTheme'
    | 'preferredLanguages'
    | 'summonKey'
    | 'about'
    | 'links'
  >;
  readonly signIn: SignIn;
  readonly invitations: Invitations;
  readonly desk: TunnelList;
  readonly others: OtherTunnels;
  readonly checkup: Diagnostics;
  readonly admission: Approvals;
  readonly domains: Domains;
  readonly drops: Drops;
  readonly projects: Projects;
  readonly signatures: Signatures;
  readonly secrets: SigningSecrets;
  readonly sets: Collections;
  /** Makes up a password. */
  readonly inventPassword: () => string;
  readonly store: AppStore;
  readonly undos: UndoList;
  /** The app speaks another language. */
  readonly onLocale: () => void;
  readonly feed: Feed<Snapshot>;
  /** Connects now what waits for its next attempt. */
  readonly wake: () => void;
  /** The user wants the downloaded version, now. */
  readonly update: () => void;
  /** The user wants the app to quit. */
  readonly quit: () => void;
}

export function createHandlers({
  platform,
  signIn,
  invitations,
  desk,
  others,
  checkup,
  admission,
  domains,
  drops,
  projects,
  signatures,
  secrets,
  sets,
  inventPassword,
  store,
  undos,
  feed,
  onLocale,
  wake,
  update,
  quit,
}: HandlersOptions): Handlers {
  const tunnelOf = (key: string): Tunnel => others.find(key) ?? desk.find(key).tunnel;
  return {
    'snapshot:get': () => feed.make(),
    'session:sign-in': async (form) => {
      void undos.commitAll();
      try {
        await signIn.signIn(form);
      } finally {
        // The form is disabled while somebody is being signed in: it must learn that this is over before it gets the result.
        feed.flush();
      }
      return undefined;
    },
    'session:cancel': () => {
      signIn.cancel();
      return undefined;
    },
    'session:sign-out': async () => {
      await leave((closed) => t('undo.signedOut', { closed }), { signIn, desk, secrets, undos });
      return undefined;
    },
    'invitation:open': async ({ address }) => {
      await invitations.open(address);
      return undefined;
    },
    'invitation:accept': async ({ id, keep }) => {
      try {
        await invitations.accept(id, keep);
      } finally {
        // The question goes before its button can be pressed again.
        feed.flush();
      }
      return undefined;
    },
    'invitation:dismiss': ({ id }) => {
      invitations.dismiss(id);
      return undefined;
    },
    'tunnel:create': async ({ lock, ...form }) => ({ key: (await desk.create(form, accessOf(lock))).key }),
    ...folderHandlers({ drops, projects, platform, store, flush: () => feed.flush() }),
    'tunnel:stop': async ({ key }) => {
      const other = others.find(key);
      if (other === undefined) await desk.stop(key);
      else others.stop(other);
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
      await (others.find(key) === undefined ? desk : others).extend(key, ttl);
      return undefined;
    },
    'tunnel:copy-url': async ({ key }) => {
      await platform.copy(tunnelOf(key).public_url);
      return undefined;
    },
    'tunnel:open-url': async ({ key }) => {
      await platform.open(webAddress(tunnelOf(key).public_url));
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
    'domain:list': () => domains.list(),
    'domain:add': ({ domain }) => domains.add(domain),
    'domain:check': ({ id }) => domains.check(id),
    'domain:remove': async ({ id }) => {
      await domains.remove(id);
      return undefined;
    },
    'text:copy': async ({ text }) => {
      await platform.copy(text);
      return undefined;
    },
    'knock:admitted': ({ key }) => admission.listApproved(key),
    'knock:admit': async ({ key, id, ttl }) => {
      await admission.approve(key, id, ttl);
      return undefined;
    },
    'knock:refuse': async ({ key, id }) => {
      await admission.refuse(key, id);
      return undefined;
    },
    'log:changes': ({ key, since }) => {
      const tunnel = desk.find(key);
      const changes = tunnel.log.update(since);
      return { ...changes, requests: signatures.checked(tunnel, changes.requests) };
    },
    'log:view': async ({ key, ...view }) => {
      await desk.viewLog(key, view);
      return undefined;
    },
    'log:detail': ({ key, id, reveal }) =>
      detailView(desk.find(key).log.detail(id, reveal) ?? noSuchRequest()),
    'log:copy-curl': async ({ key, id, reveal }) => {
      const { log, tunnel } = desk.find(key);
      const command = log.curl(id, tunnel.public_url, reveal) ?? noSuchRequest();
      await platform.copy(command);
      return { hidesSecrets: command.includes(REDACTED) };
    },
    'log:export': ({ key, ids, reveal }) => exportHar(desk.find(key), ids, reveal, platform),
    'import:text': ({ key, text }) => importInto(desk.find(key), text),
    'import:file': ({ key }) => importFile(desk.find(key), platform),
    'log:replay': async ({ key, id }) => ({ id: await desk.find(key).log.replay(id) }),
    'bench:open': ({ key, id }) => {
      const tunnel = desk.find(key);
      return editView(tunnel.log.detail(id, false) ?? noSuchRequest(), signatures.look(tunnel, id));
    },
    'bench:send': ({ key, id, edit }) => sendEdited(desk.find(key), id, edit, signatures),
    'log:clear': ({ key }) => {
      const { log, tunnel } = desk.find(key);
      const hidden = log.hide();
      undos.offer({
        text: t('undo.logCleared', { slug: tunnel.slug }),
        undo: () => Promise.resolve(hidden.show()),
        commit: () => Promise.resolve(hidden.forget()),
      });
      return undefined;
    },
    ...setHandlers(desk, sets, signatures),
    ...signatureHandlers(desk, signatures, secrets, feed),
    'relay:try': () => {
      wake();
      return undefined;
    },
    'checkup:start': ({ key }) => {
      checkup.start(key === undefined ? undefined : failing(desk.find(key)));
      return undefined;
    },
    'checkup:stop': () => {
      checkup.stop();
      return undefined;
    },
    'undo:take': async ({ id }) => {
      await undos.undo(id);
      feed.changed();
      // What was taken back is shown before anything is said about it.
      feed.flush();
      return undefined;
    },
    'settings:change': async (change) => {
      await changeSettings(change, store, platform);
      feed.changed();
      if (change.language !== undefined) onLocale();
      return undefined;
    },
    'app:about': () => platform.about,
    'app:open-link': async ({ link }) => {
      await platform.open(platform.links[link]);
      return undefined;
    },
    'app:update': () => {
      update();
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
    text: t('problem.notWebAddress'),
  });
}

/** What a check of its way needs to know of a tunnel. */
function failing({ tunnel, form }: TunnelItem): { slug: string; local: LocalService } {
  const { folder } = form;
  return { slug: tunnel.slug, local: folder === undefined ? localTarget(form) : { folder } };
}

function noSuchRequest(): never {
  throw new CallFailure({
    code: 'no-such-request',
    text: t('problem.requestGone'),
  });
}
