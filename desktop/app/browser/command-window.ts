/** The window of a command that serves tunnels: it shows those, and nothing else of the account. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Tunnel } from '../../../shared/tunnel.ts';
import type { RelayAccess } from '../../client/config/relay-access.ts';
import type { Machine } from '../../client/config/stored-login.ts';
import { SPEC_DEFAULTS, type TunnelSpec } from '../../client/config/tunnel-spec.ts';
import type { Replayer } from '../../client/inspector/replay.ts';
import type { RequestLog } from '../../client/inspector/request-log.ts';
import type { RelayApi } from '../main/connection.ts';
import { type Core, createCore } from '../main/core.ts';
import { writeLinkFile } from '../main/deep-link.ts';
import { formOf } from '../main/projects.ts';
import type { Serve, ServeOptions } from '../main/tunnels/folder-service.ts';
import { tunnelLogOf } from '../main/tunnels/tunnel-log.ts';
import { browserPlatform, BrowserWindow, COMMAND_CHANNELS } from './browser-window.ts';
import { DIRECTORY, listen, readAbout } from './open-window.ts';

/** A tunnel that the command serves. */
export interface CommandTunnel {
  readonly spec: TunnelSpec;
  /** as the relay has just created it, with its new tokens */
  readonly tunnel: Tunnel;
  readonly log: RequestLog;
  /** of the requests in the log */
  readonly replayer: Replayer;
  /** the project that it was started from */
  readonly project: string | undefined;
  /** Connects immediately if it is not connected. */
  wake(): void;
  /** Tells the state that it has, and what happens from then on. @returns call it to stop listening */
  listen(listener: TunnelListener): () => void;
}

export type TunnelListener = Pick<ServeOptions, 'onState' | 'onProblem' | 'onKnock'>;

export type OpenCommandWindow = Awaited<ReturnType<typeof openCommandWindow>>;

/**
 * Opens the window of a command, on this machine only. It uses no file of the app's, which may be running.
 *
 * @param access the relay, and how the command reaches it
 * @throws RelayRefusal, RelayUnreachable; Error if no port is free
 */
export async function openCommandWindow(
  machine: Machine,
  access: Pick<RelayAccess, 'relay' | 'key' | 'network'>,
  say: (text: string) => void,
) {
  const { relay, key, network } = access;
  const platform = browserPlatform({
    ...readAbout(),
    machine,
    networkTo: () => network,
    dataDirectory: undefined,
    say,
  });
  const core = await createCore(platform);
  await core.start();
  const api = platform.connect(relay, key);
  await core.signIn.enter({ relay, key, api }, await api.getAccount(), 'session');
  const { server } = new BrowserWindow({
    core,
    platform,
    directory: DIRECTORY,
    isRemote: false,
    channels: COMMAND_CHANNELS,
  });
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
    /** Shows another tunnel. */
    add: (tunnel: CommandTunnel): void => adopt(core, tunnel, api),
    close(): Promise<void> {
      server.close();
      removeFolder();
      return Promise.resolve();
    },
  };
}

const LOOPBACK = '127.0.0.1';

function adopt({ tunnelList, platform }: Core, of: CommandTunnel, api: RelayApi): void {
  const { spec, tunnel, project, log, replayer } = of;
  const { label, folder, access } = spec;
  const form = {
    ...formOf(spec),
    // The Host of a folder's server is a secret that only the command needs.
    ...(folder === undefined ? {} : { hostHeader: SPEC_DEFAULTS.hostHeader }),
    ...(project === undefined || label === undefined ? {} : { project: { name: project, label } }),
  };
  const serve: Serve = (listener) => {
    if (tunnel.access.knock === true)
      tellWaiting(api, tunnel, listener).catch((error: unknown) =>
        platform.report('asking for waiting visitors', error),
      );
    return { stop: of.listen(listener), wake: () => of.wake(), suspend: () => undefined };
  };
  tunnelList.adopt({ form, tunnel }, access.password, { serve, log: tunnelLogOf(log, replayer) });
}

/** Tells who has asked for approval before the window was opened. */
async function tellWaiting(api: RelayApi, { id }: Tunnel, listener: TunnelListener): Promise<void> {
  for (const knock of await api.listKnocks(id)) if (knock.status === 'waiting') listener.onKnock(knock);
}
