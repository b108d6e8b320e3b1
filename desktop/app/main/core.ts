/** The app without Electron: its memory, its account, its tunnels, and the snapshots of them that the window shows. */
import { join } from 'node:path';
import type { Snapshot, UpdateView } from '../ipc/snapshot.ts';
import { chooseLocale, currentLocale, setLocale, t } from '../messages/translate.ts';
import { Domains, Team } from './account.ts';
import { Diagnostics } from './diagnostics.ts';
import { Drops } from './drops.ts';
import { keyRefusedNotice, knockNotice, type Notice, Notices } from './notices.ts';
import type { Platform } from './platform.ts';
import type { PortScan } from './ports.ts';
import { Projects } from './projects.ts';
import { Invitations } from './session/invitations.ts';
import { nameDomainOf, SignIn } from './session/sign-in.ts';
import {
  APP_DATA_VERSION,
  AppStore,
  INITIAL_APP_DATA,
  JsonFile,
  type JsonFileOptions,
  MemoryFile,
  readAppData,
  type ValueFile,
} from './settings/app-store.ts';
import {
  KEY_FILE_VERSION,
  type KeyFile,
  KeyVault,
  PasswordStore,
  readKeptKey,
} from './settings/key-vault.ts';
import type { Host } from '../../client/host/host.ts';
import { Signal } from '../../client/signal.ts';
import { Feed, Poller } from './signals.ts';
import { Signatures, SigningSecrets } from './signing.ts';
import { trayModel } from './tray.ts';
import { folderName, tunnelView } from './tunnel-view.ts';
import { Approvals } from './tunnels/approvals.ts';
import { OtherTunnels } from './tunnels/other-tunnels.ts';
import { TunnelList } from './tunnels/tunnel-list.ts';
import { UndoList } from './undo-list.ts';

/**
 * @limit Minimum interval between two updates of the window: a person can follow only a few changes in a second, and
 * each costs the page a rendering.
 */
export const SNAPSHOT_INTERVAL_MS = 250;
/**
 * @limit Minimum interval between two updates of the tray menu: a menu that is rebuilt while it is open closes on some
 * Linux desktops.
 */
const TRAY_INTERVAL_MS = 1000;
/**
 * @limit Interval at which the app asks the relay for traffic counters while the window is visible: they are updated at
 * the relay's own pace.
 */
export const POLL_VISIBLE_MS = 2000;
/**
 * @limit Interval at which the app asks the relay for traffic counters while the window is hidden: often enough that
 * "expires in 5 minutes" is shown for an idle tunnel at the right time.
 */
export const POLL_HIDDEN_MS = 30_000;
/** @limit How often ports are looked for while somebody looks. */
export const PORTS_INTERVAL_MS = 4000;
/** @limit How often a tunnel's time and connection are checked for notifications. */
const NOTICE_TICK_MS = 5000;
/**
 * @limit Maximum number of a tunnel's pending approval requests that are shown as notifications; the window lists all
 * of them.
 */
export const APPROVAL_NOTICES_MAX = 3;
/** @limit Number of recent projects that the window offers: what a person works on at a time. */
export const RECENT_PROJECTS_MAX = 5;

export type Core = Awaited<ReturnType<typeof createCore>>;

/**
 * @param host the tunnels of a command, which opens and closes them; by default, those of the app
 * @throws if the app's own files cannot be read at all
 */
export async function createCore(platform: Platform, host?: Host) {
  const { clock } = platform;
  const isOfCommand = host !== undefined;
  const store = await openStore(platform);
  followLanguage(store, platform);
  const vault = new KeyVault(platform.encryption, secretFile(platform, 'key.json'));
  const { store: passwordStore, passwords } = await PasswordStore.open(
    await openVault(platform, 'passwords.json'),
  );
  let scan: PortScan | undefined;
  /** The tunnels, and the known state of their local services, when the latest port scan began. */
  let asked: ReadonlySet<object | undefined> = new Set();
  /** The same for `scan`, which does not reflect later changes. */
  let judged: ReadonlySet<object | undefined> = new Set();
  let isVisible = false;
  let isInFront = false;
  let isChoosing = false;
  const notices = new Signal<Notice>();
  const quitRequested = new Signal();
  const localeChanged = new Signal();
  const updateRequested = new Signal();
  let update: UpdateView | undefined;
  const tunnelNotices = new Notices();
  /** Tells the user something outside the window, unless they want no notices or see the window. */
  const notify = (notice: Notice): void => {
    if (store.data.settings.notifies && !isInFront) notices.emit(notice);
  };
  const inBackground = (what: string, work: Promise<void>): void => {
    work.catch((error: unknown) => platform.report(what, error));
  };

  const undos = new UndoList(clock, (error) => platform.report('what was to be final', error));
  const signIn = new SignIn({ vault, store, connect: (relay, key) => platform.connect(relay, key) });
  const tunnelList = new TunnelList(
    {
      clock,
      connectTunnel: platform.connectTunnel,
      keptBody: () => store.data.settings.keptBody,
      undos,
      connection: () => signIn.connection,
      inventPassword: platform.inventPassword,
      onKnock({ key, tunnel, knocks }, knock) {
        if (knocks.length <= APPROVAL_NOTICES_MAX) notify(knockNotice(key, tunnel.slug, knock));
      },
      async save(tunnels, passwordsNow) {
        const { view } = signIn;
        await store.change({ tunnels });
        await passwordStore.keep(passwordsNow, view.state === 'signed-in' ? view.keyKept : undefined);
      },
      onKeyRefused() {
        if (signIn.connection === undefined) return;
        notify(keyRefusedNotice());
        inBackground('signing out', signIn.keyRefused());
      },
      onSaveFailed: (error) => platform.report('saving tunnels', error),
    },
    host === undefined ? { saved: store.data.tunnels, passwords } : { host },
  );
  const wish = (): 'session' | 'system' => {
    const { view } = signIn;
    return view.state === 'signed-in' && view.keyKept === 'session' ? 'session' : 'system';
  };
  const secrets = await SigningSecrets.open(
    { vault: await openVault(platform, 'signing-secrets.json'), now: () => clock.now(), wish },
    store.data.tunnels,
  );
  const invitations = new Invitations({
    platform,
    keeps: () => vault.keeps(),
    signIn,
    tunnelList,
    secrets,
    undos,
  });
  const drops = new Drops({ tunnelList, isSignedIn: () => signIn.connection !== undefined });
  const diagnostics = new Diagnostics({
    connection: () => signIn.connection,
    examine: platform.examine,
    onError: (error) => platform.report('finding out why', error),
  });
  const others = new OtherTunnels({
    connection: () => signIn.connection,
    undos,
    ownIds: () => tunnelList.ownIds,
    servedHere: () => platform.servedHere(),
  });
  const projects = new Projects({
    tunnelList,
    others,
    connection: () => signIn.connection,
    async remember(folder) {
      const before = store.data.projects.filter((other) => other !== folder);
      await store.change({ projects: [folder, ...before].slice(0, RECENT_PROJECTS_MAX) });
    },
  });
  const approvals = new Approvals({
    tunnelList,
    connection: () => signIn.connection,
    copy: (text) => platform.copy(text),
  });
  const snapshots = new Feed({ clock, intervalMs: SNAPSHOT_INTERVAL_MS, make: makeSnapshot });
  const tray = new Feed({ clock, intervalMs: TRAY_INTERVAL_MS, make: () => trayModel(makeSnapshot()) });
  const poller = new Poller({
    clock,
    work: poll,
    pauseMs: () => (isVisible ? POLL_VISIBLE_MS : POLL_HIDDEN_MS),
    onError: (error) => platform.report('asking the relay', error),
  });
  const ports = new Poller({
    clock,
    work: lookAtPorts,
    pauseMs: () => PORTS_INTERVAL_MS,
    onError: (error) => platform.report('looking at ports', error),
  });
  signIn.changed.listen(() => {
    if (signIn.connection === undefined) {
      diagnostics.stop();
      projects.clear();
    }
    showChange();
  });
  tunnelList.changed.listen(() => {
    if (tunnelList.tunnels.some(({ served: { serving } }) => serving !== undefined && !asked.has(serving)))
      ports.now();
    showChange();
  });
  undos.changed.listen(showChange);
  diagnostics.changed.listen(() => snapshots.changed());
  others.changed.listen(() => snapshots.changed());
  invitations.changed.listen(showChange);
  drops.changed.listen(() => snapshots.changed());
  projects.changed.listen(() => snapshots.changed());
  signIn.signedIn.listen(({ connection, isSameAccount }) => {
    others.clear();
    projects.clear();
    inBackground('saving tunnels', tunnelList.resume(connection, isSameAccount));
    if (!isSameAccount) inBackground('forgetting secrets', forgetSecrets());
    poller.now();
  });

  async function forgetSecrets(): Promise<void> {
    await secrets.setAside();
  }

  function makeSnapshot(): Snapshot {
    return {
      session: signIn.view,
      tunnels: tunnelList.tunnels.map((tunnel) =>
        tunnelView(tunnel, scan, judged.has(tunnel.served.localNews)),
      ),
      others: signIn.connection === undefined ? [] : others.views,
      diagnostics: diagnostics.view,
      invitation: invitations.view,
      drop: drops.view,
      project: projects.view,
      projects: store.data.projects.map((folder) => ({ name: folderName(folder), folder })),
      ports: scan?.ports ?? [],
      settings: store.data.settings,
      locale: currentLocale(),
      undos: undos.views,
      update,
      isOfCommand,
      isShortcutRefused: platform.summonKey?.isRefused ?? false,
      hasNetwork: platform.hasNetwork(),
    };
  }

  function showChange(): void {
    snapshots.changed();
    tray.changed();
  }

  async function poll(): Promise<void> {
    try {
      await signIn.verify();
      const { connection } = signIn;
      if (connection === undefined) return;
      await others.retry(connection.api);
      const live = await tunnelList.refresh();
      if (signIn.connection !== connection) return;
      const { ownIds } = tunnelList;
      // A check opens a tunnel for a moment.
      if (!isOfCommand && ownIds !== undefined && diagnostics.view?.isRunning !== true)
        await others.show(live, ownIds);
      await signIn.reached(undefined);
      const domain = live.map(nameDomainOf).find((name) => name !== undefined);
      if (domain !== undefined) await signIn.learnDomain(domain);
    } catch (error) {
      await signIn.reached(error);
    }
  }

  async function lookAtPorts(): Promise<void> {
    if (!isVisible) return;
    asked = new Set(tunnelList.tunnels.flatMap(({ served: { serving, localNews } }) => [serving, localNews]));
    scan = await platform.scanPorts();
    // There are no scans while the window is hidden, and tray and notices must not rely on an old one.
    judged = isVisible ? asked : new Set();
    showChange();
  }

  /** The network has changed, or this machine is awake again. */
  function wake(): void {
    tunnelList.wake();
    showChange();
    poller.now();
  }

  /** Start at login can also be changed in the settings of the system. */
  async function readSystemSettings(): Promise<void> {
    const startsAtLogin = await platform.autostart?.isOn();
    if (startsAtLogin === undefined || startsAtLogin === store.data.settings.startsAtLogin) return;
    await store.change({ settings: { ...store.data.settings, startsAtLogin } });
    snapshots.changed();
  }

  /** Asks the user for a folder, with one dialog at a time, and shows the result before the call ends. */
  async function askForFolder(then: (folder: string) => Promise<void>): Promise<void> {
    if (isChoosing) return;
    isChoosing = true;
    let folder: string | undefined;
    try {
      folder = await platform.chooseFolder();
    } finally {
      isChoosing = false;
    }
    if (folder !== undefined) await then(folder);
    snapshots.flush();
  }

  function lookForNotices(): void {
    for (const notice of tunnelNotices.look(makeSnapshot().tunnels, clock.now(), isInFront)) notify(notice);
    clock.setTimeout(lookForNotices, NOTICE_TICK_MS);
  }

  return {
    platform,
    store,
    signIn,
    invitations,
    tunnelList,
    others,
    diagnostics,
    approvals,
    domains: new Domains(() => signIn.connection, undos),
    team: new Team(() => signIn.connection),
    drops,
    projects,
    signatures: new Signatures(secrets, () => clock.now()),
    secrets,
    undos,
    snapshots,
    tray,
    /** notices for the user outside the window */
    notices,
    /** The app uses another language from now on. */
    localeChanged,
    /** The user wants the app to quit. */
    quitRequested,
    /** The user wants the downloaded version, now. */
    updateRequested,
    /** Signs in and serves tunnels as at the last end of the app. Call it once everything listens. */
    async start(): Promise<void> {
      platform.summonKey?.use(store.data.settings.summonShortcut);
      await signIn.restore();
      poller.now();
      ports.now();
      lookForNotices();
    },
    askForFolder,
    /** Shows the invitation of a link, and asks the user. */
    openInvitation(address: string): void {
      inBackground('opening an invitation', invitations.open(address));
    },
    /** Shows files dropped on the tray icon, and asks the user whether to share them. */
    drop(paths: readonly string[]): void {
      inBackground('looking at what was dropped', drops.show(paths));
    },
    /** There is a newer version of the app. */
    setUpdate(value: UpdateView): void {
      update = value;
      snapshots.changed();
    },
    /** Whether the window can be seen. */
    setVisible(value: boolean): void {
      if (value === isVisible) return;
      isVisible = value;
      if (!value) {
        judged = new Set();
        showChange();
        return;
      }
      inBackground('reading settings of the system', readSystemSettings());
      poller.now();
      ports.now();
    },
    /** Whether the window has the focus: then it shows everything, and there are no notices. */
    setInFront(value: boolean): void {
      isInFront = value;
    },
    notify,
    /** This machine is going to sleep: the app notifies relays, so that they do not have to wait for a timeout. */
    suspend(): void {
      tunnelList.suspend();
    },
    wake,
  };
}

/** Uses the language that the user has chosen. */
export function followLanguage(
  store: AppStore,
  { preferredLanguages }: Pick<Platform, 'preferredLanguages'>,
): void {
  setLocale(chooseLocale(store.data.settings.language, preferredLanguages()));
}

/** A file of its own for a secret. */
function secretFile(platform: Platform, name: string): KeyFile {
  return fileOf(platform, name, { version: KEY_FILE_VERSION, read: readKeptKey, initial: undefined });
}

function fileOf<T>(
  { dataDirectory }: Platform,
  name: string,
  options: Omit<JsonFileOptions<T>, 'path'>,
): ValueFile<T> {
  if (dataDirectory === undefined) return new MemoryFile(options.initial);
  return new JsonFile({ path: join(dataDirectory, name), ...options });
}

/**
 * Secrets that only the system's key store can decrypt stay where they are while this process cannot use it, as in a
 * browser: it keeps its own beside them. The API key is different, because signing in replaces it.
 */
async function openVault(platform: Platform, name: string): Promise<KeyVault> {
  const { encryption } = platform;
  const file = secretFile(platform, name);
  if (await encryption.isReal()) return new KeyVault(encryption, file);
  const { value } = await file.load();
  return new KeyVault(encryption, value?.kept === 'system' ? secretFile(platform, `plain-${name}`) : file);
}

async function openStore(platform: Platform): Promise<AppStore> {
  const file = fileOf(platform, 'culvert.json', {
    version: APP_DATA_VERSION,
    read: readAppData,
    initial: INITIAL_APP_DATA,
  });
  const { value, asideAt } = await file.load();
  if (asideAt !== undefined) {
    platform.tell({
      code: 'settings-bad',
      text: t('session.settingsUnreadable', { path: asideAt }),
    });
  }
  return new AppStore(file, value);
}
