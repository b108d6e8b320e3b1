/** The app without Electron: its memory, its sign-ins with their tunnels, and the snapshots of them that the window shows. */
import type { Host } from '../../client/host/host.ts';
import type { InspectorServer } from '../../client/inspector/inspector-server.ts';
import type { Message } from '../../client/messages.ts';
import { Signal } from '../../client/signal.ts';
import { Turns } from '../../client/turns.ts';
import type { Account } from '../../../shared/tunnel.ts';
import type { KeyKept, Snapshot, UpdateView } from '../ipc/snapshot.ts';
import { chooseLocale, currentLocale, setLocale, t } from '../messages/translate.ts';
import type { Connection } from './connection.ts';
import { CallFailure } from './failure.ts';
import type { Notice } from './notices.ts';
import type { Platform } from './platform.ts';
import { PortWatch } from './port-watch.ts';
import { Invitations } from './session/invitations.ts';
import { openSession, type Session, type SessionOptions } from './session/session.ts';
import { type AppStore, SESSIONS_MAX, SessionStore } from './settings/app-store.ts';
import { keepsOf } from './settings/key-vault.ts';
import { openStore } from './settings/stored-parts.ts';
import { Feed } from './signals.ts';
import { TrayWatch } from './tray-watch.ts';
import { folderName, tunnelView } from './tunnel-view.ts';
import { UndoList } from './undo-list.ts';

/**
 * Minimum interval between two updates of the window: a person can follow only a few changes in a second, and
 * each costs the page a rendering.
 */
export const SNAPSHOT_INTERVAL_MS = 250;
/**
 * Interval at which the app asks the relay for traffic counters while the window is visible: they are updated at
 * the relay's own pace.
 */
export const POLL_VISIBLE_MS = 2000;
/**
 * Interval at which the app asks the relay for traffic counters while the window is hidden: often enough that
 * "expires in 5 minutes" is shown for an idle tunnel at the right time.
 */
export const POLL_HIDDEN_MS = 30_000;
/** How often a tunnel's time and connection are checked for notifications. */
const NOTICE_TICK_MS = 5000;
/** Number of recent projects that the window offers: what a person works on at a time. */
export const RECENT_PROJECTS_MAX = 5;

/**
 * @param host the tunnels of a command, which opens and closes them; by default, those of the app
 * @throws if the app's own files cannot be read at all
 */
export async function createCore(platform: Platform, host?: Host): Promise<Core> {
  const store = await openStore(platform);
  followLanguage(store, platform);
  const inspector = host === undefined ? await platform.startInspector() : undefined;
  const core = new Core(platform, store, host, inspector);
  await core.open();
  return core;
}

/** What a call of the page is about: a sign-in with its tunnels, and the app. */
export type AppSession = Session & { readonly core: Core };

export class Core {
  readonly platform: Platform;
  readonly store: AppStore;
  readonly undos: UndoList;
  readonly invitations: Invitations;
  readonly tray: TrayWatch;
  readonly snapshots: Feed<Snapshot>;
  /** A sign-in, or something about a tunnel, has changed. */
  readonly changed = new Signal();
  /** notices for the user outside the window */
  readonly notices = new Signal<Notice>();
  /** The app uses another language from now on. */
  readonly localeChanged = new Signal();
  /** The user wants the app to quit. */
  readonly quitRequested = new Signal();
  /** The user wants the downloaded version, now. */
  readonly updateRequested = new Signal();
  readonly #host: Host | undefined;
  readonly #inspector: InspectorServer | undefined;
  readonly #ports: PortWatch;
  /** in the order in which they were added; never empty once it is open */
  #sessions: readonly AppSession[] = [];
  /** of all of them, and of those that are just being opened */
  readonly #slots = new Set<number>();
  /** They are added, entered and dropped one at a time. */
  readonly #turns = new Turns();
  #chosen: AppSession | undefined;
  #update: UpdateView | undefined;
  #isVisible = false;
  #isInFront = false;
  #isChoosing = false;

  constructor(
    platform: Platform,
    store: AppStore,
    host: Host | undefined,
    inspector: InspectorServer | undefined,
  ) {
    const { clock } = platform;
    this.platform = platform;
    this.store = store;
    this.#host = host;
    this.#inspector = inspector;
    this.undos = new UndoList(clock, (error) => platform.report('what was to be final', error));
    this.invitations = new Invitations({
      platform,
      keeps: () => keepsOf(platform.encryption),
      isSigningIn: () => this.chosen.signIn.view.state === 'signing-in',
      assertRoom: () => void (this.chosen.signIn.isFree || this.#freeSlot()),
      enter: (...accepted) => this.#enter(...accepted),
    });
    this.snapshots = new Feed({
      clock,
      intervalMs: SNAPSHOT_INTERVAL_MS,
      make: () => this.#makeSnapshot(),
    });
    this.tray = new TrayWatch(platform);
    this.#ports = new PortWatch({
      platform,
      tunnels: () =>
        this.#sessions.flatMap(({ tunnelList }) => tunnelList.tunnels.map(({ served }) => served)),
      onChange: () => this.#showChange(),
    });
    for (const { changed } of [this.undos, this.invitations]) changed.listen(() => this.#showChange());
    this.tray.changed.listen(() => this.snapshots.changed());
  }

  /** Opens what is remembered of every sign-in. Call it once, before everything else. */
  async open(): Promise<void> {
    const { sessions, shownSlot } = this.store.data;
    for (const { slot } of sessions) await this.#openSession(slot);
    this.#chosen =
      this.#sessions.find(({ saved }) => saved.slot === shownSlot) ??
      this.#sessions[0] ??
      (await this.#openSession(0));
  }

  /** Signs in and serves tunnels as at the last end of the app. Call it once everything listens. */
  async start(): Promise<void> {
    this.platform.summonKey?.use(this.store.data.settings.summonShortcut);
    await Promise.all(this.#sessions.map((session) => session.start()));
    if (this.chosen.signIn.connection === undefined) this.#chosen = this.#signedIn ?? this.chosen;
    this.#ports.now();
    this.tray.start();
    this.#lookForNotices();
  }

  /** The one that the window shows. */
  get chosen(): AppSession {
    if (this.#chosen === undefined) throw new Error('not opened');
    return this.#chosen;
  }

  /** all of them, in the order in which they were added */
  get sessions(): readonly AppSession[] {
    return this.#sessions;
  }

  /**
   * The one that a call is about: that of the tunnel that it names, or the chosen one.
   *
   * @param sent any value at all, from the page
   */
  sessionFor(sent: unknown): AppSession {
    const key = typeof sent === 'object' && sent !== null && 'key' in sent ? sent.key : undefined;
    const has = ({ tunnelList, others }: AppSession): boolean =>
      typeof key === 'string' &&
      (tunnelList.tunnels.some((tunnel) => tunnel.key === key) || others.find(key) !== undefined);
    // Two relays may have given tunnels of other programs the same id.
    return (key === undefined ? undefined : [this.chosen, ...this.#sessions].find(has)) ?? this.chosen;
  }

  /**
   * Shows another sign-in; nothing happens to the tunnels of this one.
   *
   * @throws CallFailure
   */
  async choose(id: string): Promise<void> {
    await this.#choose(this.#find(id));
  }

  /** Shows the sign-in with the tunnel of a notice. */
  chooseFor(key: string): void {
    this.#inBackground('remembering the choice', this.#choose(this.sessionFor({ key })));
  }

  /** Shows the form for a further relay or account. @throws CallFailure if there are too many */
  async addSignIn(): Promise<void> {
    const blank = (): AppSession | undefined => this.#sessions.find(({ isBlank }) => isBlank);
    await this.#choose(await this.#turns.take(() => blank() ?? this.#openSession()));
  }

  /** Signs out, and shows another sign-in, if there is one. @throws CallFailure */
  async signOut(id: string): Promise<void> {
    const session = this.#find(id);
    const canBeUndone = await session.signOut(
      () => this.#choose(session),
      () => this.#drop(session),
    );
    if (session === this.chosen) await this.#choose(this.#signedIn ?? session);
    if (!canBeUndone) await this.#drop(session);
  }

  /** How many tunnels are not ended, of all sign-ins. */
  get liveCount(): number {
    return this.#sessions.reduce((count, { tunnelList }) => count + tunnelList.liveCount, 0);
  }

  /** Ends every tunnel here and, if it can be reached, at its relay. */
  async closeAll(why: Message): Promise<void> {
    await Promise.all(this.#sessions.map(({ tunnelList }) => tunnelList.closeAll(why)));
  }

  /** Asks the user for a folder, with one dialog at a time, and shows the result before the call ends. */
  readonly askForFolder = async (then: (folder: string) => Promise<void>): Promise<void> => {
    if (this.#isChoosing) return;
    this.#isChoosing = true;
    let folder: string | undefined;
    try {
      folder = await this.platform.chooseFolder();
    } finally {
      this.#isChoosing = false;
    }
    if (folder !== undefined) await then(folder);
    this.snapshots.flush();
  };

  /** Shows the invitation of a link, and asks the user. */
  openInvitation(address: string): void {
    this.#inBackground('opening an invitation', this.invitations.open(address));
  }

  /** Shows files dropped on the tray icon, and asks the user whether to share them. */
  drop(paths: readonly string[]): void {
    this.#inBackground('looking at what was dropped', this.chosen.drops.show(paths));
  }

  /** There is a newer version of the app. */
  setUpdate(value: UpdateView): void {
    this.#update = value;
    this.snapshots.changed();
  }

  /** Whether the window can be seen. */
  setVisible(value: boolean): void {
    if (value === this.#isVisible) return;
    this.#isVisible = value;
    this.#ports.setVisible(value);
    if (!value) return;
    this.#inBackground('reading settings of the system', this.#readSystemSettings());
    for (const session of this.#sessions) session.poll();
  }

  /** Whether the window has the focus: then it shows everything of the chosen sign-in, and there are no notices. */
  setInFront(value: boolean): void {
    this.#isInFront = value;
  }

  /**
   * Tells the user something outside the window, unless they want no notices or see the window.
   *
   * @param isShown whether the window shows it as well
   */
  notify(notice: Notice, isShown = true): void {
    if (this.store.data.settings.notifies && !(this.#isInFront && isShown)) this.notices.emit(notice);
  }

  /** This machine is going to sleep. */
  suspend(): void {
    for (const session of this.#sessions) session.suspend();
  }

  /** This machine is awake again. A change of its network does not prove it: going to sleep also changes the network. */
  resume(): void {
    for (const session of this.#sessions) session.resume();
    this.wake();
  }

  /** The network has changed, or this machine is awake again. */
  readonly wake = (): void => {
    for (const session of this.#sessions) session.wake();
    this.#showChange();
  };

  /** This program ends: it follows no other program, and no other program can inspect it. */
  close(): void {
    for (const session of this.#sessions) session.close();
    this.#inspector?.stop();
  }

  get #signedIn(): AppSession | undefined {
    return this.#sessions.find(({ signIn }) => signIn.connection !== undefined);
  }

  /** @param slot by default a free one. @throws CallFailure if all are in use */
  async #openSession(slot = this.#freeSlot()): Promise<AppSession> {
    this.#slots.add(slot);
    const options: SessionOptions = {
      platform: this.platform,
      store: this.store,
      undos: this.undos,
      snapshots: this.snapshots,
      host: this.#host,
      inspector: this.#inspector,
      enter: (...accepted) => this.#enter(...accepted),
      notify: (notice) => this.notify(notice, session === this.#chosen),
      rememberProject: (folder) => this.#rememberProject(folder),
      viewOf: (tunnel) => tunnelView(tunnel, this.#ports.scan, this.#ports.judges(tunnel.served)),
      pollMs: () => (this.#isVisible && session === this.#chosen ? POLL_VISIBLE_MS : POLL_HIDDEN_MS),
    };
    const saved = new SessionStore(this.store, slot);
    const opened = await openSession(options, saved).catch((error: unknown) => {
      this.#slots.delete(slot);
      throw error;
    });
    const session: AppSession = Object.assign(opened, { core: this });
    session.changed.listen(() => this.#showChange());
    session.tunnelList.changed.listen(() => this.#ports.tunnelsChanged());
    this.#sessions = [...this.#sessions, session];
    return session;
  }

  #freeSlot(): number {
    for (let slot = 0; slot < SESSIONS_MAX; slot += 1) if (!this.#slots.has(slot)) return slot;
    throw new CallFailure({ code: 'too-many', text: t('problem.tooManySignIns', { max: SESSIONS_MAX }) });
  }

  /** Signs in with a key that the relay has accepted: in the account's own session, in one that is free, or in a new one. */
  #enter(connection: Connection, account: Account, keep: KeyKept): Promise<void> {
    return this.#turns.take(async () => {
      const { chosen } = this;
      const known = this.#sessions.find(({ signIn }) => signIn.isSame(connection.relay, account));
      const session = known ?? (chosen.signIn.isFree ? chosen : await this.#openSession());
      // What was undone later would be that of another account.
      if (session.signIn.connection === undefined) void this.undos.commitAll();
      await session.signIn.enter(connection, account, keep);
      await this.#choose(session);
    });
  }

  /** Shows it immediately. Resolves once that is on disk. */
  async #choose(session: AppSession): Promise<void> {
    const { chosen } = this;
    this.#chosen = session;
    if (session !== chosen) {
      // The user has left its form.
      chosen.signIn.cancel();
      session.poll();
    }
    this.#showChange();
    this.snapshots.flush();
    const shownSlot = session.saved.slot;
    if (shownSlot !== this.store.data.shownSlot) await this.store.change({ shownSlot });
  }

  /** Forgets a sign-in that is over, unless the window shows it. */
  #drop(session: AppSession): Promise<void> {
    return this.#turns.take(async () => {
      if (session === this.chosen || session.signIn.connection !== undefined) return;
      this.#sessions = this.#sessions.filter((other) => other !== session);
      session.close();
      const removed = session.saved.remove();
      this.#slots.delete(session.saved.slot);
      await removed;
      this.#showChange();
    });
  }

  /** @throws CallFailure */
  #find(id: string): AppSession {
    const session = this.#sessions.find((other) => other.id === id);
    if (session === undefined) throw new CallFailure({ code: 'signed-out', text: t('failure.signedOut') });
    return session;
  }

  #makeSnapshot(): Snapshot {
    const { platform, store, chosen } = this;
    const shown = chosen.view();
    return {
      ...shown,
      signIns: this.#sessions
        .filter((session) => session === chosen || !session.isBlank)
        .map((session) =>
          session.signInView(session === chosen, session === chosen ? shown.tunnels : session.tunnelViews()),
        ),
      invitation: this.invitations.view,
      projects: store.data.projects.map((folder) => ({ name: folderName(folder), folder })),
      ports: this.#ports.scan?.ports ?? [],
      settings: store.data.settings,
      locale: currentLocale(),
      undos: this.undos.views,
      update: this.#update,
      isOfCommand: this.#host !== undefined,
      isShortcutRefused: platform.summonKey?.isRefused ?? false,
      isTrayMissing: this.tray.isMissing,
      hasNetwork: platform.hasNetwork(),
    };
  }

  #showChange(): void {
    this.snapshots.changed();
    this.changed.emit();
  }

  async #rememberProject(folder: string): Promise<void> {
    const before = this.store.data.projects.filter((other) => other !== folder);
    await this.store.change({ projects: [folder, ...before].slice(0, RECENT_PROJECTS_MAX) });
  }

  /** Start at login can also be changed in the settings of the system. */
  async #readSystemSettings(): Promise<void> {
    const { store } = this;
    const startsAtLogin = await this.platform.autostart?.isOn();
    if (startsAtLogin === undefined || startsAtLogin === store.data.settings.startsAtLogin) return;
    await store.change({ settings: { ...store.data.settings, startsAtLogin } });
    this.snapshots.changed();
  }

  #lookForNotices(): void {
    for (const session of this.#sessions) {
      const isShown = session === this.chosen;
      for (const notice of session.lookForNotices(this.#isInFront && isShown)) this.notify(notice, isShown);
    }
    this.platform.clock.setTimeout(() => this.#lookForNotices(), NOTICE_TICK_MS);
  }

  #inBackground(what: string, work: Promise<unknown>): void {
    work.catch((error: unknown) => this.platform.report(what, error));
  }
}

/** Uses the language that the user has chosen. */
export function followLanguage(
  store: AppStore,
  { preferredLanguages }: Pick<Platform, 'preferredLanguages'>,
): void {
  setLocale(chooseLocale(store.data.settings.language, preferredLanguages()));
}
