/** Composition root of the window in a browser: builds the parts, connects them, and starts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VERSION } from '../../../shared/version.ts';
import { isMissing } from '../../client/config/durable-file.ts';
import { readBuilt } from '../../client/own-program.ts';
import type { RelayAccess } from '../../client/config/relay-access.ts';
import { appDataFolder, type Login, type Machine } from '../../client/config/stored-login.ts';
import { machineAddresses, MachineWatch, networkAddresses } from '../../client/control/machine-watch.ts';
import type { Host } from '../../client/host/host.ts';
import { isLoopback } from '../../client/network/dial.ts';
import { answerQuestions, type AskOwner } from '../../client/owner-questions.ts';
import { Network } from '../../client/network/network.ts';
import { readNetworkSettings } from '../../client/network/proxy-dial.ts';
import type { RelayAddress } from '../../client/relay/relay-address.ts';
import type { About } from '../ipc/ipc.ts';
import { type Core, createCore } from '../main/core.ts';
import { type ProjectLinks, projectLinks, removeLinkFile, writeLinkFile } from '../main/deep-link.ts';
import { lockInstance } from '../main/instance-lock.ts';
import {
  BROWSER_CHANNELS,
  browserPlatform,
  type BrowserPlatform,
  BrowserWindow,
  COMMAND_CHANNELS,
} from './browser-window.ts';
import type { WindowServer } from './window-server.ts';

/** The port of the window in a browser: users of other tunnel clients know it for that. */
const UI_PORT = 4040;
/**
 * Number of ports that are tried, from that one on, if nobody asked for one: more windows than a person has
 * open.
 */
const UI_PORTS_TRIED = 20;

export { AlreadyRunning } from '../main/instance-lock.ts';

interface OpenWindowOptions {
  readonly machine: Machine;
  /** what `culvert login` has stored */
  readonly login: Login | undefined;
  /** `undefined` for the usual one; 0 for any */
  readonly port: number | undefined;
  /** IP address to listen on */
  readonly host: string;
  /** Shows a line on the terminal. */
  readonly say: (text: string) => void;
  /** Asks on the terminal what other programs want to know. */
  readonly ask: AskOwner;
}

export type OpenHostWindow = Awaited<ReturnType<typeof openHostWindow>>;

/**
 * Opens the window of a command, on this machine only: it shows the command's tunnels, and nothing else of the account. It
 * uses no file of the app's, which may be running.
 *
 * @param access the relay, and how the command reaches it
 * @throws RelayRefusal, RelayUnreachable; Error if no port is free
 */
export async function openHostWindow(
  machine: Machine,
  { relay, key, network }: Pick<RelayAccess, 'relay' | 'key' | 'network'>,
  host: Host,
  say: (text: string) => void,
) {
  const networkTo = (): Network => network;
  const platform = browserPlatform({ ...readAbout(), machine, networkTo, dataDirectory: undefined, say });
  const core = await createCore(platform, host);
  await core.start();
  const api = platform.connect(relay, key);
  await core.chosen.signIn.enter({ relay, key, api }, await api.getAccount(), 'session');
  const channels = COMMAND_CHANNELS;
  const { server } = new BrowserWindow({ core, platform, directory: DIRECTORY, isRemote: false, channels });
  const origin = `http://${LOOPBACK}:${await listen(server, LOOPBACK, undefined)}`;
  let folder: string | undefined;
  const removeFolder = (): void => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', removeFolder);
  return {
    origin,
    access: server.access,
    /** Creates a file that opens a link. @returns its path */
    createLinkFile(link: string): Promise<string> {
      folder ??= mkdtempSync(join(tmpdir(), 'culvert-window-'));
      return writeLinkFile(folder, link);
    },
    close(): void {
      server.close();
      removeFolder();
    },
  };
}

const LOOPBACK = '127.0.0.1';

export type OpenWindow = Awaited<ReturnType<typeof openWindow>>;

/** The window's files, which the build puts beside the program. */
export const DIRECTORY = join(import.meta.dirname, 'window');

/**
 * @throws AlreadyRunning; NetworkSettingError if the environment describes a way to relays that cannot be used; Error if the
 *   port is not free, or the app's files cannot be read
 */
export async function openWindow(options: OpenWindowOptions) {
  const { machine, login, host, port, say } = options;
  const dataDirectory = appDataFolder(machine);
  const platform = browserPlatform({
    ...readAbout(),
    machine,
    networkTo: networksOf(machine, login),
    dataDirectory,
    say,
  });
  let origin = '';
  let window: BrowserWindow | undefined;
  /** Creates a link that opens the window, once. */
  const createLink = (): string => `${origin}/#${window?.server.access.createToken() ?? ''}`;
  const lock = await lockInstance(dataDirectory, () => ({
    program: 'culvert ui',
    pid: process.pid,
    link: origin === '' ? undefined : createLink(),
  }));
  process.once('exit', () => lock.release());
  try {
    const core = await createCore(platform);
    window = new BrowserWindow({
      core,
      platform,
      directory: DIRECTORY,
      isRemote: !isLoopback(host),
      channels: BROWSER_CHANNELS,
    });
    origin = `http://${addressFor(host)}:${await listen(window.server, host, port)}`;
    await core.start();
    signInAsCommand(core, login, platform);
    const watch = new MachineWatch({
      clock: platform.clock,
      addresses: networkAddresses,
      onChange: () => core.wake(),
    });
    watch.start();
    const endQuestions = await answerQuestions(dataDirectory, options.ask);
    const { server } = window;
    return {
      core,
      platform,
      window,
      createLink,
      /** Creates a file that opens such a link. @returns its path */
      createLinkFile: (): Promise<string> => writeLinkFile(dataDirectory, createLink()),
      async close(): Promise<void> {
        watch.stop();
        endQuestions();
        server.close();
        core.close();
        await removeLinkFile(dataDirectory);
        lock.release();
      },
    };
  } catch (error) {
    window?.server.close();
    lock.release();
    throw error;
  }
}

/** If the app was never used, its window begins with the account of the command. */
function signInAsCommand(core: Core, login: Login | undefined, platform: BrowserPlatform): void {
  if (login === undefined || core.store.data.sessions.length > 0) return;
  const { relay, key } = login;
  core.chosen.signIn.signIn({ relay: relay.origin, key, keep: 'file' }).catch((error: unknown) => {
    // The window shows the form, and the relay's refusal once the user tries.
    platform.tell({ code: 'sign-in', text: error instanceof Error ? error.message : String(error) });
  });
}

/** @throws NetworkSettingError */
function networksOf({ env }: Machine, login: Login | undefined): (relay: RelayAddress) => Network {
  const settings = readNetworkSettings(env);
  const usual = new Network(settings);
  const ofLogin = new Network({ ...settings, ca: settings.ca ?? login?.ca });
  return ({ origin }) => (origin === login?.relay.origin ? ofLogin : usual);
}

/**
 * @param port `undefined` for the usual one, or the next one that is free
 * @returns the port
 */
export async function listen(server: WindowServer, host: string, port: number | undefined): Promise<number> {
  if (port !== undefined) return server.listen(host, port);
  for (let tried = 0; tried < UI_PORTS_TRIED; tried += 1) {
    try {
      return await server.listen(host, UI_PORT + tried);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
  return server.listen(host, 0);
}

/** The address that a browser uses, for an address to listen on. */
function addressFor(host: string): string {
  const isEvery = host === '0.0.0.0' || host === '::';
  const own = machineAddresses()?.find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
  const address = isEvery ? (own ?? '127.0.0.1') : host;
  return isIPv6(address) ? `[${address}]` : address;
}

/** What the build knows of the project (release/build.ts). */
export function readAbout(): { readonly about: About; readonly links: ProjectLinks } {
  let text: string;
  try {
    text = readBuilt(join(DIRECTORY, 'about.json')).toString();
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new Error('The files of the window are missing. Run "npm run build", or install Culvert again.', {
      cause: error,
    });
  }
  const { homepage, licences } = JSON.parse(text) as Pick<About, 'licences'> & { homepage: string };
  const versions = [{ name: 'Node.js', version: process.versions.node }];
  return { about: { version: VERSION, versions, licences }, links: projectLinks(homepage, VERSION) };
}
