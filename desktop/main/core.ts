/** The app without Electron: what it remembers, who is signed in, its tunnels, and what is shown of them. */
import { join } from 'node:path';
import type { Snapshot } from '../shared/snapshot.ts';
import type { Handlers } from './handlers/handle.ts';
import { createHandlers } from './handlers/handlers.ts';
import {
  KNOCK_NOTICES_MAX,
  NOTICE_TICK_MS,
  POLL_HIDDEN_MS,
  POLL_VISIBLE_MS,
  PORTS_INTERVAL_MS,
  SNAPSHOT_INTERVAL_MS,
  TRAY_INTERVAL_MS,
} from './limits.ts';
import { KEY_REFUSED_NOTICE, knockNotice, type Notice, Notices } from './notices/notices.ts';
import type { Platform } from './platform.ts';
import { Poller } from './poller.ts';
import type { PortScan } from './ports/port-scan.ts';
import { nameDomainOf } from './session/account-view.ts';
import { KEY_FILE_VERSION, KeyVault, readKeptKey } from './session/key-vault.ts';
import { SignIn } from './session/sign-in.ts';
import { APP_DATA_VERSION, INITIAL_APP_DATA, readAppData } from './settings/app-data.ts';
import { AppStore } from './settings/app-store.ts';
import { JsonFile } from './settings/json-file.ts';
import { Signal } from './signal.ts';
import { Feed } from './snapshot/feed.ts';
import { tunnelView } from './snapshot/tunnel-view.ts';
import { type TrayModel, trayModel } from './tray/tray-model.ts';
import { Admission } from './tunnels/admission.ts';
import { PasswordStore } from './tunnels/passwords.ts';
import { TunnelDesk } from './tunnels/tunnel-desk.ts';

export interface Core {
  readonly handlers: Handlers;
  readonly store: AppStore;
  readonly desk: TunnelDesk;
  readonly snapshots: Feed<Snapshot>;
  readonly tray: Feed<TrayModel>;
  /** what the user is to be told outside the window */
  readonly notices: Signal<Notice>;
  /** The user wants the app to quit. */
  readonly quitRequested: Signal;
  /** Continues where the app was when it ended: signs in, serves tunnels. To be called once everything listens. */
  start(): Promise<void>;
  /** Whether somebody can see the window. */
  setVisible(isVisible: boolean): void;
  /** This machine is going to sleep: the app tells relays, so that they need not notice by its silence. */
  suspend(): void;
  /** The network has changed, or this machine is awake again. */
  wake(): void;
}

/** @throws if the app's own files cannot be read at all */
export async function createCore(platform: Platform): Promise<Core> {
  const { clock } = platform;
  const store = await openStore(platform);
  const vault = openVault(platform, 'key.json');
  const { store: passwordStore, passwords } = await PasswordStore.open(openVault(platform, 'passwords.json'));
  let scan: PortScan | undefined;
  let isVisible = false;
  const notices = new Signal<Notice>();
  const quitRequested = new Signal();
  const tunnelNotices = new Notices();
  const inBackground = (what: string, work: Promise<void>): void => {
    work.catch((error: unknown) => platform.report(what, error));
  };

  const signIn = new SignIn({ vault, store, connect: (relay, key) => platform.connect(relay, key) });
  const desk = new TunnelDesk(
    {
      now: () => clock.now(),
      serve: platform.serve,
      createLog: (target) => platform.createLog(target),
      connection: () => signIn.connection,
      inventPassword: platform.inventPassword,
      onKnock({ key, tunnel, knocks }, knock) {
        if (!store.data.settings.notifies || knocks.length > KNOCK_NOTICES_MAX) return;
        notices.emit(knockNotice(key, tunnel.slug, knock));
      },
      async save(tunnels, passwordsNow) {
        const { view } = signIn;
        await store.change({ tunnels });
        await passwordStore.keep(passwordsNow, view.state === 'signed-in' ? view.keyKept : undefined);
      },
      onKeyRefused() {
        if (signIn.connection === undefined) return;
        if (store.data.settings.notifies) notices.emit(KEY_REFUSED_NOTICE);
        inBackground('signing out', signIn.keyRefused());
      },
      onSaveFailed: (error) => platform.report('saving tunnels', error),
    },
    store.data.tunnels,
    passwords,
  );
  const admission = new Admission({
    desk,
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
  signIn.changed.listen(showChange);
  desk.changed.listen(showChange);
  signIn.signedIn.listen(({ connection, isSameAccount }) => {
    inBackground('saving tunnels', desk.resume(connection, isSameAccount));
    poller.now();
  });

  function makeSnapshot(): Snapshot {
    return {
      session: signIn.view,
      tunnels: desk.tunnels.map((tunnel) => tunnelView(tunnel, scan)),
      ports: scan?.ports ?? [],
      settings: store.data.settings,
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
      const live = await desk.refresh();
      if (signIn.connection === undefined) return;
      await signIn.reached(undefined);
      const domain = live.map(nameDomainOf).find((name) => name !== undefined);
      if (domain !== undefined) await signIn.learnDomain(domain);
    } catch (error) {
      await signIn.reached(error);
    }
  }

  async function lookAtPorts(): Promise<void> {
    if (!isVisible) return;
    scan = await platform.scanPorts();
    snapshots.changed();
  }

  function lookForNotices(): void {
    const found = tunnelNotices.look(makeSnapshot().tunnels, clock.now());
    if (store.data.settings.notifies) for (const notice of found) notices.emit(notice);
    clock.setTimeout(lookForNotices, NOTICE_TICK_MS);
  }

  return {
    async start() {
      await signIn.restore();
      poller.now();
      ports.now();
      lookForNotices();
    },
    handlers: createHandlers({
      platform,
      signIn,
      desk,
      admission,
      inventPassword: platform.inventPassword,
      store,
      feed: snapshots,
      quit: () => quitRequested.emit(),
    }),
    store,
    desk,
    snapshots,
    tray,
    notices,
    quitRequested,
    setVisible(value) {
      if (value === isVisible) return;
      isVisible = value;
      if (!value) return;
      poller.now();
      ports.now();
    },
    suspend() {
      desk.suspend();
    },
    wake() {
      desk.wake();
      showChange();
      poller.now();
    },
  };
}

/** A file of its own for a secret. */
function openVault({ encryption, dataDirectory }: Platform, name: string): KeyVault {
  const file = { version: KEY_FILE_VERSION, read: readKeptKey, initial: undefined };
  return new KeyVault(encryption, new JsonFile({ path: join(dataDirectory, name), ...file }));
}

async function openStore(platform: Platform): Promise<AppStore> {
  const file = new JsonFile({
    path: join(platform.dataDirectory, 'culvert.json'),
    version: APP_DATA_VERSION,
    read: readAppData,
    initial: INITIAL_APP_DATA,
  });
  const { value, asideAt } = await file.load();
  if (asideAt !== undefined) {
    platform.tell({
      code: 'settings-bad',
      text: `Your settings could not be read, so Culvert starts with new ones. The old file is kept at ${asideAt}.`,
    });
  }
  return new AppStore(file, value);
}
