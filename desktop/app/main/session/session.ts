/**
 * One sign-in, and everything about the tunnels of its account. The app has several at a time; all of them stay connected,
 * and the window shows one.
 */
import { randomUUID } from 'node:crypto';
import type { Host } from '../../../client/host/host.ts';
import type { InspectorServer } from '../../../client/inspector/inspector-server.ts';
import { toMessage } from '../../../client/messages.ts';
import type { OwnerLogHost } from '../../../client/methods/log-methods.ts';
import { RelayUnreachable } from '../../../client/relay/errors.ts';
import { Signal } from '../../../client/signal.ts';
import { isTroubled, type SignInView, type Snapshot, type TunnelView } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import { Domains } from '../account.ts';
import { Diagnostics } from '../diagnostics.ts';
import { Drops } from '../drops.ts';
import { keyRefusedNotice, knockNotice, type Notice, Notices } from '../notices.ts';
import type { Platform } from '../platform.ts';
import { Projects } from '../projects.ts';
import type { AppStore, SessionStore } from '../settings/app-store.ts';
import { openSecrets, type StoredSecrets } from '../settings/stored-parts.ts';
import { type Feed, Poller } from '../signals.ts';
import { Signatures, SigningSecrets } from '../signing.ts';
import { Asleep } from '../tunnels/asleep.ts';
import { KeptNames } from '../tunnels/kept-names.ts';
import { OtherTunnels } from '../tunnels/other-tunnels.ts';
import type { TunnelItem } from '../tunnels/tunnel-item.ts';
import { TunnelList } from '../tunnels/tunnel-list.ts';
import type { UndoList } from '../undo-list.ts';
import { nameDomainOf, SignIn, type SignInOptions } from './sign-in.ts';

/**
 * Maximum number of a tunnel's pending approval requests that are shown as notifications; the window lists all
 * of them.
 */
export const APPROVAL_NOTICES_MAX = 3;

/** What all sign-ins share. */
export interface SessionOptions extends Pick<SignInOptions, 'enter'> {
  readonly platform: Platform;
  readonly store: AppStore;
  readonly undos: UndoList;
  readonly snapshots: Feed<Snapshot>;
  /** the host of a command, which opens and closes its tunnels */
  readonly host: Host | undefined;
  /** shows the tunnels of the app to other programs */
  readonly inspector: InspectorServer | undefined;
  readonly notify: (notice: Notice) => void;
  readonly rememberProject: (folder: string) => Promise<void>;
  readonly viewOf: (tunnel: TunnelItem) => TunnelView;
  /** ms between two times that the relay is asked for traffic counters */
  readonly pollMs: () => number;
}

/** @param saved what the app remembers of it */
export async function openSession(options: SessionOptions, saved: SessionStore): Promise<Session> {
  const { platform } = options;
  const stored = await openSecrets(platform, saved.slot);
  const signIn = new SignIn({
    ...options,
    vault: stored.vault,
    saved,
    connect: (relay, key) => platform.connect(relay, key),
  });
  const secrets = await SigningSecrets.open(
    { vault: stored.secretsVault, now: () => platform.clock.now(), wish: () => wishOf(signIn) },
    saved.data.tunnels,
  );
  return new Session(options, saved, stored, signIn, secrets);
}

export class Session {
  /** another one has another, also after a restart */
  readonly id = randomUUID();
  readonly platform: Platform;
  readonly store: AppStore;
  readonly saved: SessionStore;
  readonly undos: UndoList;
  readonly snapshots: Feed<Snapshot>;
  readonly signIn: SignIn;
  readonly secrets: SigningSecrets;
  readonly tunnelList: TunnelList;
  readonly others: OtherTunnels;
  readonly names: KeptNames;
  readonly drops: Drops;
  readonly projects: Projects;
  readonly diagnostics: Diagnostics;
  readonly domains: Domains;
  readonly signatures: Signatures;
  /** the request logs of its tunnels */
  readonly logs: OwnerLogHost;
  /** The sign-in, or something about a tunnel, has changed. */
  readonly changed = new Signal();
  readonly #options: SessionOptions;
  readonly #asleep: Asleep;
  readonly #notices = new Notices();
  readonly #poller: Poller;

  constructor(
    options: SessionOptions,
    saved: SessionStore,
    stored: StoredSecrets,
    signIn: SignIn,
    secrets: SigningSecrets,
  ) {
    const { platform, store, undos, snapshots, rememberProject, pollMs } = options;
    const { clock } = platform;
    const connection = (): SignIn['connection'] => signIn.connection;
    this.#options = options;
    this.platform = platform;
    this.store = store;
    this.saved = saved;
    this.undos = undos;
    this.snapshots = snapshots;
    this.signIn = signIn;
    this.secrets = secrets;
    this.tunnelList = this.#listTunnels(stored);
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
      standing: () => saved.data.asleep,
      remember: (asleep) => saved.change({ asleep }),
    });
    this.names = new KeptNames({ clock, tunnelList, others, undos, asleep: this.#asleep, connection });
    this.drops = new Drops({ tunnelList, isSignedIn: () => signIn.connection !== undefined });
    this.projects = new Projects({ tunnelList, others, connection, remember: rememberProject });
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
    this.#poller = new Poller({
      clock,
      work: () => this.#poll(),
      pauseMs: pollMs,
      onError: (error) => platform.report('asking the relay', error),
    });
    this.#listen();
  }

  /** Whether nobody has ever signed in here. */
  get isBlank(): boolean {
    return this.signIn.connection === undefined && this.saved.data.account === undefined;
  }

  /** Signs in and serves tunnels as at the last end of the app. */
  async start(): Promise<void> {
    await this.signIn.restore();
    this.#poller.now();
  }

  /** Asks the relay now. */
  poll(): void {
    this.#poller.now();
  }

  /** Notes that a call could not reach the relay, so that the window can drop its message once the relay is back. */
  readonly noteFailure = (error: unknown): void => {
    if (error instanceof RelayUnreachable)
      this.#inBackground('noting that the relay is unreachable', this.signIn.reached(error));
  };

  tunnelViews(): readonly TunnelView[] {
    return this.tunnelList.tunnels.map(this.#options.viewOf);
  }

  /** see {@link Snapshot} */
  view() {
    const { signIn } = this;
    const isSignedIn = signIn.connection !== undefined;
    return {
      session: signIn.view,
      tunnels: this.tunnelViews(),
      others: isSignedIn ? this.others.views : [],
      names: isSignedIn ? this.names.views : [],
      diagnostics: this.diagnostics.view,
      drop: this.drops.view,
      project: this.projects.view,
    } satisfies Partial<Snapshot>;
  }

  /** What the menu shows of it. @param tunnels of it */
  signInView(isChosen: boolean, tunnels: readonly TunnelView[]): SignInView {
    const { view } = this.signIn;
    const { relay, account } = this.saved.data;
    const live = tunnels.filter(({ status }) => status.name !== 'ended');
    const isSignedIn = view.state === 'signed-in';
    return {
      id: this.id,
      relay: relay ?? '',
      account: account?.view.name ?? '',
      isChosen,
      isSignedIn,
      running: live.length,
      isTroubled: !isSignedIn || view.problem !== undefined || live.some(isTroubled),
    };
  }

  /** @returns what is new about its tunnels. @param isSeen whether the user has it in front of them */
  lookForNotices(isSeen: boolean): readonly Notice[] {
    return this.#notices.look(this.tunnelViews(), this.platform.clock.now(), isSeen);
  }

  /**
   * Signs out, forgets secrets, and ends the tunnels; the relay keeps those until this can no longer be undone.
   *
   * @param undone called when the user has taken it back
   * @param final called once that is no longer possible
   * @returns whether it can be undone at all
   */
  async signOut(undone: () => Promise<void>, final: () => Promise<void>): Promise<boolean> {
    const { signIn, tunnelList, secrets, undos } = this;
    // It does not reject, and takes as long as the relay does.
    void undos.commitAll();
    const closed = tunnelList.liveCount;
    const tunnels = await tunnelList.setAside(toMessage('ended.youSignedOut'));
    const restoreSecrets = await secrets.setAside();
    const wasSignedIn = signIn.connection !== undefined;
    const signInAgain = await signIn.signOut();
    // Its tunnels have ended, and its key does not work.
    if (!wasSignedIn) return false;
    undos.offer({
      text: t('undo.signedOut', { closed }),
      undo: async () => {
        await signInAgain();
        await restoreSecrets();
        await tunnels.restore();
        await undone();
      },
      commit: async () => {
        await tunnels.close();
        await final();
      },
    });
    return true;
  }

  /** This machine is going to sleep: the app notifies the relay, so that it does not have to wait for a timeout. */
  suspend(): void {
    this.#inBackground('setting the message of a sleep', this.#asleep.suspend());
    this.tunnelList.suspend();
  }

  /** This machine is awake again. A change of its network does not prove it: going to sleep also changes the network. */
  resume(): void {
    this.#asleep.resume();
  }

  /** The network has changed, or this machine is awake again. */
  wake(): void {
    this.tunnelList.wake();
    this.#poller.now();
  }

  /** Ends: it follows no other program, and asks the relay nothing. */
  close(): void {
    this.#poller.stop();
    this.others.clear();
  }

  #listTunnels({ passwordStore, passwords }: StoredSecrets): TunnelList {
    const { platform, saved, signIn, undos } = this;
    const { host, inspector, notify } = this.#options;
    return new TunnelList(
      {
        clock: platform.clock,
        connectTunnel: platform.connectTunnel,
        keptBody: () => this.store.data.settings.keptBody,
        inspector,
        undos,
        connection: () => signIn.connection,
        inventPassword: platform.inventPassword,
        onKnock: ({ key, tunnel, knocks }, knock) => {
          if (knocks.length <= APPROVAL_NOTICES_MAX) notify(knockNotice(key, tunnel.slug, knock));
        },
        async save(tunnels, passwordsNow) {
          const { view } = signIn;
          await saved.change({ tunnels });
          await passwordStore.keep(passwordsNow, view.state === 'signed-in' ? view.keyKept : undefined);
        },
        onKeyRefused: () => {
          const { connection } = signIn;
          if (connection === undefined) return;
          notify(keyRefusedNotice(new URL(connection.relay.origin).host));
          this.#inBackground('signing out', signIn.keyRefused());
        },
        onSaveFailed: (error) => platform.report('saving tunnels', error),
      },
      host === undefined ? { saved: saved.data.tunnels, passwords } : { host },
    );
  }

  /** Shows what has changed in the parts, and has one follow the other. */
  #listen(): void {
    const { signIn, tunnelList, others, names, projects, diagnostics, snapshots } = this;
    const showChange = (): void => this.changed.emit();
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
      tunnelList.resume(connection);
      if (!isSameAccount) this.#inBackground('forgetting secrets', this.secrets.setAside());
      this.#poller.now();
    });
    for (const { changed } of [tunnelList, names]) changed.listen(showChange);
    for (const { changed } of [diagnostics, others, this.drops, projects])
      changed.listen(() => snapshots.changed());
  }

  get #isOfCommand(): boolean {
    return this.#options.host !== undefined;
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

  #inBackground(what: string, work: Promise<unknown>): void {
    work.catch((error: unknown) => this.platform.report(what, error));
  }
}

/** Secrets are stored as the key is. */
function wishOf({ view }: SignIn): 'session' | 'system' {
  return view.state === 'signed-in' && view.keyKept === 'session' ? 'session' : 'system';
}
