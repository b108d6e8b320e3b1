/** An sshd with keys of its own, and how a client logs in to it. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from './programs.ts';
import type { Scope } from './scope.ts';

/** Debian's package `openssh-server`; `e2e/support/setup.sh` installs it. */
export const SSHD = '/usr/sbin/sshd';

/**
 * Generates keys for an sshd and its client.
 *
 * @param address where sshd listens
 * @param more lines of its configuration
 * @returns the path of its configuration, and options of the client, to which the port has to be added
 */
export function sshFiles(
  scope: Scope,
  address: string,
  port: number,
  more = '',
): { readonly settings: string; readonly options: readonly string[] } {
  const folder = temporaryDirectory(scope);
  const [hostKey, userKey] = [join(folder, 'host'), join(folder, 'user')];
  for (const path of [hostKey, userKey])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', path], { timeout: 20_000 });
  const settings = join(folder, 'sshd_config');
  writeFileSync(
    settings,
    `ListenAddress ${address}
Port ${port}
HostKey ${hostKey}
AuthorizedKeysFile ${userKey}.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
${more}`,
  );
  const known = ['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null'];
  const identity = ['-F', 'none', '-i', userKey, '-o', 'IdentitiesOnly=yes', ...known];
  // sshd requires this directory when it runs as root, even with a custom configuration.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true });
  return { settings, options: identity };
}
