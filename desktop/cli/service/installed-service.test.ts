import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { onPosix } from '../../../shared/testing/posix.ts';
import { readProject } from '../../client/config/project.ts';
import { StoredLogin } from '../../client/config/stored-login.ts';
import { UsageError } from '../../client/failures.ts';
import { parseRelayAddress } from '../../client/relay/relay-address.ts';
import { contextOf, record } from '../../testing/command-context.ts';
import { temporaryDirectory } from '../../../shared/testing/temporary-directory.ts';
import { readArguments } from '../commands/commands.ts';
import { launchAgent, type Ran, scheduledTask, ServiceError, systemdUnit } from './system-services.ts';
import { LogFile, runService, type ServiceHost, serviceName } from './installed-service.ts';

const KEY = `cvt_${'k'.repeat(32)}`;
const RELAY = 'https://relay.example.com';
const DONE: Ran = { code: 0, out: '', err: '' };
const FAILED: Ran = { code: 1, out: '', err: 'Failed to connect to bus: No medium found\n' };

/** A machine with a signed-in user, a project, and programs of the system that respond as told. */
async function machine(
  respond: (line: string) => Ran | undefined = () => undefined,
  changes: Partial<ServiceHost> = {},
) {
  const home = realpathSync(mkdtempSync(join(temporaryDirectory(), 'home ')));
  const project = join(home, 'My Shop', 'culvert.yml');
  mkdirSync(join(home, 'My Shop'));
  writeFileSync(
    project,
    'tunnels:\n  web: {port: 3000, name: shop}\n  api: {port: 3001, auth: "ann:${ANN}"}\n',
  );
  const stored = new StoredLogin(join(home, '.config', 'culvert'), () => {});
  await stored.write({ relay: parseRelayAddress(RELAY), key: KEY });
  const calls: string[] = [];
  const host: ServiceHost = {
    platform: 'linux',
    env: {},
    home,
    username: 'ann',
    uid: 1000,
    runtime: ['/usr/bin/node'],
    programs: ['/usr/lib/node_modules/culvert/cli.js'],
    temporary: ['/tmp'],
    run: async (program, ...args) => {
      const line = [program, ...args].join(' ').replace('systemctl --user --no-ask-password', 'systemctl');
      calls.push(line);
      return respond(line) ?? DONE;
    },
    ...changes,
  };
  async function service(words: string, env: Record<string, string> = { ANN: 'correct horse' }) {
    const { printed, output } = record();
    const args = ['service', ...words.split(' '), '--config', project];
    const prepared = readArguments(args, env, {
      readLogin: () => stored.read(),
      readProject: (path, given) => readProject(path, home, { env: given ?? env }),
    });
    const { given } = prepared;
    assert.ok(typeof given === 'object' && 'action' in given && typeof given.action === 'string');
    const code = await runService(given, { ...contextOf(output), stored }, host);
    return { ...printed, code };
  }
  const written = () =>
    readdirSync(home, { recursive: true, encoding: 'utf8' }).filter((path) => /culvert-/.test(path));
  return { home, project, stored, calls, service, written };
}

describe('culvert service', () => {
  onPosix('writes a unit, starts it, and says what it keeps', async () => {
    const { home, project, calls, service } = await machine();
    const env = { ANN: 'correct horse', CULVERT_RELAY: RELAY, HTTPS_PROXY: 'http://proxy:1', OTHER: 'x' };
    const { out, code } = await service('install', env);
    assert.equal(code, 0);
    const name = serviceName(project);
    assert.match(name, /^culvert-my-shop-[0-9a-f]{8}$/);
    const kept = join(home, '.config', 'culvert', 'services', `${name}.json`);
    assert.equal(
      out,
      `Service    ${name}\nProject    ${project}\nTunnels    web, api\n` +
        'Starts     now, and with this machine, before you log in\n' +
        `Keeps      CULVERT_RELAY, HTTPS_PROXY, ANN (in ${kept})\n` +
        `Log        journalctl --user -u ${name}\n` +
        'The address of api changes with each start. To keep it, add "name" or "domain" to culvert.yml.\n',
    );
    assert.deepEqual(calls, [
      'systemctl show-environment',
      'systemctl show-environment',
      'systemctl daemon-reload',
      `systemctl enable ${name}.service`,
      `systemctl restart ${name}.service`,
      'loginctl show-user ann --property=Linger --value',
      'loginctl --no-ask-password enable-linger ann',
    ]);
    assert.equal(statSync(kept).mode & 0o777, 0o600);
    const { env: keptEnv } = JSON.parse(readFileSync(kept, 'utf8')) as { env: unknown };
    assert.deepEqual(keptEnv, { CULVERT_RELAY: RELAY, HTTPS_PROXY: 'http://proxy:1', ANN: 'correct horse' });
    const unit = readFileSync(join(home, '.config', 'systemd', 'user', `${name}.service`), 'utf8');
    assert.match(unit, /^ExecStart="\/usr\/bin\/node" "\/usr\/lib\/.*cli\.js" "service" "run" "culvert-/m);
    assert.doesNotMatch(unit, /correct|cvt_|proxy/);
  });

  onPosix('uses neither the key of the environment nor one of another relay', async () => {
    const { service, written } = await machine();
    for (const env of [
      { ANN: 'x', CULVERT_RELAY: 'https://other.example', CULVERT_API_KEY: KEY },
      { ANN: 'x', CULVERT_RELAY: 'https://other.example' },
    ])
      await assert.rejects(service('install', env), (error) => {
        assert.ok(error instanceof UsageError);
        return /culvert login/.test(error.message);
      });
    assert.deepEqual(written(), []);
  });

  onPosix('writes nothing where systemd runs no services for the user', async () => {
    const { service, written } = await machine(() => FAILED);
    for (const words of ['install', 'uninstall'])
      await assert.rejects(
        service(words),
        (error) =>
          error instanceof ServiceError &&
          /\(Failed to connect to bus: No medium found\)/.test(error.message),
      );
    assert.deepEqual(written(), []);
  });

  for (const path of [
    '/tmp/x/cli.js',
    '/home/a/.npm/_npx/0f/node_modules/.bin/culvert',
    '/home/a/.cache/pnpm/dlx-12/node_modules/culvert/cli.js',
    '/opt/a\nExecStart=/bin/false/cli.js',
  ])
    onPosix(`does not start ${JSON.stringify(path)}`, async () => {
      const { service, written, calls } = await machine(undefined, { programs: [path] });
      await assert.rejects(service('install'), UsageError);
      assert.deepEqual([written(), calls], [[], []]);
    });

  onPosix('starts what a temporary link leads to', async () => {
    const programs = ['/tmp/multishell/bin/culvert', '/opt/node/lib/culvert/cli.js'];
    const { service, home, project } = await machine(undefined, { programs });
    await service('install web --json');
    const unit = join(home, '.config', 'systemd', 'user', `${serviceName(project)}.service`);
    assert.match(readFileSync(unit, 'utf8'), /"\/opt\/node\/lib\/culvert\/cli\.js"/);
  });

  onPosix('says how to start before login if it may not arrange that', async () => {
    const { service } = await machine((line) => (line.startsWith('loginctl') ? FAILED : undefined));
    const { out } = await service('install');
    assert.match(
      out,
      /^Starts +now, and when you log in\. To start it with this machine: sudo loginctl enable-linger ann$/m,
    );
  });

  for (const [properties, state, code] of [
    ['LoadState=loaded\nActiveState=active\nSubState=running\nExecMainStatus=0', 'running', 0],
    [
      'LoadState=loaded\nActiveState=activating\nExecMainStatus=1',
      'waiting to be started again (exit code 1: The command failed)',
      1,
    ],
    [
      'LoadState=loaded\nActiveState=failed\nExecMainStatus=3',
      'failed (exit code 3: The relay refused the API key)',
      1,
    ],
    ['LoadState=loaded\nActiveState=inactive\nExecMainStatus=0', 'stopped', 1],
  ] as const)
    onPosix(`shows that it is ${state}`, async () => {
      const { service } = await machine((line) =>
        line.startsWith('systemctl show ') ? { ...DONE, out: `${properties}\n` } : undefined,
      );
      await service('install');
      const shown = await service('status');
      assert.match(shown.out, new RegExp(`^State +${state.replace(/[()]/g, '\\$&')}$`, 'm'));
      assert.equal(shown.code, code);
      assert.equal((JSON.parse((await service('status --json')).out) as { state: string }).state, state);
    });

  onPosix('removes what it has written, and reports that nothing is installed', async () => {
    const gone = { ...DONE, out: 'LoadState=not-found\nActiveState=inactive\n' };
    const { service, written, project } = await machine((line) =>
      line.startsWith('systemctl show ') ? gone : undefined,
    );
    await service('install');
    assert.equal(written().length, 2);
    const { out, code } = await service('uninstall');
    assert.deepEqual([out, code], [`Stopped and removed ${serviceName(project)}.\n`, 0]);
    assert.deepEqual(written(), []);
    assert.equal((await service('uninstall')).out, `No service is installed for ${project}.\n`);
    assert.equal((await service('uninstall --json')).out, '{"status":"not-installed"}\n');
    assert.equal((await service('status')).code, 1);
  });

  onPosix('uses launchd on macOS', async () => {
    const { service, calls, home, project } = await machine(undefined, { platform: 'darwin' });
    const { out } = await service('install');
    const name = serviceName(project);
    const plist = join(home, 'Library', 'LaunchAgents', `dev.culvert.${name}.plist`);
    assert.deepEqual(calls, [
      'launchctl print gui/1000',
      `launchctl bootout gui/1000/dev.culvert.${name}`,
      `launchctl bootstrap gui/1000 ${plist}`,
    ]);
    assert.match(out, new RegExp(`^Log +.*/Library/Logs/Culvert/${name}\\.log$`, 'm'));
  });

  for (const line of ['service', 'service start', 'service status x', 'service run a b', 'service run ../x'])
    it(`rejects "${line}"`, async () => {
      const files = { readLogin: () => undefined, readProject: () => assert.fail() };
      await assert.rejects(async () => {
        const prepared = readArguments(line.split(' '), {}, files);
        await prepared.run(contextOf(record().output));
      }, UsageError);
    });

  it('has a name for each file', () => {
    assert.equal(serviceName('/home/a/shop/culvert.yml'), serviceName('/home/a/shop/culvert.yml'));
    const names = [
      '/a/shop/culvert.yml',
      '/b/shop/culvert.yml',
      '/a/shop/b.yml',
      '/日本/culvert.yml',
      '/culvert.yml',
    ];
    assert.equal(new Set(names.map(serviceName)).size, names.length);
    for (const name of names) assert.match(serviceName(name), /^culvert(?:-shop)?-[0-9a-f]{8}$/);
  });
});

describe('the definition of a service', () => {
  const path = '/a b/%h/$HOME/"q"/\\';
  const service = {
    name: 'culvert-1',
    description: '/x\n[Service]\nExecStart=/bin/false <&> %h \\',
    command: ['/usr/bin/node', path, 'service', 'run', 'culvert-1'],
    env: { XDG_CONFIG_HOME: path },
  };

  it('quotes paths for systemd', () => {
    const lines = systemdUnit(service).split('\n');
    assert.ok(
      lines.includes('Description=Culvert tunnels (/x\\x0a[Service]\\x0aExecStart=/bin/false <&> %%h \\)'),
    );
    assert.ok(
      lines.includes('ExecStart="/usr/bin/node" "/a b/%%h/$$HOME/\\"q\\"/\\\\" "service" "run" "culvert-1"'),
    );
    assert.ok(lines.includes('Environment="XDG_CONFIG_HOME=/a b/%%h/$HOME/\\"q\\"/\\\\"'));
  });

  it('quotes paths for launchd', () => {
    const text = launchAgent({ ...service, command: ['/<a>&"\u0007\ud800'] }, '/l');
    assert.ok(text.includes('<string>/&lt;a&gt;&amp;&quot;\\x07\ufffd</string>'));
  });

  it('quotes paths for the Task Scheduler', () => {
    const text = scheduledTask(
      { ...service, command: ['C:\\n', 'C:\\a b\\', '"x"', 'a\\"b'] },
      'D\\<u>',
      false,
    );
    assert.ok(
      text.includes(
        '<Arguments>&quot;C:\\a b\\\\&quot; &quot;\\&quot;x\\&quot;&quot; &quot;a\\\\\\&quot;b&quot;</Arguments>',
      ),
      text,
    );
    assert.ok(text.includes('<LogonTrigger><UserId>D\\&lt;u&gt;</UserId></LogonTrigger>'));
    assert.ok(text.includes('(/x\\x0a[Service]\\x0aExecStart=/bin/false &lt;&amp;&gt; %h \\)'));
  });
});

describe('the log file of a service', () => {
  it('has the time in each line, and is replaced when it is large', () => {
    const path = join(temporaryDirectory(), 'x.log');
    const log = new LogFile(path);
    log.out('one\n\u001b[2Jtwo\n');
    assert.match(readFileSync(path, 'utf8'), /^\d{4}-\S+Z  one\n\d{4}-\S+Z  \\x1b\[2Jtwo\n$/);
    writeFileSync(path, 'x'.repeat(6 * 1024 * 1024));
    log.err('three\n');
    assert.match(readFileSync(path, 'utf8'), /^\S+Z  three\n$/);
    assert.equal(statSync(`${path}.1`).size, 6 * 1024 * 1024);
  });

  it('does not end the tunnels if it cannot be written', () => {
    new LogFile(join(temporaryDirectory(), 'none', 'x.log')).out('one\n');
  });
});
