/**
 * The pages for operators, typed on a machine with systemd as PID 1: installation, DNS, socket, reload, backup, restore.
 */
import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { notRun } from '../../shared/testing/posix.ts';
import { eventually } from '../support/deadline.ts';
import { Machine } from '../support/machine.ts';
import { commandsOf } from '../support/page-commands.ts';
import { LINES_OF_THIS_RUN } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const PACKAGE = '/usr/local/lib/node_modules/@culvert/culvert';

describe('culvert-relay as a systemd service, set up and run as its pages say', () => {
  const scope = suiteScope();
  let machine: Machine;

  before(async function () {
    const booted = await Machine.boot(scope);
    if (booted === undefined) notRun(this, 'no namespaces here');
    machine = booted;
    // As `npm install --global --prefix /usr/local` does; install.test.ts tests that.
    for (const part of ['dist', 'server/deploy', 'package.json'])
      cpSync(join(PROJECT, part), join(machine.root, PACKAGE, part), { recursive: true });
    const bin = join(machine.root, 'usr/local/bin');
    symlinkSync(`${PACKAGE}/dist/server/cli.js`, join(bin, 'culvert-relay'));
    chmodSync(join(machine.root, PACKAGE, 'dist/server/cli.js'), 0o755);
    copyFileSync(process.execPath, join(bin, 'node'));
  });

  const show = (property: string) => machine.type(`systemctl show culvert-relay -P ${property}`);
  const state = async (unit: string) => (await machine.run('/', 'systemctl', 'is-active', unit)).out;
  const health = async () =>
    (
      await machine.run(
        '/',
        'curl',
        '-s',
        '-m',
        '60',
        '-w',
        '%{http_code}\\n',
        '-o',
        '/dev/null',
        'http://127.0.0.1:8080/healthz',
      )
    ).out;
  const settings = (text: string) =>
    writeFileSync(join(machine.root, 'etc/culvert/relay.env'), `${text}\n${LINES_OF_THIS_RUN}`);

  it('is installed, started, and administered', async () => {
    const [install = '', , proxied = '', start = ''] = commandsOf(
      'operating/systemd.md',
      'Install the npm package',
    );
    await machine.type(install.replace(/^npm install .*$/m, ''));
    settings(proxied);
    const key = await machine.type(start);
    assert.match(key, /cvt_\w{32}$/);
    assert.equal(await health(), '200');
    const [administer = ''] = commandsOf('operating/systemd.md', 'Run commands');
    assert.match(await machine.type(administer), /default/);
    writeFileSync(join(machine.root, 'root/people.txt'), 'ann\nbob,team\n');
    const [, command = ''] =
      /\$ (relay invite create --from .*)/.exec(
        commandsOf('operating/accounts.md', 'Invite people').join('\n'),
      ) ?? [];
    assert.match(await machine.type(command), /^ann\s+https:\/\/relay\.example\.com\/invite\/\S+\nbob\s/);
  });

  it('serves DNS for the wildcard certificate, with the settings of a small VM', async () => {
    const file = join(machine.root, 'etc/culvert/relay.env');
    const before = readFileSync(file);
    const [, install = ''] = commandsOf('operating/deploy.md', '4. Install the relay');
    const [settingsOfPage = ''] = /^cat >[^]*?^END$/m.exec(install) ?? [];
    await machine.type(`${settingsOfPage}\nsystemctl restart culvert-relay`);
    const dig = 'dig +short @127.0.0.1 SOA _acme-challenge.tunnels.example.com';
    assert.match(await machine.type(dig), /^relay\.example\.com\. /);
    writeFileSync(file, before);
    await machine.type('systemctl restart culvert-relay');
    assert.equal(await health(), '200');
  });

  it('listens on the socket of systemd, which stays open during a restart', async () => {
    for (const commands of commandsOf('operating/systemd.md', 'Let systemd listen'))
      if (!commands.startsWith('sed ')) await machine.type(commands);
    assert.deepEqual(
      [await state('culvert-relay'), await state('culvert-relay.socket')],
      ['active', 'active'],
    );
    assert.equal(await health(), '200');
    const first = await show('MainPID');
    const [, ...statuses] = await Promise.all([
      machine.type('systemctl restart culvert-relay'),
      health(),
      health(),
    ]);
    assert.deepEqual(statuses, ['200', '200']);
    assert.notEqual(await show('MainPID'), first);
  });

  it('is replaced by a new one at a reload, which systemd follows', async () => {
    const first = await show('MainPID');
    await machine.type('systemctl reload culvert-relay');
    await eventually(20_000, async () => assert.notEqual(await show('MainPID'), first));
    assert.equal(await health(), '200');
    assert.deepEqual(
      [await state('culvert-relay'), await state('culvert-relay.socket')],
      ['active', 'active'],
    );
  });

  it('is backed up every night, and restored while clients try to connect', async () => {
    const [example = ''] = commandsOf('operating/backup.md', 'Back up and restore');
    const [, backup = ''] = /\$ (relay backup .*)/.exec(example) ?? [];
    await machine.type(backup);
    const [nightly = ''] = commandsOf('operating/backup.md', 'Every night');
    await machine.type(nightly);
    await machine.type('systemctl start culvert-backup && ls /var/lib/culvert/backups/*day.db');
    assert.equal(await state('culvert-backup.timer'), 'active');
    await machine.type('relay account create --name later --plan dev');
    const [stop = '', restore = '', start = ''] = (
      commandsOf('operating/backup.md', 'Restore')[0] ?? ''
    ).split('\n');
    await machine.type(stop);
    assert.equal(await health(), '000');
    await machine.type(restore);
    await machine.type(start);
    assert.equal(await health(), '200');
    assert.doesNotMatch(await machine.type('relay account list'), /later/);
    // Root without the script, as after a disaster: the service must be able to use what it leaves.
    await machine.type(`${stop} && CULVERT_DATA_DIR=/var/lib/culvert culvert-${restore} && ${start}`);
    assert.equal(await health(), '200');
  });

  it('does not start at another address than the settings say, and names both', async () => {
    const file = join(machine.root, 'etc/culvert/relay.env');
    const before = readFileSync(file);
    writeFileSync(file, `${before.toString()}CULVERT_PORT=8081\n`);
    const reload = await machine.run('/', 'systemctl', 'reload', 'culvert-relay');
    assert.notEqual(reload.code, 0);
    assert.equal(await health(), '200');
    await machine.run('/', 'systemctl', 'restart', 'culvert-relay');
    assert.deepEqual([await show('Result'), await show('ExecMainStatus')], ['exit-code', '2']);
    const log = await machine.type('journalctl -u culvert-relay -n 20 -o cat --no-pager');
    assert.match(log, /no relay on port 8081 of this data folder can be replaced/);
    assert.match(log, /listens on 127\.0\.0\.1:8080, but .* say 127\.0\.0\.1:8081: set ListenStream=/);
    const { code, out } = await machine.run('/root', 'relay', 'doctor');
    assert.equal(code, 1);
    assert.match(out, /✗ listener [^]*as ListenStream in culvert-relay\.socket/);
    writeFileSync(file, before);
    await machine.type('systemctl restart culvert-relay');
    assert.equal(await health(), '200');
  });
});
