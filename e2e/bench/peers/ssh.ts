import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { Scope } from '../../support/scope.ts';
import { temporaryDirectory } from '../../support/programs.ts';
import { closedPort } from '../../support/services/listen.ts';
import { accepting } from '../ports.ts';
import { familyOf } from '../processes.ts';
import { startProgram } from '../../support/child.ts';
import type { Peer } from './peer.ts';

/** `ssh -R` to its own sshd, with keys made for this run. */
export const ssh: Peer = {
  name: 'ssh',
  title: 'ssh -R (OpenSSH)',
  async start(scope, servicePort) {
    const directory = temporaryDirectory(scope);
    const hostKey = await makeKey(scope, join(directory, 'host'));
    const userKey = await makeKey(scope, join(directory, 'user'));
    const [sshPort, port] = [await closedPort(), await closedPort()];
    const settings = join(directory, 'sshd_config');
    writeFileSync(
      settings,
      `ListenAddress 127.0.0.1
Port ${sshPort}
HostKey ${hostKey}
AuthorizedKeysFile ${userKey}.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
`,
    );
    const server = startProgram(scope, '/usr/sbin/sshd', ['-D', '-e', '-f', settings]);
    await accepting(sshPort);
    const known = ['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null'];
    const identity = ['-F', 'none', '-i', userKey, '-o', 'IdentitiesOnly=yes', ...known];
    const remote = `127.0.0.1:${port}:127.0.0.1:${servicePort}`;
    const forward = ['-N', '-o', 'ExitOnForwardFailure=yes', '-R', remote, '-p', String(sshPort)];
    const client = startProgram(scope, 'ssh', [...identity, ...forward, `${userInfo().username}@127.0.0.1`]);
    try {
      await accepting(port);
    } catch (error) {
      throw new Error(`no tunnel: ${client.output} ${server.output}`, { cause: error });
    }
    return {
      port,
      host: '127.0.0.1',
      relayPids: () => familyOf(server.pid),
      clientPids: () => [client.pid],
    };
  },
};

async function makeKey(scope: Scope, path: string): Promise<string> {
  await startProgram(scope, 'ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', path]).finished(10_000);
  return path;
}
