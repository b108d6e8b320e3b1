/**
 * What the page may ask main to do: one row for each channel. Main registers the rows (electron/main-window.ts), the build
 * gives the preload their names (desktop/build/build.ts), and the page calls them with types derived from them
 * (renderer/bridge.ts).
 */
import * as yup from 'yup';
import { readDomain } from '../../../../shared/domains.ts';
import { isWebAddress } from '../../../../shared/fields.ts';
import { LINK_NOTE_MAX_LENGTH } from '../../../../shared/links.ts';
import type { Tunnel } from '../../../../shared/tunnel.ts';
import { hasUnprintable } from '../../../../shared/unprintable.ts';
import { REDACTED } from '../../../../shared/version.ts';
import type { LocalService } from '../../../client/diagnostics/hop.ts';
import { WEBHOOK_PROVIDER_IDS } from '../../../client/inspector/records.ts';
import { SEARCH_MAX_CHARS, CONFIG_TUNNELS_MAX, LABEL_MAX_LENGTH } from '../../../client/limits.ts';
import { DROPPED_PATHS_MAX } from '../../ipc/ipc.ts';
import type { Settings } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import { type Core, followLanguage } from '../core.ts';
import { CallFailure } from '../failure.ts';
import {
  COPIED_TEXT_MAX_CHARS,
  DOMAIN_TEXT_MAX_CHARS,
  IMPORT_TEXT_MAX_CHARS,
  INVITATION_MAX_CHARS,
  KEY_MAX_CHARS,
  LOG_PART_NAME_MAX_CHARS,
  LOG_REQUESTS_MAX,
  MEMBER_LABEL_MAX_CHARS,
  PATH_MAX_CHARS,
  RELAY_MAX_CHARS,
  SIGNING_SECRET_ID_MAX_CHARS,
  SIGNING_SECRET_MAX_CHARS,
  TUNNEL_KEY_MAX_CHARS,
} from '../limits.ts';
import { editView, exportHar, importFile, importInto, sendEdited } from '../requests.ts';
import { leave } from '../session/invitations.ts';
import { settingsSchema } from '../settings/app-store.ts';
import { detailView } from '../tunnel-view.ts';
import { accessOf } from '../tunnels/access.ts';
import { accessSchema, createFormSchema, settingsOf, tokenName } from '../tunnels/create-form-schema.ts';
import { shareText } from '../tunnels/other-tunnels.ts';
import type { TunnelItem } from '../tunnels/tunnel-item.ts';
import {
  channel,
  type Channel,
  type ChannelsOf,
  count,
  editForm,
  exact,
  keyKept,
  lifetime,
  nothing,
  ownId,
  relayId,
  requestId,
  requestRef,
  shownRequest,
  tunnelKey,
  tunnelRef,
} from './channel.ts';

const tokenRef = exact({ key: tunnelKey, name: tokenName() });

const ROWS = {
  'snapshot:get': channel(nothing, (_, { snapshots }) => snapshots.make()),

  'session:sign-in': channel(
    exact({
      relay: yup
        .string()
        .max(RELAY_MAX_CHARS)
        .required(() => t('problem.giveRelay')),
      key: yup
        .string()
        .max(KEY_MAX_CHARS)
        .required(() => t('problem.giveKey')),
      keep: keyKept,
    }),
    async (form, core) => {
      void core.undos.commitAll();
      // The form is disabled during the sign-in: the page learns that it is over before it gets the result.
      await thenFlush(core, core.signIn.signIn(form));
    },
  ),
  /** gives up signing in */
  'session:cancel': channel(nothing, (_, { signIn }) => signIn.cancel()),
  'session:sign-out': channel(nothing, (_, core) => leave((closed) => t('undo.signedOut', { closed }), core)),

  /** shows an invitation that was pasted, and accepts nothing */
  'invitation:open': channel(
    exact({ address: yup.string().max(INVITATION_MAX_CHARS).required() }),
    ({ address }, { invitations }) => invitations.open(address),
  ),
  /** accepts the invitation that is shown, and signs in */
  'invitation:accept': channel(exact({ id: ownId, keep: keyKept }), ({ id, keep }, core) =>
    // The question goes before its button can be pressed again.
    thenFlush(core, core.invitations.accept(id, keep)),
  ),
  'invitation:dismiss': channel(exact({ id: ownId }), ({ id }, { invitations }) => invitations.dismiss(id)),

  /** shows what was dropped on the window, and shares nothing. Only the preload sends this */
  'folder:drop': channel(
    exact({ paths: yup.array(yup.string().defined().max(PATH_MAX_CHARS)).max(DROPPED_PATHS_MAX).required() }),
    ({ paths }, { drops }) => drops.show(paths),
  ),
  /** shares the folder that is shown */
  'folder:share': channel(exact({ id: ownId }), async ({ id }, core) => ({
    // The question goes before its button can be pressed again.
    key: await thenFlush(core, core.drops.share(id)),
  })),
  'folder:dismiss': channel(exact({ id: ownId }), ({ id }, { drops }) => drops.dismiss(id)),
  /** asks the user for a folder, and shows it as if it was dropped */
  'folder:choose': channel(nothing, (_, { askForFolder, drops }) =>
    askForFolder((folder) => drops.show([folder])),
  ),

  /** asks the user for the folder of a project, and shows what its `culvert.yml` has; starts nothing */
  'project:choose': channel(nothing, (_, { askForFolder, projects }) =>
    askForFolder((folder) => projects.open(folder)),
  ),
  /** as above, for the dropped folder on show, which the project replaces */
  'project:open': channel(exact({ id: ownId }), async ({ id }, { projects, drops, snapshots }) => {
    await projects.open(drops.take(id));
    snapshots.flush();
  }),
  /** the same for one of the projects that were opened last */
  'project:reopen': channel(
    exact({ folder: yup.string().max(PATH_MAX_CHARS).required() }),
    async ({ folder }, { store, projects, snapshots }) => {
      // The page cannot name one that the user has not opened.
      if (!store.data.projects.includes(folder))
        throw new CallFailure({ code: 'no-project', text: t('project.openAgain') });
      await projects.open(folder);
      snapshots.flush();
    },
  ),
  /** starts tunnels of the project that is shown, by their names in the file */
  'project:start': channel(
    exact({
      id: ownId,
      labels: yup
        .array(yup.string().max(LABEL_MAX_LENGTH).required())
        .min(1)
        .max(CONFIG_TUNNELS_MAX)
        .required(),
    }),
    ({ id, labels }, core) => thenFlush(core, core.projects.start(id, labels)),
  ),
  'project:dismiss': channel(exact({ id: ownId }), ({ id }, { projects }) => projects.dismiss(id)),

  'tunnel:create': channel(createFormSchema, async ({ lock, ...form }, { tunnelList }) => ({
    key: (await tunnelList.create(settingsOf(form), accessOf(lock))).key,
  })),
  'tunnel:stop': channel(tunnelRef, async ({ key }, { tunnelList, others }) => {
    const other = others.find(key);
    if (other === undefined) await tunnelList.stop(key);
    else others.stop(other);
  }),
  'tunnel:start': channel(tunnelRef, ({ key }, { tunnelList }) => tunnelList.start(key)),
  'tunnel:forget': channel(tunnelRef, ({ key }, { tunnelList }) => tunnelList.forget(key)),
  'tunnel:extend': channel(exact({ key: tunnelKey, ttl: lifetime }), ({ key, ttl }, { tunnelList, others }) =>
    (others.find(key) === undefined ? tunnelList : others).extend(key, ttl),
  ),
  'tunnel:copy-url': channel(tunnelRef, ({ key }, core) =>
    core.platform.copy(tunnelOf(core, key).public_url),
  ),
  'tunnel:open-url': channel(tunnelRef, ({ key }, core) =>
    core.platform.open(webAddress(tunnelOf(core, key).public_url)),
  ),
  /** copies one sentence with the address and the password */
  'tunnel:copy-share': channel(tunnelRef, ({ key }, { platform, tunnelList }) =>
    platform.copy(shareText(tunnelList.find(key))),
  ),

  'lock:invent': channel(nothing, (_, { platform }) => ({ password: platform.inventPassword() })),
  'lock:set': channel(
    exact({ key: tunnelKey, lock: accessSchema }),
    async ({ key, lock }, { tunnelList, snapshots }) => {
      await tunnelList.setLock(key, lock);
      // The page shows the new policy before it confirms the change.
      snapshots.flush();
    },
  ),
  'token:create': channel(tokenRef, ({ key, name }, core) =>
    thenFlush(core, core.tunnelList.addToken(key, name)),
  ),
  /** copies a token that was made here, once */
  'token:copy': channel(tokenRef, async ({ key, name }, { tunnelList, platform }) => {
    const { served } = tunnelList.find(key);
    const token = served.madeToken(name);
    if (token === undefined)
      throw new CallFailure({ code: 'token-unknown', text: t('problem.tokenUnknown') });
    await platform.copy(token);
    served.forgetToken(name);
  }),
  'token:revoke': channel(tokenRef, ({ key, name }, core) =>
    thenFlush(core, core.tunnelList.revokeToken(key, name)),
  ),
  /** creates a link and copies it */
  'link:create': channel(
    exact({
      key: tunnelKey,
      note: yup
        .string()
        .defined()
        .max(LINK_NOTE_MAX_LENGTH, () => t('problem.longNote', { max: LINK_NOTE_MAX_LENGTH })),
      ttl: lifetime,
    }),
    ({ key, note, ttl }, { approvals }) => approvals.createLink(key, { note, ttl }),
  ),
  'link:list': channel(tunnelRef, ({ key }, { approvals }) => approvals.listLinks(key)),
  'link:revoke': channel(exact({ key: tunnelKey, id: relayId }), ({ key, id }, { approvals }) =>
    approvals.revokeLink(key, id),
  ),
  /** visitors who were approved and still have access */
  'knock:admitted': channel(tunnelRef, ({ key }, { approvals }) => approvals.listApproved(key)),
  'knock:admit': channel(
    exact({ key: tunnelKey, id: relayId, ttl: lifetime }),
    ({ key, id, ttl }, { approvals }) => approvals.approve(key, id, ttl),
  ),
  /** denies a visitor, or revokes the access of one who was approved */
  'knock:refuse': channel(exact({ key: tunnelKey, id: relayId }), ({ key, id }, { approvals }) =>
    approvals.refuse(key, id),
  ),

  /** domains of the account */
  'domain:list': channel(nothing, (_, { domains }) => domains.list()),
  'domain:add': channel(
    exact({
      domain: yup
        .string()
        .max(DOMAIN_TEXT_MAX_CHARS)
        .required(() => t('problem.giveDomain'))
        .test('domain', (value, context) => {
          const reading = readDomain(value);
          return (
            'name' in reading ||
            context.createError({ message: t('problem.badDomain', { problem: reading.problem }) })
          );
        }),
    }),
    ({ domain }, { domains }) => domains.add(domain),
  ),
  'domain:remove': channel(exact({ id: relayId }), ({ id }, { domains }) => domains.remove(id)),
  /** has the relay check the records of a domain */
  'domain:check': channel(exact({ id: relayId }), ({ id }, { domains }) => domains.check(id)),

  /** the people of the account; nothing if the key is not an owner's */
  'team:show': channel(nothing, (_, { team }) => team.show()),
  /** creates an invitation; only this returns its address */
  'team:invite': channel(
    exact({
      label: yup
        .string()
        .max(MEMBER_LABEL_MAX_CHARS, () => t('problem.longLabel', { max: MEMBER_LABEL_MAX_CHARS }))
        .required(() => t('problem.giveLabel'))
        .test(
          'label',
          () => t('problem.badLabel'),
          (value) => !hasUnprintable(value),
        ),
      ttl: lifetime,
    }),
    (person, { team }) => team.invite(person),
  ),
  /** revokes a key or an invitation */
  'team:revoke': channel(exact({ id: relayId }), ({ id }, { team }) => team.revoke(id)),

  /** what has changed in a log, in parts of a limited size */
  'log:changes': channel(
    exact({ key: tunnelKey, since: exact({ epoch: count, revision: count }) }),
    ({ key, since }, { tunnelList, signatures }) => {
      const item = tunnelList.find(key);
      const changes = item.log.update(since);
      return { ...changes, requests: signatures.checked(item, changes.requests) };
    },
  ),
  /** remembers what of a log the user wants to see */
  'log:view': channel(
    exact({
      key: tunnelKey,
      part: yup.string().required().max(LOG_PART_NAME_MAX_CHARS),
      search: yup.string().defined().max(SEARCH_MAX_CHARS),
    }),
    ({ key, ...view }, { tunnelList }) => tunnelList.viewLog(key, view),
  ),
  'log:detail': channel(shownRequest, ({ key, id, reveal }, { tunnelList }) =>
    detailView(tunnelList.find(key).log.detail(id, reveal) ?? noSuchRequest()),
  ),
  /** numbers of the requests that contain every word, headers and bodies included */
  'log:search': channel(
    exact({ key: tunnelKey, search: yup.string().defined().max(SEARCH_MAX_CHARS) }),
    ({ key, search }, { tunnelList }) => tunnelList.find(key).log.search(search),
  ),
  /** messages of a WebSocket after one that is known */
  'log:messages': channel(
    exact({ key: tunnelKey, id: requestId, after: count }),
    ({ key, id, after }, { tunnelList }) => tunnelList.find(key).log.messages(id, after) ?? noSuchRequest(),
  ),
  'log:copy-curl': channel(shownRequest, async ({ key, id, reveal }, { tunnelList, platform }) => {
    const item = tunnelList.find(key);
    const command = item.log.curl(id, item.tunnel.public_url, reveal) ?? noSuchRequest();
    await platform.copy(command);
    return { hidesSecrets: command.includes(REDACTED) };
  }),
  /** writes requests as a HAR to a file that the user names; nothing if the user does not */
  'log:export': channel(
    exact({
      key: tunnelKey,
      ids: yup.array(requestId).min(1).max(LOG_REQUESTS_MAX).required(),
      reveal: yup.boolean().required(),
    }),
    ({ key, ids, reveal }, { tunnelList, platform }) =>
      exportHar(tunnelList.find(key), ids, reveal, platform),
  ),
  'log:replay': channel(requestRef, async ({ key, id }, { tunnelList }) => ({
    id: await tunnelList.find(key).log.replay(id),
  })),
  'log:clear': channel(tunnelRef, ({ key }, { tunnelList, undos }) => {
    const item = tunnelList.find(key);
    const hidden = item.log.hide();
    undos.offer({
      text: t('undo.logCleared', { slug: item.tunnel.slug }),
      undo: () => Promise.resolve(hidden.show()),
      commit: () => Promise.resolve(hidden.forget()),
    });
  }),
  /** adds what a HAR or a `curl` command has to the log, and sends nothing */
  'import:text': channel(
    exact({
      key: tunnelKey,
      text: yup
        .string()
        .max(IMPORT_TEXT_MAX_CHARS)
        .required(() => t('problem.pasteCurl')),
    }),
    ({ key, text }, { tunnelList }) => importInto(tunnelList.find(key), text),
  ),
  /** the same with a HAR that the user chooses; nothing if the user does not */
  'import:file': channel(tunnelRef, ({ key }, { tunnelList, platform }) =>
    importFile(tunnelList.find(key), platform),
  ),

  /** a request as it can be edited, without its secrets */
  'bench:open': channel(requestRef, ({ key, id }, { tunnelList, signatures }) => {
    const item = tunnelList.find(key);
    return editView(item.log.detail(id, false) ?? noSuchRequest(), signatures.look(item, id));
  }),
  /** sends it as it was edited */
  'bench:send': channel(
    exact({ key: tunnelKey, id: requestId, edit: editForm }),
    ({ key, id, edit }, { tunnelList, signatures }) => sendEdited(tunnelList.find(key), id, edit, signatures),
  ),

  /** what the signature of a request says; nothing for what is no webhook. No secret goes back to the page */
  'signature:look': channel(requestRef, ({ key, id }, { tunnelList, signatures }) =>
    signatures.look(tunnelList.find(key), id),
  ),
  'signature:add-secret': channel(
    exact({
      key: tunnelKey,
      provider: yup.string().oneOf(WEBHOOK_PROVIDER_IDS).required(),
      secret: yup
        .string()
        .max(SIGNING_SECRET_MAX_CHARS)
        .required(() => t('problem.pasteSecret')),
    }),
    async ({ key, ...secret }, core) => {
      await core.signatures.addSecret(core.tunnelList.find(key), secret);
      checkAnew(core, key);
    },
  ),
  'signature:remove-secret': channel(
    exact({ key: tunnelKey, id: yup.string().max(SIGNING_SECRET_ID_MAX_CHARS).required() }),
    async ({ key, id }, core) => {
      await core.secrets.remove(core.tunnelList.find(key), id);
      checkAnew(core, key);
    },
  ),
  /** repeats a request with a new signature */
  'signature:replay': channel(requestRef, async ({ key, id }, { tunnelList, signatures }) => ({
    id: await signatures.replay(tunnelList.find(key), id),
  })),

  /** connects now what waits for its next attempt */
  'relay:try': channel(nothing, (_, { wake }) => wake()),
  /** checks the way to the relay and back; with the key of a tunnel, as far as its local service */
  'checkup:start': channel(
    exact({ key: yup.string().max(TUNNEL_KEY_MAX_CHARS) }),
    ({ key }, { tunnelList, diagnostics }) =>
      diagnostics.start(key === undefined ? undefined : failing(tunnelList.find(key))),
  ),
  'checkup:stop': channel(nothing, (_, { diagnostics }) => diagnostics.stop()),
  /** takes back what the user has just done */
  'undo:take': channel(exact({ id: ownId }), async ({ id }, { undos, snapshots }) => {
    await undos.undo(id);
    snapshots.changed();
    // The page shows the result before it confirms the undo.
    snapshots.flush();
  }),
  'settings:change': channel(settingsSchema, async (change, core) => {
    await changeSettings(change, core);
    core.snapshots.changed();
    if (change.language === undefined) return;
    core.tray.changed();
    core.localeChanged.emit();
  }),
  /** copies what the window shows */
  'text:copy': channel(
    exact({ text: yup.string().max(COPIED_TEXT_MAX_CHARS).required() }),
    ({ text }, { platform }) => platform.copy(text),
  ),
  'app:about': channel(nothing, (_, { platform }) => platform.about),
  'app:open-link': channel(
    exact({
      link: yup
        .string()
        .oneOf(['documentation', 'source', 'releases'] as const)
        .required(),
    }),
    ({ link }, { platform }) => platform.open(platform.links[link]),
  ),
  /** restarts into the version that was downloaded */
  'app:update': channel(nothing, (_, { updateRequested }) => updateRequested.emit()),
  'app:quit': channel(nothing, (_, { quitRequested }) => quitRequested.emit()),
};

/** Channel → the page's payload and the result. */
export type Channels = ChannelsOf<typeof ROWS>;

export const CHANNELS: {
  readonly [C in keyof Channels]: Channel<Channels[C]['payload'], Channels[C]['result']>;
} = ROWS;

export const CHANNEL_NAMES = Object.keys(CHANNELS) as readonly (keyof Channels)[];

/** Shows what has changed as soon as some work is over, however it ends. */
async function thenFlush<T>({ snapshots }: Core, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } finally {
    snapshots.flush();
  }
}

function tunnelOf({ others, tunnelList }: Core, key: string): Tunnel {
  return others.find(key) ?? tunnelList.find(key).tunnel;
}

/** The address comes from the relay, so it must not be able to start anything but a browser on this machine. */
function webAddress(text: string): string {
  if (isWebAddress(text)) return text;
  throw new CallFailure({ code: 'bad-address', text: t('problem.notWebAddress') });
}

/** What a check of its way needs to know of a tunnel. */
function failing({ tunnel: { slug }, served }: TunnelItem): { slug: string; local: LocalService } {
  return { slug, local: served.settings.target };
}

function noSuchRequest(): never {
  throw new CallFailure({ code: 'no-such-request', text: t('problem.requestGone') });
}

/** Updates the signatures shown in the log after the secrets of a tunnel have changed. */
function checkAnew({ tunnelList, snapshots }: Core, key: string): void {
  tunnelList.find(key).log.tellAnew();
  snapshots.changed();
}

/**
 * Settings that the system also stores are set there first: if it refuses one, that is not remembered.
 *
 * @throws CallFailure
 */
async function changeSettings(change: Partial<Settings>, { store, platform }: Core): Promise<void> {
  const { autostart, summonKey } = platform;
  if (change.startsAtLogin !== undefined) {
    try {
      await autostart?.set(change.startsAtLogin);
    } catch (error) {
      throw new CallFailure({
        code: 'autostart',
        field: 'startsAtLogin',
        text: t('problem.systemRefused', { why: error instanceof Error ? error.message : String(error) }),
      });
    }
  }
  if (change.summonShortcut !== undefined && summonKey?.use(change.summonShortcut) === false) {
    summonKey.use(store.data.settings.summonShortcut);
    throw new CallFailure({ code: 'shortcut', field: 'summonShortcut', text: t('problem.shortcut') });
  }
  if (change.theme !== undefined) platform.setTheme(change.theme);
  await store.change({ settings: { ...store.data.settings, ...change } });
  if (change.language !== undefined) followLanguage(store, platform);
}
