/** Finds and reads `culvert.yml`, the tunnels of a project. */
import { closeSync, fstatSync, lstatSync, openSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { escapeUnprintable } from '../../../shared/unprintable.ts';
import { MessageError, messageOf, toMessage } from '../messages.ts';
import { isLoopback } from '../network/dial.ts';
import type { RelayAddress } from '../relay/relay-address.ts';
import { CONFIG_FILE_MAX_BYTES } from './config-limits.ts';
import { parseProject, type Project, ProjectFileError, type ReadOptions } from './project.ts';
import type { TunnelSpec } from './tunnel-spec.ts';

export const PROJECT_FILE = 'culvert.yml';

/**
 * @param path where it is; without it, the nearest `culvert.yml` in the folder or above it
 * @param folder the working directory
 * @param owners whose file is taken if none is named; `undefined` for anybody's
 * @throws ProjectFileError
 */
export function readProject(
  path: string | undefined,
  folder: string,
  owners = trustedOwners(process.env, process.geteuid?.()),
): Project {
  return path === undefined
    ? readFile(findProjectFile(folder), owners)
    : readFile(resolve(folder, path), undefined);
}

/**
 * Reads the `culvert.yml` of this very folder.
 *
 * @param owners whose file is taken; `undefined` for anybody's
 * @throws ProjectFileError
 */
export function readProjectIn(
  folder: string,
  options: ReadOptions,
  owners = trustedOwners(process.env, process.geteuid?.()),
): Project {
  return readFile(join(folder, PROJECT_FILE), owners, options);
}

function readFile(file: string, owners: ReadonlySet<number> | undefined, options?: ReadOptions): Project {
  try {
    return parseProject(readText(file, owners), file, options);
  } catch (error) {
    if (error instanceof ProjectFileError) throw error;
    throw new ProjectFileError(toMessage('project.unreadable', { path: file, why: messageOf(error) }));
  }
}

function readText(path: string, owners: ReadonlySet<number> | undefined): string {
  const link = lstatSync(path);
  const file = openSync(path, 'r');
  try {
    // Checked on the open file: another may have taken its place.
    const { size, uid } = fstatSync(file);
    checkOwners(path, [link.uid, uid], owners);
    if (size > CONFIG_FILE_MAX_BYTES)
      throw new MessageError(toMessage('project.tooLarge', { max: CONFIG_FILE_MAX_BYTES }));
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

function findProjectFile(start: string): string {
  for (let folder = resolve(start); ; folder = dirname(folder)) {
    const file = join(folder, PROJECT_FILE);
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) return file;
    if (dirname(folder) === folder) break;
  }
  throw new ProjectFileError(
    `There is no ${PROJECT_FILE} in ${resolve(start)} or above it: write one, or give --config FILE.`,
  );
}

/* Whose `culvert.yml` is used: as git does with repositories (safe.directory), another user's file only if it is named. */

/**
 * @param env its `SUDO_UID` says who has called `sudo`
 * @param uid the effective user of this process; `undefined` on Windows, where Node does not tell a file's owner
 * @returns the users whose files are taken; `undefined` if owners are not known
 */
export function trustedOwners(
  env: Readonly<Record<string, string | undefined>>,
  uid: number | undefined,
): ReadonlySet<number> | undefined {
  if (uid === undefined) return undefined;
  const caller = env['SUDO_UID'] ?? '';
  return new Set(uid === 0 && /^\d{1,10}$/.test(caller) ? [uid, Number(caller)] : [uid]);
}

/**
 * @param uids owners of the file, and of a link that leads to it
 * @throws ProjectFileError that says what to do
 */
export function checkOwners(
  path: string,
  uids: readonly number[],
  trusted: ReadonlySet<number> | undefined,
): void {
  const stranger = uids.find((uid) => trusted?.has(uid) === false);
  if (stranger === undefined) return;
  throw new ProjectFileError(toMessage('project.otherOwner', { path, uid: stranger }));
}

/* The folders that a `culvert.yml` shares: within its own, because the file may be somebody else's (docs/command.md). */

/** A tunnel of the file, which may lead to a folder. */
type LabelledFolder = Pick<TunnelSpec, 'folder'> & { readonly label: string };

/**
 * Finds the folders, and follows links on the way.
 *
 * @param path of the `culvert.yml`
 * @returns the tunnels, with the path of each folder from the root
 * @throws ProjectFileError for a folder that is not there, or that a link leads out to
 */
export function locateFolders<T extends LabelledFolder>(path: string, tunnels: readonly T[]): T[] {
  return tunnels.map((tunnel) =>
    tunnel.folder === undefined
      ? tunnel
      : { ...tunnel, folder: locate(path, `tunnels.${tunnel.label}.share`, tunnel.folder) },
  );
}

function locate(file: string, field: string, folder: string): string {
  const what = { path: file, field, folder: escapeUnprintable(folder) };
  try {
    const own = realpathSync(dirname(file));
    const found = realpathSync(join(own, folder));
    const below = relative(own, found);
    if (!isAbsolute(below) && below.split(sep)[0] !== '..') return found;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new ProjectFileError(toMessage('project.folderUnreadable', { ...what, code }));
  }
  throw new ProjectFileError(toMessage('project.folderOutside', what));
}

/* What a `culvert.yml` cannot do by itself, because it may be somebody else's (docs/command.md). */

/** The part of a {@link Project} that chooses the relay. */
export interface ProjectRelay extends Pick<Project, 'path'> {
  readonly relay: RelayAddress;
}

/**
 * A key without a relay of its own is sent to the relay of a file only if it would go there without the file, too.
 *
 * @param without the relay that would be used without the file
 * @param keyFrom where the key is from, for people
 * @throws ProjectFileError
 */
export function checkRelay({ path, relay }: ProjectRelay, without: RelayAddress, keyFrom: string): void {
  const { origin } = relay;
  if (origin === without.origin) return;
  throw new ProjectFileError(
    `${path}: relay: ${origin} gets the key of ${keyFrom} only where you name that relay, too: ` +
      `if you trust it, set CULVERT_RELAY=${origin} or give --relay ${origin}.`,
  );
}

/** Whether a tunnel leads to another machine, which visitors would reach through this one. */
export function leadsElsewhere({ localHost }: Pick<TunnelSpec, 'localHost'>): boolean {
  return !isLoopback(localHost);
}

/**
 * The author of the file may know what is in the network of the person who starts it.
 *
 * @throws ProjectFileError for a tunnel that leads to another machine
 */
export function checkLocalHosts({ path, tunnels }: Pick<Project, 'path' | 'tunnels'>): void {
  for (const { label, localHost } of tunnels) {
    if (!leadsElsewhere({ localHost })) continue;
    throw new ProjectFileError(
      `${path}: tunnels.${label}.local_host: "${localHost}" is another machine, which visitors would reach through this one: ` +
        'it takes localhost or an address of it, or anything with --allow-other-hosts.',
    );
  }
}
