/**
 * What the page may ask main to do: one row for each channel. Main registers the rows (electron/main-window.ts), the build
 * gives the preload their names (desktop/build/build.ts), and the page calls them with types derived from them
 * (renderer/bridge.ts).
 */
import * as yup from 'yup';
import { readDomain } from '../../../../shared/domains.ts';
import { API_ERRORS, withValues } from '../../../../shared/errors.ts';
import { isWebAddress } from '../../../../shared/fields.ts';
import { LINK_NOTE_MAX_LENGTH } from '../../../../shared/links.ts';
import { AWAY_RULE } from '../../../../shared/names.ts';
import { hasUnprintable } from '../../../../shared/unprintable.ts';
import { NAME_RULE } from '../../../../shared/value-rules.ts';
import type { LocalService } from '../../../client/diagnostics/hop.ts';
import {
  answerCall,
  type ErrorWords,
  exact,
  type Method,
  methodsFor,
  type MethodsOf,
} from '../../../client/methods/method.ts';
import { type Answer, DROPPED_PATHS_MAX } from '../../ipc/ipc.ts';
import type { Settings } from '../../ipc/snapshot.ts';
import { describeError } from '../../messages/message-text.ts';
import { acceptedText } from '../../messages/message-text.ts';
import { t } from '../../messages/translate.ts';
import { inviteToTeam, revokeFromTeam, showTeam } from '../account.ts';
import { signedIn } from '../connection.ts';
import { type Core, type AppSession, followLanguage } from '../core.ts';
import { CallFailure, errorWords } from '../failure.ts';
import { LOG_ROWS, tunnelOf } from './log-rows.ts';
import { settingsSchema } from '../settings/app-store.ts';
import { accessOf } from '../tunnels/access.ts';
import {
  answerVisitor,
  createLink,
  listAgents,
  listApproved,
  listLinks,
  revokeAgent,
  revokeLink,
} from '../tunnels/approvals.ts';
import { accessSchema, createFormSchema, settingsOf, tokenName } from '../tunnels/create-form-schema.ts';
import { shareText } from '../tunnels/other-tunnels.ts';
import type { TunnelItem } from '../tunnels/tunnel-item.ts';
import {
  keyKept,
  lifetime,
  nothing,
  OWN_ID_MAX_CHARS,
  ownId,
  relayId,
  tunnelKey,
  tunnelRef,
  TUNNEL_KEY_MAX_CHARS,
} from './channel.ts';
import { CONFIG_TUNNELS_MAX, LABEL_MAX_LENGTH } from '../../../client/config/tunnel-spec.ts';
import { MACHINE_MAX_LENGTH } from '../../../../shared/team.ts';

/** Maximum length of a relay's URL: a host name has at most 253; scheme and port come on top. */
export const RELAY_MAX_CHARS = 300;
/** Maximum length of an invitation link: the URL of a relay, and 40 characters. */
export const INVITATION_MAX_CHARS = 340;
/** Maximum length of a typed API key: a key has at most 204; spaces around it are tolerated. */
export const KEY_MAX_CHARS = 300;
/** Maximum length of a file path: the longest on Windows; other systems have shorter ones. */
export const PATH_MAX_CHARS = 32_767;
/** Maximum length of a domain or of one value in its DNS records. */
export const DOMAIN_TEXT_MAX_CHARS = 300;
/**
 * Maximum length of text that is copied to the clipboard: the longest is a body of 1 MiB whose every byte is a
 * character, or the path to a value that is nested as deeply.
 */
export const COPIED_TEXT_MAX_CHARS = 4 * 1024 * 1024;
/** Maximum length of the label of an invitation, which becomes the label of a key: what the relay accepts. */
export const MEMBER_LABEL_MAX_CHARS = MACHINE_MAX_LENGTH;

const method = methodsFor<AppSession>();
const tokenRef = exact({ key: tunnelKey, name: tokenName() });

const keptName = yup
  .string()
  .required()
  .test((value) => NAME_RULE.accepts(value));
const awayText = yup
  .string()
  .nullable()
  .defined()
  .test(
    'away',
    () => t('problem.give', { accepted: acceptedText(AWAY_RULE) }),
    (value) => value === null || AWAY_RULE.accepts(value),
  );

const ROWS = {
  'snapshot:get': method(nothing, (_, { snapshots }) => snapshots.make()),

  'session:sign-in': method(
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
    async (form, session) => {
      void session.undos.commitAll();
      // The form is disabled during the sign-in: the page learns that it is over before it gets the result.
      await thenFlush(session, session.signIn.signIn(form));
    },
  ),
  /** gives up signing in */
  'session:cancel': method(nothing, (_, { signIn }) => signIn.cancel()),
  /** of the sign-in that is shown, or of another one */
  'session:sign-out': method(exact({ id: yup.string().max(OWN_ID_MAX_CHARS) }), ({ id }, { core }) =>
    core.signOut(id ?? core.chosen.id),
  ),
  /** shows the tunnels of another sign-in, and ends none */
  'session:choose': method(exact({ id: ownId }), ({ id }, { core }) => core.choose(id)),
  /** shows the form for a further relay or account */
  'session:add': method(nothing, (_, { core }) => core.addSignIn()),

  /** shows an invitation that was pasted, and accepts nothing */
  'invitation:open': method(
    exact({ address: yup.string().max(INVITATION_MAX_CHARS).required() }),
    ({ address }, { core }) => core.invitations.open(address),
  ),
  /** accepts the invitation that is shown, and signs in */
  'invitation:accept': method(exact({ id: ownId, keep: keyKept }), ({ id, keep }, session) =>
    // The question goes before its button can be pressed again.
    thenFlush(session, session.core.invitations.accept(id, keep)),
  ),
  'invitation:dismiss': method(exact({ id: ownId }), ({ id }, { core }) => core.invitations.dismiss(id)),

  /** shows what was dropped on the window, and shares nothing. Only the preload sends this */
  'folder:drop': method(
    exact({ paths: yup.array(yup.string().defined().max(PATH_MAX_CHARS)).max(DROPPED_PATHS_MAX).required() }),
    ({ paths }, { drops }) => drops.show(paths),
  ),
  /** shares the folder that is shown */
  'folder:share': method(exact({ id: ownId }), async ({ id }, session) => ({
    // The question goes before its button can be pressed again.
    key: await thenFlush(session, session.drops.share(id)),
  })),
  'folder:dismiss': method(exact({ id: ownId }), ({ id }, { drops }) => drops.dismiss(id)),
  /** asks the user for a folder, and shows it as if it was dropped */
  'folder:choose': method(nothing, (_, { core, drops }) =>
    core.askForFolder((folder) => drops.show([folder])),
  ),

  /** asks the user for the folder of a project, and shows what its `culvert.yml` has; starts nothing */
  'project:choose': method(nothing, (_, { core, projects }) =>
    core.askForFolder((folder) => projects.open(folder)),
  ),
  /** as above, for the dropped folder on show, which the project replaces */
  'project:open': method(exact({ id: ownId }), async ({ id }, { projects, drops, snapshots }) => {
    await projects.open(drops.take(id));
    snapshots.flush();
  }),
  /** the same for one of the projects that were opened last */
  'project:reopen': method(
    exact({ folder: yup.string().max(PATH_MAX_CHARS).required() }),
    async ({ folder }, { store, projects, snapshots }) => {
      // The page cannot name one that the user has not opened.
      if (!store.data.projects.includes(folder))
        throw new CallFailure({ code: 'no-project', text: t('project.openAgain') });
      await projects.open(folder);
      snapshots.flush();
    },
  ),
  /** shows another sign-in, and there the project that is shown here and cannot be opened */
  'project:move': method(
    exact({ id: ownId, signIn: ownId }),
    async ({ id, signIn }, { core, projects, snapshots }) => {
      await core.choose(signIn);
      await core.chosen.projects.open(projects.take(id));
      snapshots.flush();
    },
  ),
  /** starts tunnels of the project that is shown, by their names in the file */
  'project:start': method(
    exact({
      id: ownId,
      labels: yup
        .array(yup.string().max(LABEL_MAX_LENGTH).required())
        .min(1)
        .max(CONFIG_TUNNELS_MAX)
        .required(),
    }),
    ({ id, labels }, session) => thenFlush(session, session.projects.start(id, labels)),
  ),
  'project:dismiss': method(exact({ id: ownId }), ({ id }, { projects }) => projects.dismiss(id)),

  'tunnel:create': method(createFormSchema, async ({ lock, ...form }, { tunnelList }) => ({
    key: (await tunnelList.create(settingsOf(form), accessOf(lock))).key,
  })),
  'tunnel:stop': method(tunnelRef, async ({ key }, { tunnelList, others }) => {
    const other = others.find(key);
    if (other === undefined) await tunnelList.stop(key);
    else others.stop(other);
  }),
  /** ends a tunnel, and keeps its name */
  'tunnel:pause': method(tunnelRef, ({ key }, session) => thenFlush(session, session.names.pause(key))),
  'tunnel:start': method(tunnelRef, ({ key }, { tunnelList }) => tunnelList.start(key)),
  'tunnel:forget': method(tunnelRef, ({ key }, { tunnelList }) => tunnelList.forget(key)),
  'tunnel:extend': method(exact({ key: tunnelKey, ttl: lifetime }), ({ key, ttl }, { tunnelList, others }) =>
    (others.find(key) === undefined ? tunnelList : others).extend(key, ttl),
  ),
  'tunnel:copy-url': method(tunnelRef, ({ key }, session) =>
    session.platform.copy(tunnelOf(session, key).public_url),
  ),
  'tunnel:open-url': method(tunnelRef, ({ key }, session) =>
    session.platform.open(webAddress(tunnelOf(session, key).public_url)),
  ),
  /** copies one sentence with the address and the password */
  'tunnel:copy-share': method(tunnelRef, ({ key }, { platform, tunnelList }) =>
    platform.copy(shareText(tunnelList.find(key))),
  ),

  /** sets what visitors of a kept name read; `null` removes it */
  'name:away': method(
    exact({ name: keptName, away: awayText, until: yup.number().integer().nullable().defined() }),
    ({ name, away, until }, session) => thenFlush(session, session.names.leaveMessage(name, away, until)),
  ),
  'name:release': method(exact({ name: keptName }), ({ name }, { names }) => names.release(name)),

  'lock:invent': method(nothing, (_, { platform }) => ({ password: platform.inventPassword() })),
  'lock:set': method(
    exact({ key: tunnelKey, lock: accessSchema }),
    async ({ key, lock }, { tunnelList, snapshots }) => {
      await tunnelList.setLock(key, lock);
      // The page shows the new policy before it confirms the change.
      snapshots.flush();
    },
  ),
  'token:create': method(tokenRef, ({ key, name }, session) =>
    thenFlush(session, session.tunnelList.addToken(key, name)),
  ),
  /** copies a token that was made here, once */
  'token:copy': method(tokenRef, async ({ key, name }, { tunnelList, platform }) => {
    const { served } = tunnelList.find(key);
    const token = served.madeToken(name);
    if (token === undefined)
      throw new CallFailure({ code: 'token-unknown', text: t('problem.tokenUnknown') });
    await platform.copy(token);
    served.forgetToken(name);
  }),
  'token:revoke': method(tokenRef, ({ key, name }, session) =>
    thenFlush(session, session.tunnelList.revokeToken(key, name)),
  ),
  /** creates a link and copies it */
  'link:create': method(
    exact({
      key: tunnelKey,
      note: yup
        .string()
        .defined()
        .max(LINK_NOTE_MAX_LENGTH, () => t('problem.longNote', { max: LINK_NOTE_MAX_LENGTH })),
      ttl: lifetime,
      once: yup.boolean().defined(),
    }),
    ({ key, note, ttl, once }, session) => createLink(session, key, { note, ttl, once }),
  ),
  'link:list': method(tunnelRef, ({ key }, session) => listLinks(session, key)),
  'link:revoke': method(exact({ key: tunnelKey, id: relayId }), ({ key, id }, session) =>
    revokeLink(session, key, id),
  ),
  'agent:list': method(tunnelRef, ({ key }, session) => listAgents(session, key)),
  'agent:revoke': method(exact({ key: tunnelKey, id: relayId }), ({ key, id }, session) =>
    revokeAgent(session, key, id),
  ),
  /** visitors who were approved and still have access */
  'knock:admitted': method(tunnelRef, ({ key }, session) => listApproved(session, key)),
  'knock:admit': method(exact({ key: tunnelKey, id: relayId, ttl: lifetime }), ({ key, id, ttl }, session) =>
    answerVisitor(session, key, id, ttl),
  ),
  /** denies a visitor, or revokes the access of one who was approved */
  'knock:refuse': method(exact({ key: tunnelKey, id: relayId }), ({ key, id }, session) =>
    answerVisitor(session, key, id, undefined),
  ),

  /** domains of the account */
  'domain:list': method(nothing, (_, { domains }) => domains.list()),
  'domain:add': method(
    exact({
      domain: yup
        .string()
        .max(DOMAIN_TEXT_MAX_CHARS)
        .required(() => t('problem.giveDomain'))
        .test('domain', (value, context) => {
          const reading = readDomain(value);
          return (
            'name' in reading ||
            context.createError({ message: describeError(withValues(API_ERRORS.invalidDomain, reading)) })
          );
        }),
    }),
    ({ domain }, { domains }) => domains.add(domain),
  ),
  'domain:remove': method(exact({ id: relayId }), ({ id }, { domains }) => domains.remove(id)),
  /** has the relay check the records of a domain */
  'domain:check': method(exact({ id: relayId }), ({ id }, { domains }) => domains.check(id)),

  /** the people of the account; nothing if the key is not an owner's */
  'team:show': method(nothing, (_, { signIn }) => showTeam(signedIn(signIn.connection))),
  /** creates an invitation; only this returns its address */
  'team:invite': method(
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
    (person, { signIn }) => inviteToTeam(signedIn(signIn.connection), person),
  ),
  /** revokes a key or an invitation */
  'team:revoke': method(exact({ id: relayId }), ({ id }, { signIn }) =>
    revokeFromTeam(signedIn(signIn.connection), id),
  ),

  ...LOG_ROWS,

  /** connects now what waits for its next attempt */
  'relay:try': method(nothing, (_, { core }) => core.wake()),
  /** checks the way to the relay and back; with the key of a tunnel, as far as its local service */
  'checkup:start': method(
    exact({ key: yup.string().max(TUNNEL_KEY_MAX_CHARS) }),
    ({ key }, { tunnelList, diagnostics }) =>
      diagnostics.start(key === undefined ? undefined : failing(tunnelList.find(key))),
  ),
  'checkup:stop': method(nothing, (_, { diagnostics }) => diagnostics.stop()),
  /** takes back what the user has just done */
  'undo:take': method(exact({ id: ownId }), async ({ id }, { undos, snapshots }) => {
    await undos.undo(id);
    snapshots.changed();
    // The page shows the result before it confirms the undo.
    snapshots.flush();
  }),
  'settings:change': method(settingsSchema, async (change, session) => {
    await changeSettings(change, session);
    session.snapshots.changed();
    if (change.language !== undefined) session.core.localeChanged.emit();
  }),
  /** copies what the window shows */
  'text:copy': method(
    exact({ text: yup.string().max(COPIED_TEXT_MAX_CHARS).required() }),
    ({ text }, { platform }) => platform.copy(text),
  ),
  'app:about': method(nothing, (_, { platform }) => platform.about),
  'app:open-link': method(
    exact({
      link: yup
        .string()
        .oneOf(['documentation', 'source', 'releases'] as const)
        .required(),
    }),
    ({ link }, { platform }) => platform.open(platform.links[link]),
  ),
  /** restarts into the version that was downloaded */
  'app:update': method(nothing, (_, { core }) => core.updateRequested.emit()),
  'app:quit': method(nothing, (_, { core }) => core.quitRequested.emit()),
};

/** Channel → the page's payload and the result. */
export type Channels = MethodsOf<typeof ROWS>;

export const CHANNELS: {
  readonly [C in keyof Channels]: Method<Channels[C]['payload'], Channels[C]['result'], AppSession>;
} = ROWS;

/** What a menu, the tray or a notification asks, as a button of the window would. */
export type Asked = {
  readonly [C in keyof Channels]: { readonly channel: C; readonly payload: Channels[C]['payload'] };
}[keyof Channels];

/**
 * Answers the page, whatever it sends.
 *
 * @param reportBug called with every error that is neither a known failure nor a bad payload
 */
export function answerPage(
  core: Core,
  channel: string,
  sent: unknown,
  reportBug: ErrorWords['reportBug'],
): Promise<Answer<unknown>> {
  const session = core.sessionFor(sent);
  return answerCall(CHANNELS, channel, sent, session, errorWords(reportBug, session));
}

export async function runAsked({ channel, payload }: Asked, core: Core): Promise<void> {
  await CHANNELS[channel].run(payload as never, core.sessionFor(payload));
}

export const CHANNEL_NAMES = Object.keys(CHANNELS) as readonly (keyof Channels)[];

/** Shows what has changed as soon as some work is over, however it ends. */
async function thenFlush<T>({ snapshots }: AppSession, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } finally {
    snapshots.flush();
  }
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

/**
 * Settings that the system also stores are set there first: if it refuses one, that is not remembered.
 *
 * @throws CallFailure
 */
async function changeSettings(change: Partial<Settings>, { store, platform }: AppSession): Promise<void> {
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
