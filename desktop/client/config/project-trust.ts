/** How far a `culvert.yml` is trusted: another user may have written it (docs/guides/projects.md). */
import { realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { escapeUnprintable } from '../../../shared/unprintable.ts';
import { MessageError, toMessage } from '../messages.ts';
import type { LocalTarget } from '../local/local-service.ts';
import { isLoopback } from '../network/dial.ts';
import type { RelayAddress } from '../relay/relay-address.ts';
import type { TunnelSpec, TunnelTarget } from './tunnel-spec.ts';

/** Thrown for a `culvert.yml`, with one line per problem: the file, the line, the field, and what it accepts. */
export class ProjectFileError extends MessageError {}

/* Which users may own the file. Another user's must be named, as with repositories in git (safe.directory). */

/**
 * @param env its `SUDO_UID` is the user who called `sudo`
 * @param uid the effective user of this process; `undefined` on Windows, where Node does not report a file's owner
 * @returns the users whose files are accepted; `undefined` if owners are not known
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
 * @param uids owners of the file, and of a link that points to it
 * @throws ProjectFileError with what to do
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

/*
 * Folders shared by a `culvert.yml` must be within its own, because another user may have written it (docs/guides/projects.md).
 */

/** A tunnel of the file, possibly to a folder. */
type LabelledTarget = Pick<TunnelSpec, 'target'> & { readonly label: string };

/**
 * Locates the folders, following links.
 *
 * @param path of the `culvert.yml`
 * @returns the tunnels, with the path of each folder from the root
 * @throws ProjectFileError if a folder does not exist, or a link points outside the folder of the file
 */
export function locateFolders<T extends LabelledTarget>(path: string, tunnels: readonly T[]): T[] {
  return tunnels.map((tunnel) => {
    const { label, target } = tunnel;
    if (!('folder' in target)) return tunnel;
    const folder = locate(path, `tunnels.${label}.share`, target.folder);
    return { ...tunnel, target: { folder, hidden: [path] } };
  });
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

/* What a `culvert.yml` may not do by itself, because another user may have written it (docs/guides/projects.md). */

/** The part of a project that chooses the relay. */
export interface ProjectRelay {
  readonly path: string;
  readonly relay: RelayAddress;
}

/**
 * Sends a key that was given without a relay to the file's relay only if it would also be sent there without the file.
 *
 * @param without the relay used without the file
 * @param keyFrom the source of the key, for people
 * @throws ProjectFileError
 */
export function checkRelay({ path, relay }: ProjectRelay, without: RelayAddress, keyFrom: string): void {
  const { origin } = relay;
  if (origin === without.origin) return;
  throw new ProjectFileError(
    `${path}: relay: the key from ${keyFrom} is sent to ${origin} only if you also specify that relay yourself. ` +
      `If you trust it, set CULVERT_RELAY=${origin} or use --relay ${origin}.`,
  );
}

/** Whether a tunnel forwards to another machine, which visitors would then reach through this one. */
export function leadsElsewhere(target: TunnelTarget): target is LocalTarget {
  return !('folder' in target) && !isLoopback(target.host);
}

interface ProjectTunnels {
  readonly path: string;
  readonly tunnels: readonly LabelledTarget[];
}

/**
 * Rejects other machines: the author of the file may know the network of the user who starts it.
 *
 * @throws ProjectFileError for a tunnel that forwards to another machine
 */
export function checkLocalHosts({ path, tunnels }: ProjectTunnels): void {
  for (const { label, target } of tunnels) {
    if (!leadsElsewhere(target)) continue;
    throw new ProjectFileError(
      `${path}: tunnels.${label}.local_host: "${target.host}" is another machine, which visitors could reach through this one. ` +
        "Use localhost or one of this machine's addresses, or allow other machines with --allow-other-hosts.",
    );
  }
}
