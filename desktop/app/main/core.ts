/** The app without Electron: its memory, its account, its tunnels, and the snapshots of them that the window shows. */
import type { Host } from '../../client/host/host.ts';
import type { InspectorServer } from '../../client/inspector/inspector-server.ts';
import { RelayUnreachable } from '../../client/relay/errors.ts';
import type { OwnerLogHost } from '../../client/methods/log-methods.ts';
import { Signal } from '../../client/signal.ts';
import type { Snapshot, UpdateView } from '../ipc/snapshot.ts';
import { chooseLocale, currentLocale, setLocale } from '../messages/translate.ts';
import { Domains } from './account.ts';
import { Diagnostics } from './diagnostics.ts';
import { Drops } from './drops.ts';
import { keyRefusedNotice, knockNotice, type Notice, Notices } from './notices.ts';
import type { Platform } from './platform.ts';
import { PortWatch } from './port-watch.ts';
import { Projects } from './projects.ts';
import { Invitations } from './session/invitations.ts';
import { nameDomainOf, SignIn } from './session/sign-in.ts';
import type { AppStore } from './settings/app-store.ts';
import { openStoredParts, type StoredParts } from './settings/stored-parts.ts';
import { Feed, Poller } from './signals.ts';
import { Signatures, SigningSecrets } from './signing.ts';
import { folderName, tunnelView } from './tunnel-view.ts';
import { TrayWatch } from './tray-watch.ts';
import { Asleep } from './tunnels/asleep.ts';
import { KeptNames } from './tunnels/kept-names.ts';
import { OtherTunnels } from './tunnels/other-tunnels.ts';
import { TunnelList } from './tunnels/tunnel-list.ts';
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
/**
 * Maximum number of a tunnel's pending approval requests that are shown as notifications; the window lists all
 * of them.
 */
export const APPROVAL_NOTICES_MAX = 3;
/** Number of recent projects that the window offers: what a person works on at a time. */
export const RECENT_PROJECTS_MAX = 5;

/**
 * @param host the tunnels of a command, which opens and closes them; by default, those of the app
 * @throws if the app's own files cannot be read at all
 */
export async function createCore(platform: Platform, host?: Host): Promise<Core> {
  const stored = await openStoredParts(platform);
  const { store, vault, secretsVault } = stored;
  followLanguage(store, platform);
  const signIn = new SignIn({ vault, store, connect: (relay, key) => platform.connect(relay, key) });
  const secrets = await SigningSecrets.open(
    { vault: secretsVault, now: () => platform.clock.now(), wish: () => wishOf(signIn) },
    store.data.tunnels,
  );
  const inspector = host === undefined ? await platform.startInspector() : undefined;
  return new Core(platform, stored, signIn, secrets, { host, inspector });
}

/** The host of a command, which opens and closes its tunnels; or what shows those of the app to other programs. */
interface Served {
  readonly host: Host | undefined;
  readonly inspector: InspectorServer | undefined;
}

export class Core {
  readonly platform: Platform;
  readonly store: AppStore;
  readonly signIn: SignIn;
  readonly secrets: SigningSecrets;
  readonly undos: UndoList;
  readonly tunnelList: TunnelList;
  readonly others: OtherTunnels;
  readonly names: KeptNames;
  readonly invitations: Invitations;
  readonly drops: Drops;
  readonly projects: Projects;
  readonly diagnostics: Diagnostics;
  readonly domains: Domains;
  readonly signatures: Signatures;
  readonly tray: TrayWatch;
  readonly snapshots: Feed<Snapshot>;
  /** The session, or something about a tunnel, has changed. */
  readonly changed = new Signal();
  /** notices for the user outside the window */
  readonly notices = new Signal<Notice>();
  /** The app uses another language from now on. */
  readonly localeChanged = new Signal();
  /** The user wants the app to quit. */
  readonly quitRequested = new Signal();
  /** The user wants the downloaded version, now. */
  readonly updateRequested = new Signal();
  /** the request logs of its tunnels */
  readonly logs: OwnerLogHost;
  readonly #isOfCommand: boolean;
  readonly #inspector: InspectorServer | undefined;
  readonly #asleep: Asleep;
  readonly #tunnelNotices = new Notices();
  readonly #poller: Poller;
  readonly #ports: PortWatch;
  #update: UpdateView | undefined;
  #isVisible = false;
  #isInFront = false;
  #isChoosing = false;

  constructor(
    platform: Platform,
    stored: StoredParts,
    signIn: SignIn,
    secrets: SigningSecrets,
    { host, inspector }: Served,
  ) {
    const { clock } = platform;
    const { store, vault, passwords } = stored;
    const connection = (): SignIn['connection'] => signIn.connection;
    this.platform = platform;
    this.store = store;
    this.signIn = signIn;
    this.secrets = secrets;
    this.#isOfCommand = host !== undefined;
    const undos = new UndoList(clock, (error) => platform.report('what was to be final', error));
    this.undos = undos;
    this.#inspector = inspector;
    this.tunnelList = this.#listTunnels(
      stored,
      host === undefined ? { saved: store.data.tunnels, passwords } : { host },
    );
    const { tunnelList } = this;
    this.others = new OtherTunnels({
      connection,
      undos,
      ownIds: () => tunnelList.ownIds,
      servedHere: () => platform.servedHere(),
    });
    const { others } = this;
    this.#asleep = new Asleep({
      clock,
      tunnelList,
      connection,
      isAllowed: () => store.data.settings.saysAsleep === 'yes',
      standing: () => store.data.asleep,
      remember: (asleep) => store.change({ asleep }),
    });
    this.names = new KeptNames({ clock, tunnelList, others, undos, asleep: this.#asleep, connection });
    this.invitations = new Invitations({
      platform,
      keeps: () => vault.keeps(),
      signIn,
      tunnelList,
      secrets,
      undos,
    });
    this.drops = new Drops({ tunnelList, isSignedIn: () => signIn.connection !== undefined });
    this.projects = new Projects({
      tunnelList,
      others: this.others,
      connection,
      async remember(folder) {
        const before = store.data.projects.filter((other) => other !== folder);
        await store.change({ projects: [folder, ...before].slice(0, RECENT_PROJECTS_MAX) });
      },
    });
    this.diagnostics = new Diagnostics({
      connection,
      examine: platform.examine,
      onError: (error) => platform.report('finding out why', error),
    });
    this.domains = new Domains(connection, undos);
    this.signatures = new Signatures(secrets, () => clock.now());
    this.logs = {
      mayReveal: true,
      find: (key) => tunnelList.find(key).served,
      signer: (key, isEdited) => this.signatures.signer(tunnelList.find(key), isEdited),
    };
    this.snapshots = new Feed({
      clock,
      intervalMs: SNAPSHOT_INTERVAL_MS,
      make: () => this.#makeSnapshot(),
    });
    this.#poller = new Poller({
      clock,
      work: () => this.#poll(),
      pauseMs: () => (this.#isVisible ? POLL_VISIBLE_MS : POLL_HIDDEN_MS),
      onError: (error) => platform.report('asking the relay', error),
    });
    this.tray = new TrayWatch(platform);
    this.#ports = new PortWatch({
      platform,
      tunnels: () => tunnelList.tunnels.map(({ served }) => served),
      onChange: () => this.#showChange(),
    });
    this.#listen();
  }

  /** Signs in and serves tunnels as at the last end of the app. Call it once everything listens. */
  async start(): Promise<void> {
    this.platform.summonKey?.use(this.store.data.settings.summonShortcut);
    await this.signIn.restore();
    this.#poller.now();
    this.#ports.now();
    this.tray.start();
    this.#lookForNotices();
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

  /** Notes that a call could not reach the relay, so that the window can drop its message once the relay is back. */
  readonly noteFailure = (error: unknown): void => {
    if (error instanceof RelayUnreachable)
      this.#inBackground('noting that the relay is unreachable', this.signIn.reached(error));
  };

  /** Shows the invitation of a link, and asks the user. */
  openInvitation(address: string): void {
    this.#inBackground('opening an invitation', this.invitations.open(address));
  }

  /** Shows files dropped on the tray icon, and asks the user whether to share them. */
  drop(paths: readonly string[]): void {
    this.#inBackground('looking at what was dropped', this.drops.show(paths));
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
    this.#poller.now();
  }

  /** Whether the window has the focus: then it shows everything, and there are no notices. */
  setInFront(value: boolean): void {
    this.#isInFront = value;
  }

  /** Tells the user something outside the window, unless they want no notices or see the window. */
  notify(notice: Notice): void {
    if (this.store.data.settings.notifies && !this.#isInFront) this.notices.emit(notice);
  }

  /** This machine is going to sleep: the app notifies relays, so that they do not have to wait for a timeout. */
  suspend(): void {
    this.#inBackground('setting the message of a sleep', this.#asleep.suspend());
    this.tunnelList.suspend();
  }

  /** This machine is awake again. A change of its network does not say so: the way into a sleep is one. */
  resume(): void {
    this.#asleep.resume();
    this.wake();
  }

  /** The network has changed, or this machine is awake again. */
  readonly wake = (): void => {
    this.tunnelList.wake();
    this.#showChange();
    this.#poller.now();
  };

  /** This program ends: it follows no other program, and no other program can inspect it. */
  close(): void {
    this.others.clear();
    this.#inspector?.stop();
  }

  #listTunnels(
    { store, passwordStore }: StoredParts,
    known: ConstructorParameters<typeof TunnelList>[1],
  ): TunnelList {
    const { platform, signIn, undos } = this;
    return new TunnelList(
      {
        clock: platform.clock,
        connectTunnel: platform.connectTunnel,
        keptBody: () => store.data.settings.keptBody,
        inspector: this.#inspector,
        undos,
        connection: () => signIn.connection,
        inventPassword: platform.inventPassword,
        onKnock: ({ key, tunnel, knocks }, knock) => {
          if (knocks.length <= APPROVAL_NOTICES_MAX) this.notify(knockNotice(key, tunnel.slug, knock));
        },
        async save(tunnels, passwordsNow) {
          const { view } = signIn;
          await store.change({ tunnels });
          await passwordStore.keep(passwordsNow, view.state === 'signed-in' ? view.keyKept : undefined);
        },
        onKeyRefused: () => {
          if (signIn.connection === undefined) return;
          this.notify(keyRefusedNotice());
          this.#inBackground('signing out', signIn.keyRefused());
        },
        onSaveFailed: (error) => platform.report('saving tunnels', error),
      },
      known,
    );
  }

  /** Shows what has changed in the parts, and has one follow the other. */
  #listen(): void {
    const { signIn, tunnelList, others, names, projects, diagnostics, snapshots } = this;
    const showChange = (): void => this.#showChange();
    signIn.changed.listen(() => {
      if (signIn.connection === undefined) {
        diagnostics.stop();
        projects.clear();
      }
      showChange();
    });
    signIn.signedIn.listen(({ connection, isSameAccount }) => {
      others.clear();
      names.clear();
      projects.clear();
      this.#inBackground('saving tunnels', tunnelList.resume(connection, isSameAccount));
      if (!isSameAccount) this.#inBackground('forgetting secrets', this.secrets.setAside());
      this.#poller.now();
    });
    tunnelList.changed.listen(() => {
      this.#ports.tunnelsChanged();
      showChange();
    });
    for (const { changed } of [this.undos, this.invitations, names]) changed.listen(showChange);
    for (const { changed } of [diagnostics, others, this.drops, projects, this.tray])
      changed.listen(() => snapshots.changed());
  }

  #makeSnapshot(): Snapshot {
    const { platform, store, signIn } = this;
    const { scan } = this.#ports;
    return {
      session: signIn.view,
      tunnels: this.tunnelList.tunnels.map((tunnel) =>
        tunnelView(tunnel, scan, this.#ports.judges(tunnel.served)),
      ),
      others: signIn.connection === undefined ? [] : this.others.views,
      names: signIn.connection === undefined ? [] : this.names.views,
      diagnostics: this.diagnostics.view,
      invitation: this.invitations.view,
      drop: this.drops.view,
      project: this.projects.view,
      projects: store.data.projects.map((folder) => ({ name: folderName(folder), folder })),
      ports: scan?.ports ?? [],
      settings: store.data.settings,
      locale: currentLocale(),
      undos: this.undos.views,
      update: this.#update,
      isOfCommand: this.#isOfCommand,
      isShortcutRefused: platform.summonKey?.isRefused ?? false,
      isTrayMissing: this.tray.isMissing,
      hasNetwork: platform.hasNetwork(),
    };
  }

  #showChange(): void {
    this.snapshots.changed();
    this.changed.emit();
  }

  async #poll(): Promise<void> {
    const { signIn, tunnelList, others, names } = this;
    try {
      await signIn.verify();
      const { connection } = signIn;
      if (connection === undefined) return;
      await others.retry(connection);
      const live = await tunnelList.refresh();
      if (signIn.connection !== connection) return;
      const { ownIds } = tunnelList;
      // A check opens a tunnel for a moment.
      if (!this.#isOfCommand && ownIds !== undefined && this.diagnostics.view?.isRunning !== true)
        await others.show(live, ownIds);
      if (!this.#isOfCommand) await names.refresh(connection);
      if (signIn.connection !== connection) return;
      await signIn.reached(undefined);
      const domain = live.map(nameDomainOf).find((name) => name !== undefined);
      if (domain !== undefined) await signIn.learnDomain(domain);
    } catch (error) {
      await signIn.reached(error);
    }
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
    const { clock } = this.platform;
    const { tunnels } = this.#makeSnapshot();
    for (const notice of this.#tunnelNotices.look(tunnels, clock.now(), this.#isInFront)) this.notify(notice);
    clock.setTimeout(() => this.#lookForNotices(), NOTICE_TICK_MS);
  }

  #inBackground(what: string, work: Promise<unknown>): void {
    work.catch((error: unknown) => this.platform.report(what, error));
  }
}

/** Secrets are stored as the key is. */
function wishOf({ view }: SignIn): 'session' | 'system' {
  return view.state === 'signed-in' && view.keyKept === 'session' ? 'session' : 'system';
}

/** Uses the language that the user has chosen. */
export function followLanguage(
  store: AppStore,
  { preferredLanguages }: Pick<Platform, 'preferredLanguages'>,
): void {
  setLocale(chooseLocale(store.data.settings.language, preferredLanguages()));
}
