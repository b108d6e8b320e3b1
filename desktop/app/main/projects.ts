/** Opened projects: their tunnels are shown first, and started once the user has chosen. */
import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readDomain } from '../../../shared/domains.ts';
import { isWildcardDomain } from '../../../shared/wildcard-hosts.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import {
  type Project,
  PROJECT_FILE,
  type ProjectTunnel,
  readProjectIn,
  type WithheldTunnel,
} from '../../client/config/project.ts';
import { localUrl } from '../../client/config/tunnel-spec.ts';
import { messageOf } from '../../client/messages.ts';
import { RelayUnreachable } from '../../client/relay/errors.ts';
import type { RelayAddress } from '../../client/relay/relay-address.ts';
import { FOLDER_LOOKS } from '../../client/share/folder-handler.ts';
import { FolderUnreadable, locateFolder } from '../../client/share/shared-folder.ts';
import type { ProjectTunnelStatus, ProjectView, StartedTunnels } from '../ipc/tunnel-views.ts';
import { translateMessage } from '../messages/message-text.ts';
import { t } from '../messages/translate.ts';
import { type Connection, signedIn } from './connection.ts';
import { CallFailure, toCallError } from './failure.ts';
import { Signal } from '../../client/signal.ts';
import { folderName } from './tunnel-view.ts';
import { accessView, shownAccess } from './tunnels/access.ts';
import type { OtherTunnels } from './tunnels/other-tunnels.ts';
import type { TunnelList } from './tunnels/tunnel-list.ts';
import { leadsElsewhere, locateFolders, ProjectFileError } from '../../client/config/project-trust.ts';

interface ProjectsOptions {
  readonly tunnelList: Pick<TunnelList, 'create' | 'tunnels'>;
  readonly others: Pick<OtherTunnels, 'tunnels'>;
  /** who is signed in */
  readonly connection: () => Connection | undefined;
  /** Remembers a folder whose project was opened. */
  readonly remember: (folder: string) => Promise<void>;
}

interface Shown {
  readonly id: string;
  readonly name: string;
  /** empty for what cannot be opened */
  readonly tunnels: readonly ShownTunnel[];
  readonly problem: string | undefined;
  /** of the project */
  readonly folder: string;
  /** origin of its relay, if that is the problem */
  readonly relay?: string;
}

interface ShownTunnel extends FoundTunnel {
  status: ProjectTunnelStatus;
}

export class Projects {
  /** The view has changed. */
  readonly changed = new Signal();
  readonly #options: ProjectsOptions;
  #shown: Shown | undefined;
  #isStarting = false;
  /** counts opened projects: the latest one is shown, even if an earlier one takes longer to read */
  #count = 0;

  constructor(options: ProjectsOptions) {
    this.#options = options;
  }

  /** The one that the user is asked about. */
  get view(): ProjectView | undefined {
    if (this.#shown === undefined) return undefined;
    const { id, name, tunnels, problem, relay } = this.#shown;
    if (problem !== undefined) return { id, name, state: 'refused', why: problem, relay };
    return {
      id,
      name,
      state: 'open',
      tunnels: tunnels.map(({ spec, status }) => ({
        label: spec.label,
        address: spec.domain ?? spec.name,
        leadsTo: localUrl(spec.target),
        lock: 'access' in spec ? accessView(shownAccess(spec.access), undefined) : undefined,
        ttl: spec.ttl,
        status: canStart(status) && this.#isThere(spec) ? { name: 'online' } : status,
      })),
    };
  }

  /**
   * Shows the tunnels of a project. Nothing is started. Another one takes its place, unless it is being started.
   *
   * @param folder that has the `culvert.yml`
   */
  async open(folder: string): Promise<void> {
    if (this.#isStarting) return;
    this.#count += 1;
    const count = this.#count;
    const shown = await this.#read(folder);
    if (count !== this.#count || this.#isStarting) return;
    this.#show(shown);
    if (shown.problem === undefined) await this.#options.remember(folder);
  }

  /**
   * Starts tunnels one after the other. Those that could not be started stay, with why; the others that were asked for
   * are no longer shown once all are started.
   *
   * @param labels names of the tunnels in the file; what is there already, or cannot be started, is left out
   * @throws CallFailure
   */
  async start(id: string, labels: readonly string[]): Promise<StartedTunnels> {
    const shown = this.#shown;
    if (shown?.id !== id || this.#isStarting)
      throw new CallFailure({ code: 'no-project', text: t('project.openAgain') });
    signedIn(this.#options.connection());
    const wanted = shown.tunnels.filter(
      ({ spec, status }) => labels.includes(spec.label) && canStart(status),
    );
    this.#isStarting = true;
    try {
      for (const tunnel of wanted) {
        // The user does not want the rest, or the relay cannot be reached for it either.
        if (this.#shown !== shown || !(await this.#start(tunnel, shown.name))) break;
      }
    } finally {
      this.#isStarting = false;
    }
    const count = (name: ProjectTunnelStatus['name']) =>
      wanted.filter(({ status }) => status.name === name).length;
    const result = { started: count('started'), failed: count('failed') };
    if (result.failed === 0 && this.#shown === shown) this.#show(undefined);
    return result;
  }

  /** The user dismissed it: starts in progress complete, and no further tunnel is started. */
  dismiss(id: string): void {
    if (this.#shown?.id === id) this.#show(undefined);
  }

  /** No longer shows a project. @returns its folder. @throws CallFailure if it was not shown */
  take(id: string): string {
    const shown = this.#shown;
    if (shown?.id !== id) throw new CallFailure({ code: 'no-project', text: t('project.openAgain') });
    this.#show(undefined);
    return shown.folder;
  }

  /** The user has signed out, or another one has signed in. */
  clear(): void {
    if (this.#shown !== undefined) this.#show(undefined);
  }

  async #read(folder: string): Promise<Shown> {
    const shown = { id: randomUUID(), name: folderName(folder), folder, tunnels: [], problem: undefined };
    const connection = this.#options.connection();
    if (connection === undefined) return { ...shown, problem: t('problem.dropSignIn') };
    try {
      const found = await readTunnels(await locateFolder(folder), connection.relay);
      const tunnels = found.map((tunnel): ShownTunnel => ({
        ...tunnel,
        status:
          'blocked' in tunnel.start ? { name: 'blocked', why: tunnel.start.blocked } : { name: 'ready' },
      }));
      return { ...shown, tunnels };
    } catch (error) {
      if (error instanceof ProjectFileError || error instanceof FolderUnreadable) {
        const problem = translateMessage(messageOf(error));
        return error instanceof OtherRelay
          ? { ...shown, problem, relay: error.relay }
          : { ...shown, problem };
      }
      throw error;
    }
  }

  /** @param name of the project. @returns whether to continue with the next tunnel */
  async #start(tunnel: ShownTunnel, name: string): Promise<boolean> {
    const { spec, start } = tunnel;
    if ('blocked' in start || this.#isThere(spec)) return true;
    this.#set(tunnel, { name: 'starting' });
    try {
      const { access, madePassword: _shown, ...settings } = start;
      await this.#options.tunnelList.create({ ...settings, project: name }, access, 'file');
      this.#set(tunnel, { name: 'started' });
      return true;
    } catch (error) {
      const failure = toCallError(error);
      this.#set(tunnel, { name: 'failed', why: failure?.text ?? t('problem.wrong') });
      if (failure === undefined) throw error;
      return !(error instanceof RelayUnreachable);
    }
  }

  /** Whether a tunnel of the account that is served has what this one asks for. */
  #isThere(spec: FoundTunnel['spec']): boolean {
    const { tunnelList, others } = this.#options;
    return (
      tunnelList.tunnels.some(({ isEnded, tunnel }) => !isEnded && isSame(tunnel, spec)) ||
      others.tunnels.some((tunnel) => tunnel.online && isSame(tunnel, spec))
    );
  }

  #set(tunnel: ShownTunnel, status: ProjectTunnelStatus): void {
    tunnel.status = status;
    this.changed.emit();
  }

  #show(shown: Shown | undefined): void {
    this.#shown = shown;
    this.changed.emit();
  }
}

function canStart({ name }: ProjectTunnelStatus): boolean {
  return name === 'ready' || name === 'failed';
}

function isSame({ name, urls }: Tunnel, spec: FoundTunnel['spec']): boolean {
  if (spec.name !== undefined && name === spec.name) return true;
  if (spec.domain === undefined) return false;
  const wanted = readDomain(spec.domain);
  const address = isWildcardDomain(spec.domain) ? urls.wildcard : urls.domain;
  return 'name' in wanted && address !== undefined && new URL(address).hostname === wanted.name;
}

/** A project of another relay than that of the account that the window shows. */
class OtherRelay extends ProjectFileError {
  readonly relay: string;

  constructor(relay: string, own: string) {
    super(t('project.otherRelay', { relay, own }));
    this.relay = relay;
  }
}

/* Reads a project for the app: with the reader of the command, and what of it the app does not start. */

/** A tunnel of the file, and whether the app can start it. */
export interface FoundTunnel {
  /** with the path of its folder as the file has it */
  readonly spec: ProjectTunnel | WithheldTunnel;
  /** what to start, with the path of its folder from the root; or why not */
  readonly start: ProjectTunnel | { readonly blocked: string };
}

/** Whether a folder has a `culvert.yml`; one that does not say has none. */
export async function hasProject(folder: string): Promise<boolean> {
  try {
    // Waited for here, because it is read in one go, which must not wait for a server that is gone.
    return await FOLDER_LOOKS.take(async () => (await stat(join(folder, PROJECT_FILE))).isFile());
  } catch {
    return false;
  }
}

/**
 * @param folder that has the file
 * @param relay the one that the user is signed in to
 * @returns the tunnels in the order of the file, but for those that cannot be started for want of a variable, which
 *   come last
 * @throws ProjectFileError for an invalid file, or a folder without one
 */
export async function readTunnels(folder: string, relay: RelayAddress): Promise<readonly FoundTunnel[]> {
  if (!(await hasProject(folder))) throw new ProjectFileError(t('project.none'));
  const project = readProjectIn(folder, { withholds: true });
  if (project.relay !== undefined && project.relay.origin !== relay.origin)
    throw new OtherRelay(project.relay.origin, relay.origin);
  const found: FoundTunnel[] = [];
  for (const spec of project.tunnels) found.push({ spec, start: await startable(project, spec) });
  for (const spec of project.withheld)
    found.push({
      spec,
      start: { blocked: t('project.unset', { why: spec.why.map(translateMessage).join('; ') }) },
    });
  return found;
}

async function startable(project: Project, spec: ProjectTunnel): Promise<FoundTunnel['start']> {
  const { target } = spec;
  if (leadsElsewhere(target)) return { blocked: t('project.otherMachine', { host: target.host }) };
  if (!('folder' in target)) return spec;
  try {
    // Only this check notices a folder that is missing or does not respond.
    await locateFolder(join(dirname(project.path), target.folder));
    const [located] = locateFolders(project.path, [spec]);
    return located ?? spec;
  } catch (error) {
    if (error instanceof FolderUnreadable || error instanceof ProjectFileError)
      return { blocked: translateMessage(messageOf(error)) };
    throw error;
  }
}
