/** The system around the app's core if the window is a page in a browser: Node, and what the browser does for it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { LongTimer } from '../../../shared/timer.ts';
import { type Clock, systemClock } from '../../client/clock.ts';
import type { Machine } from '../../client/config/stored-login.ts';
import { networkAddresses } from '../../client/control/machine-watch.ts';
import { findTunnels, runtimeFolder } from '../../client/inspector/inspector-protocol.ts';
import { inventPassword } from '../../client/invented-password.ts';
import { IMPORT_MAX_BYTES } from '../../client/limits.ts';
import type { Network } from '../../client/network/network.ts';
import { ApiClient } from '../../client/relay/api-client.ts';
import { lookAtInvitation, takeInvitation } from '../../client/relay/invitation.ts';
import type { RelayAddress } from '../../client/relay/relay-address.ts';
import type { About } from '../ipc/ipc.ts';
import { t, type TextKey } from '../messages/translate.ts';
import type { ProjectLinks } from '../main/deep-link.ts';
import { runDiagnostics } from '../main/diagnostics.ts';
import { CallFailure } from '../main/failure.ts';
import type { Platform } from '../main/platform.ts';
import { createPortScan } from '../main/ports/port-scan.ts';
import { importTooLarge } from '../main/requests.ts';
import { serveWithEngine } from '../main/tunnels/folder-service.ts';
import { createTunnelLog } from '../main/tunnels/tunnel-log.ts';
import type { Page } from './page.ts';

export interface BrowserPlatformOptions {
  readonly machine: Machine;
  readonly about: About;
  readonly links: ProjectLinks;
  /** the way to each relay */
  readonly networkTo: (relay: RelayAddress) => Network;
  /** directory of the app's files; `undefined` for the window of a command */
  readonly dataDirectory: string | undefined;
  /** Shows a line on the terminal. */
  readonly say: (text: string) => void;
}

export interface BrowserPlatform extends Platform {
  /** Does what a page asks for: its browser copies, opens and saves. */
  runFor<T>(page: Page, work: () => T): T;
  /** The languages of the user's browser, best first. */
  languages: readonly string[];
}

/** Its timers do not keep the process alive, which ends with the server. */
const CLOCK: Clock = {
  ...systemClock,
  setTimeout: (callback, ms) => new LongTimer(callback, ms, false),
};

export function browserPlatform(options: BrowserPlatformOptions): BrowserPlatform {
  const { machine, about, links, networkTo, dataDirectory, say } = options;
  const { env, platform } = machine;
  const pages = new AsyncLocalStorage<Page>();
  const thePage = (): Page => {
    const page = pages.getStore();
    if (page === undefined) throw new Error('no page has asked for this');
    return page;
  };
  let languages: readonly string[] = [Intl.DateTimeFormat().resolvedOptions().locale];
  return {
    runFor: (page, work) => pages.run(page, work),
    get languages() {
      return languages;
    },
    set languages(tags) {
      languages = tags;
    },
    clock: CLOCK,
    dataDirectory,
    // A page has no key store. The key is stored as `culvert login` stores it, if the user wants that.
    encryption: {
      isReal: () => Promise.resolve(false),
      encrypt: () => Promise.reject(new Error('there is no key store')),
      decrypt: () => Promise.reject(new Error('there is no key store')),
    },
    autostart: undefined,
    summonKey: undefined,
    about,
    links,
    connect: (relay, key) => new ApiClient(relay, key, networkTo(relay)),
    lookAtInvitation: (invitation) => lookAtInvitation(invitation, networkTo(invitation.relay)),
    takeInvitation: (invitation) => takeInvitation(invitation, networkTo(invitation.relay)),
    examine: (connection, ...rest) => runDiagnostics(networkTo(connection.relay))(connection, ...rest),
    serve: (serving) => serveWithEngine(networkTo(serving.connection.relay))(serving),
    createLog: createTunnelLog,
    servedHere: async () => new Set((await findTunnels(runtimeFolder(env, platform))).map(({ id }) => id)),
    scanPorts: createPortScan(platform, () => new Set([process.pid])),
    hasNetwork: () => networkAddresses() !== '',
    preferredLanguages: () => languages,
    inventPassword: () => inventPassword(),
    async copy(text) {
      assertDone(await thePage().ask('copy', text), 'browser.notCopied');
    },
    chooseFileToWrite(name) {
      const page = thePage();
      return Promise.resolve({
        path: name,
        async write(text) {
          if (!(await page.ask('save', { name, text }))) throw new Error(t('browser.notSaved'));
        },
      });
    },
    chooseFolder: () => thePage().askForFolder(t('browser.whichFolder')),
    async chooseHarToRead() {
      const file = await thePage().askForFile('.har,.json');
      if (file === undefined) return undefined;
      if (file.size > IMPORT_MAX_BYTES) throw importTooLarge(file.name, file.size);
      return file.content.toString();
    },
    async open(url) {
      assertDone(await thePage().ask('open', url), 'browser.notOpened');
    },
    tell: ({ text }) => say(text),
    setTheme: () => undefined,
    report: (what, error) =>
      say(`${what}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`),
  };
}

/** @throws CallFailure unless the browser has done it */
function assertDone(isDone: boolean, key: TextKey): void {
  if (!isDone) throw new CallFailure({ code: 'browser', text: t(key) });
}
