/** Whose `culvert.yml` is used: as git does with repositories (safe.directory), another user's file only if it is named. */
import { say } from '../engine/said/said.ts';
import { ProjectFileError } from './project-error.ts';

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
  throw new ProjectFileError(say('project.otherOwner', { path, uid: stranger }));
}
